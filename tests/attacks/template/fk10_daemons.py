# claim: A process that a module left in the cabinet without a parent is noticed too, and jobs run cold.
# case: FK-02, PS-05
# class: Lateral
# given: preload
# cold: processes
import os
import time

if TEMPLATE and (child := os.fork()) == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    os._exit(0)
elif TEMPLATE:
    os.waitpid(child, 0)
