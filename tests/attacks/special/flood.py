# Dies in ways that a kernel may write into its log, and is denied calls, until told to stop; then says how often.
import ctypes
import json
import os
import select
import sys

libc = ctypes.CDLL(None)
NAME = json.loads(sys.argv[1])["name"].encode()
MOUNT = {"x86_64": 165, "aarch64": 40}[os.uname().machine]


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}), flush=True)


def die(number):
    child = os.fork()
    if child == 0:
        libc.prctl(15, NAME, 0, 0, 0)
        # An x32 number, and a page that nobody has.
        libc.syscall(ctypes.c_long(0x40000001), 0, 0, 0) if number % 2 else ctypes.string_at(8)
        os._exit(0)
    return os.waitpid(child, 0)[1]


deaths = denials = 0
ends = set()
while deaths < 300 or not select.select([sys.stdin], [], [], 0)[0]:
    ends.add(die(deaths))
    deaths += 1
    for _ in range(500):
        libc.syscall(MOUNT, 0, 0, 0, 0, 0)
        denials += 1
    if deaths == 300:
        print('{"ready": true}', flush=True)
tell("ends", sorted(ends))
tell("deaths", deaths)
tell("denials", denials)
