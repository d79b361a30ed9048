# Looks for everything that resident.py left, by its exact name.
import ctypes
import errno
import json
import os
import socket
import sys

facts = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)


def probe(name, call):
    try:
        saw = "ok" if call() != -1 else errno.errorcode[ctypes.get_errno()]
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("signal the other guest", lambda: os.kill(facts["pid"], 0))
probe("open its /proc", lambda: os.stat(f"/proc/{facts['pid']}"))
probe("find its message queue", lambda: libc.msgget(0x6A61, 0))
probe("find its segment", lambda: libc.shmget(0x6A61, 4096, 0))
probe("find its shared memory", lambda: os.stat("/dev/shm/resident"))
probe("find its file", lambda: os.stat("/tmp/resident"))
probe("connect to its abstract socket", lambda: socket.socket(socket.AF_UNIX).connect("\0resident"))
