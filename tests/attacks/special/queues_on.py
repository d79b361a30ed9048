import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
made = [libc.shmget(0xBE11, 4096, 0o1666), libc.semget(0xBE11, 1, 0o1666), libc.msgget(0xBE11, 0o1666)]
made.append(libc.mq_open(b"/belljar-canary", os.O_CREAT | os.O_RDWR, 0o666, None))
assert -1 not in made, os.strerror(ctypes.get_errno())
