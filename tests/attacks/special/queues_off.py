import ctypes

libc = ctypes.CDLL(None)
libc.shmctl(libc.shmget(0xBE11, 0, 0), 0, None)
libc.semctl(libc.semget(0xBE11, 1, 0), 0, 0)
libc.msgctl(libc.msgget(0xBE11, 0), 0, None)
libc.mq_unlink(b"/belljar-canary")
