# Calls by chance: numbers, and arguments that are likely to mean something.
import ctypes
import json
import os
import random
import signal
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
seed = json.loads(sys.argv[1])["seed"] if len(sys.argv) > 1 else 1
chance = random.Random(seed)
buffer = ctypes.create_string_buffer(b"/canary/file\0" + bytes(4096), 8192)
path = ctypes.addressof(buffer)
folder = os.open("/canary", os.O_RDONLY)
VALUES = [0, 1, 2, 3, 4, folder, -1, -100, 8, 64, 512, 4096, path, path, path + 4096, 0x1000, 0x40000, 1 << 31, 1 << 32, 0x5412, os.getpid()]
# A sync waits for the disks of the host, and a vfork child would go on in its parent's memory.
NUMBERS = [number for number in range(470) if number not in (58, 162, 306)]
end = time.monotonic() + 1.5
count = 0
while time.monotonic() < end:
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        for _ in range(40):
            libc.syscall(ctypes.c_long(chance.choice(NUMBERS)), *[ctypes.c_long(chance.choice(VALUES)) for _ in range(6)])
        os._exit(0)
    chance.random()
    count += 1
    while True:
        try:
            if os.waitpid(child, os.WNOHANG)[0]:
                break
        except OSError:
            break
        if time.monotonic() > end + 1:
            break
        time.sleep(0.0005)
print(json.dumps({"probe": "processes that called by chance", "saw": str(count)}))
