# Opens what queues_on.py made on the host, by its exact keys and name.
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
for name, opened in (
    ("segment", lambda: libc.shmget(0xBE11, 4096, 0)),
    ("semaphore", lambda: libc.semget(0xBE11, 1, 0)),
    ("queue", lambda: libc.msgget(0xBE11, 0)),
    ("posix queue", lambda: libc.mq_open(b"/belljar-canary", os.O_RDWR)),
):
    saw = "ok" if opened() != -1 else errno.errorcode[ctypes.get_errno()]
    print(json.dumps({"probe": name, "saw": saw}))
