# claim: A module that leaves memory which all workers would share is named, and jobs run cold.
# case: FK-01, FK-02
# class: Lateral
# given: preload
# cold: memory that all workers would share
import mmap

if TEMPLATE:
    page = mmap.mmap(-1, 4096)
