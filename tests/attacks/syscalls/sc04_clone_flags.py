# claim: No flag or pair of flags makes a new namespace, by clone or by unshare; fork and threads work.
# case: SC-04, NS-02
# class: Escape
# control: without seccomp, privileges, landlock
# expect: clone NS = EPERM -> ok
# expect: clone UTS = EPERM -> ok
# expect: clone IPC = EPERM -> ok
# expect: clone USER = EPERM -> ok
# expect: clone PID = EPERM -> ok
# expect: clone NET = EPERM -> ok
# expect: clone CGROUP = EPERM -> ok
# expect: clone with any two = all EPERM -> all ok
# expect: clone USER with an upper half = EPERM -> ok
# expect: clone with a parent of its choice = EPERM -> ok
# expect: unshare NS = EPERM -> ok
# expect: unshare UTS = EPERM -> ok
# expect: unshare IPC = EPERM -> ok
# expect: unshare USER = EPERM -> ok
# expect: unshare PID = EPERM -> ok
# expect: unshare NET = EPERM -> ok
# expect: unshare CGROUP = EPERM -> ok
# expect: unshare TIME = EPERM -> ok
# expect: clone3 = ENOSYS -> EINVAL
# expect: fork = ok
# expect: thread = ok
import ctypes
import errno
import itertools
import json
import os
import threading

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
CLONE, UNSHARE, CLONE3, SIGCHLD, CLONE_PARENT = 56, 272, 435, 17, 0x8000
FLAGS = {"NS": 0x20000, "UTS": 0x4000000, "IPC": 0x8000000, "USER": 0x10000000, "PID": 0x20000000, "NET": 0x40000000, "CGROUP": 0x2000000}


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}), flush=True)


def clone(flags):
    """In a process of its own, because whoever comes back may be in another namespace."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        made = libc.syscall(ctypes.c_long(CLONE), ctypes.c_ulong(flags | SIGCHLD), None, None, None, None)
        if made == 0:
            os._exit(0)
        os.write(theirs, (errno.errorcode[ctypes.get_errno()] if made < 0 else "ok").encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    said = os.read(ours, 30).decode()
    os.close(ours)
    return said


def unshare(flags):
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.syscall(UNSHARE, flags) == 0 else ctypes.get_errno())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if hasattr(os, "waitstatus_to_exitcode") else 255
    return errno.errorcode[code] if code else "ok"


for name, flag in FLAGS.items():
    tell(f"clone {name}", clone(flag))
    tell(f"unshare {name}", unshare(flag))
answers = {clone(one | other) for one, other in itertools.combinations(FLAGS.values(), 2)}
tell("clone with any two", "all " + " ".join(sorted(answers)))
tell("clone USER with an upper half", clone(FLAGS["USER"] | 1 << 40))
tell("clone with a parent of its choice", clone(CLONE_PARENT))
tell("unshare TIME", unshare(0x80))
# A structure of the right size that asks for nothing sensible.
result = libc.syscall(CLONE3, ctypes.create_string_buffer(b"\xff" * 88), 88)
tell("clone3", "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])
child = os.fork()
if child == 0:
    os._exit(0)
tell("fork", "ok" if os.waitpid(child, 0)[1] == 0 else "failed")
thread = threading.Thread(target=lambda: tell("thread", "ok"))
thread.start()
thread.join()
