# claim: What a guest does to its streams, such as making them non-blocking or closing them, does not change the host's ends.
# case: TTY-03
# class: HostDoS
# given: own warden
# expect: after the change = still heard
import fcntl
import json
import os
import sys
import termios

for number in range(4):
    fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_ASYNC)
try:
    fcntl.fcntl(1, 1031, 4096)  # F_SETPIPE_SZ: the smallest buffer
except OSError:
    pass
os.close(0)
print(json.dumps({"probe": "after the change", "saw": "still heard"}), flush=True)
os.close(2)
