# Daemons that ignore what can be ignored, in sessions of their own, whose parents are gone.
import os
import signal
import sys
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 65):
                if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
                    signal.signal(number, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()
print('{"ready": true}', flush=True)
sys.stdin.read()
