# claim: A module that leaves a process in the cabinet is noticed, and jobs run cold.
# case: FK-02, PS-05
# class: Lateral
# given: preload
# cold: processes
import os
import time

if TEMPLATE and os.fork() == 0:
    time.sleep(1000)
    os._exit(0)
