# claim: Bits above the lower half of an argument, which the kernel ignores, dodge no rule.
# case: SC-07, TTY-02
# class: Escape
# control: without seccomp
# expect: ioctl TIOCSTI = EPERM -> ENOTTY
# expect: ioctl TIOCSTI with an upper half = EPERM -> ENOTTY
# expect: socket AF_NETLINK with an upper half = ENOTSUP -> ok
# expect: socket AF_INET with an upper half = EAFNOSUPPORT -> ok
# expect: personality with an upper half = EPERM -> ok
# expect: prctl PR_SET_DUMPABLE 1 with an upper half = EINVAL -> EINVAL
# expect: prctl PR_SET_CHILD_SUBREAPER with an upper half = EINVAL -> ok
# expect: fcntl F_SETOWN with an upper half = EPERM -> ok
# expect: prlimit64 of init with an upper half = EPERM -> ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
IOCTL, SOCKET, PERSONALITY, PRCTL, FCNTL, PRLIMIT64 = 16, 41, 135, 157, 72, 302
UPPER = 0x123 << 32


def probe(name, number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(value) for value in arguments])
    print(json.dumps({"probe": name, "saw": "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]}))


probe("ioctl TIOCSTI", IOCTL, 0, 0x5412, 1)
probe("ioctl TIOCSTI with an upper half", IOCTL, 0, UPPER | 0x5412, 1)
probe("socket AF_NETLINK with an upper half", SOCKET, UPPER | 16, 2, 0)
probe("socket AF_INET with an upper half", SOCKET, UPPER | 2, 1, 0)
probe("personality with an upper half", PERSONALITY, UPPER | 0x40000)
probe("prctl PR_SET_DUMPABLE 1 with an upper half", PRCTL, UPPER | 4, UPPER | 1, 0, 0, 0)
probe("prctl PR_SET_CHILD_SUBREAPER with an upper half", PRCTL, UPPER | 36, 1, 0, 0, 0)
probe("fcntl F_SETOWN with an upper half", FCNTL, os.pipe()[0], UPPER | 8, os.getpid())
probe("prlimit64 of init with an upper half", PRLIMIT64, UPPER | 1, 7, 0, 0)
