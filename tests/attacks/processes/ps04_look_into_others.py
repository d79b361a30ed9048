# claim: No process can be traced, read, written or compared by another, and init shows nothing of itself.
# case: PS-04
# class: Lateral
# control: without seccomp
# expect: trace our own child = EPERM -> ok
# expect: ask to be traced = EPERM -> ok
# expect: read our child's memory = EPERM -> ok
# expect: write our child's memory = EPERM -> ok
# expect: take a descriptor from our child = ENOSYS -> ok
# expect: compare with our child = EPERM -> ok
# expect: advise our child's memory = ENOSYS -> !ENOSYS
# expect: /proc/1/mem = EACCES
# expect: /proc/1/maps = EACCES
# expect: /proc/1/fd = EACCES
# expect: /proc/1/ns/mnt = EACCES
# expect: /proc/1/auxv = EACCES
# expect: /proc/1/stack = EACCES
# expect: our child's maps = ok
import ctypes
import errno
import json
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
PTRACE, PROCESS_VM_READV, PROCESS_VM_WRITEV, KCMP, PIDFD_GETFD, PROCESS_MADVISE = 101, 310, 311, 312, 438, 440
PTRACE_TRACEME, PTRACE_SEIZE = 0, 0x4206


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def call(name, number, *arguments):
    result = libc.syscall(number, *[ctypes.c_long(value) if isinstance(value, int) else value for value in arguments])
    tell(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])


def look(name, action):
    try:
        action()
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


buffer = ctypes.create_string_buffer(8)
piece = ctypes.byref(Piece(ctypes.addressof(buffer), 8))
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
call("read our child's memory", PROCESS_VM_READV, child, piece, 1, piece, 1, 0)
call("write our child's memory", PROCESS_VM_WRITEV, child, piece, 1, piece, 1, 0)
pidfd = os.pidfd_open(child)
call("take a descriptor from our child", PIDFD_GETFD, pidfd, 0, 0)
call("compare with our child", KCMP, os.getpid(), child, 0, 0, 0)
call("advise our child's memory", PROCESS_MADVISE, pidfd, piece, 1, 20, 0)
look("our child's maps", lambda: open(f"/proc/{child}/maps").read())
call("trace our own child", PTRACE, PTRACE_SEIZE, child, 0, 0)
os.kill(child, 9)
for path in ("/proc/1/mem", "/proc/1/maps", "/proc/1/auxv", "/proc/1/stack"):
    look(path, lambda: open(path, "rb").read(1))
look("/proc/1/fd", lambda: os.listdir("/proc/1/fd"))
look("/proc/1/ns/mnt", lambda: os.readlink("/proc/1/ns/mnt"))
os.waitpid(child, 0)
if os.fork() == 0:
    call("ask to be traced", PTRACE, PTRACE_TRACEME, 0, 0, 0)
    os._exit(0)
os.wait()
