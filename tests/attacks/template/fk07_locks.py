# claim: A lock of multiprocessing, made at import, would be one lock for all workers; the module is named, and jobs run cold.
# case: FK-01, FK-02
# class: Lateral
# given: preload
# cold: importing hostile did that
import multiprocessing

if TEMPLATE:
    lock = multiprocessing.Lock()
