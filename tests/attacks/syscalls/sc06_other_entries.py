# claim: The 32-bit entry and the x32 numbers end the process that uses them, so that no call hides behind another number.
# case: SC-06
# class: Escape
# control: without seccomp
# expect: int 0x80 = SIGSYS -> ok
# expect: x32 number of read = SIGSYS -> ENOSYS
# expect: x32 number of ptrace = SIGSYS -> ENOSYS
# expect: number -1 = ENOSYS -> ENOSYS
import ctypes
import errno
import json
import mmap
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def in_child(call):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, call().encode())
        os._exit(0)
    os.close(theirs)
    status = os.waitpid(child, 0)[1]
    return os.read(ours, 30).decode() or signal.Signals(status & 127).name


def legacy():
    # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("53b814000000cd805bc3"))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    return "ok" if result == os.getpid() else f"returned {result}"


def number(value):
    result = libc.syscall(ctypes.c_long(value), 0, 0, 0)
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


for name, call in (
    ("int 0x80", legacy),
    ("x32 number of read", lambda: number(0x40000000)),
    ("x32 number of ptrace", lambda: number(0x40000000 | 521)),
    ("number -1", lambda: number(-1)),
):
    print(json.dumps({"probe": name, "saw": in_child(call)}), flush=True)
