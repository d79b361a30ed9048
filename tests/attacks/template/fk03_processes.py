# claim: A template ends, traces and reads neither its keeper nor anyone of the host, and makes no namespace.
# case: FK-10, PS-03, PS-04, SC-04
# class: Escape
# given: preload
# control: without seccomp
# expect: the keeper after SIGKILL = is there
# expect: kill all = !EPERM
# expect: read the keeper's memory = EACCES
# expect: the keeper's root = EACCES
# expect: the keeper's namespaces = EACCES
# expect: trace the keeper = EPERM -> EPERM
# expect: take a descriptor from the keeper = ENOSYS -> EPERM
# expect: trace our own child = EPERM -> ok
# expect: unshare USER = EPERM -> ok
# expect: unshare NET = EPERM -> ok
# expect: clone NS = EPERM -> ok
# expect: enter the keeper's namespaces by a pidfd = EPERM
# expect: give itself all capabilities = EPERM
# expect: keep them over setuid = EINVAL -> EPERM
# expect: set the host name = EPERM -> ok
import ctypes
import errno
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
CLONE, PTRACE, CAPSET, PIDFD_GETFD = 56, 101, 126, 438
PTRACE_SEIZE, PR_SET_KEEPCAPS = 0x4206, 8
NEWNS, NEWUSER, NEWNET = 0x20000, 0x10000000, 0x40000000


def probe(name, result):
    tell(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])


def look(name, action):
    try:
        action()
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


def apart(call):
    """In a process of its own, which ends by itself."""
    if (child := os.fork()) == 0:
        os._exit(0 if call() >= 0 else ctypes.get_errno())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ctypes.set_errno(code)
    return -1 if code else 0


if TEMPLATE:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        os.kill(1, number)
    time.sleep(0.05)
    tell("the keeper after SIGKILL", "is there" if open("/proc/1/stat").read().split()[2] in "SR" else "is not")
    look("kill all", lambda: os.kill(-1, signal.SIGKILL))
    look("read the keeper's memory", lambda: open("/proc/1/mem", "rb").close())
    look("the keeper's root", lambda: os.listdir("/proc/1/root/"))
    look("the keeper's namespaces", lambda: os.readlink("/proc/1/ns/mnt"))
    probe("trace the keeper", libc.syscall(PTRACE, PTRACE_SEIZE, 1, 0, 0))
    keeper = os.pidfd_open(1)
    probe("take a descriptor from the keeper", libc.syscall(PIDFD_GETFD, keeper, 0, 0))
    probe("enter the keeper's namespaces by a pidfd", apart(lambda: libc.setns(keeper, NEWNS | NEWNET)))
    os.close(keeper)
    if (child := os.fork()) == 0:
        time.sleep(30)
    probe("trace our own child", libc.syscall(PTRACE, PTRACE_SEIZE, child, 0, 0))
    os.kill(child, 9)
    os.waitpid(child, 0)
    probe("unshare USER", apart(lambda: libc.unshare(NEWUSER)))
    probe("unshare NET", apart(lambda: libc.unshare(NEWNET)))

    def born_apart():
        if (pid := libc.syscall(CLONE, NEWNS | signal.SIGCHLD, 0, 0, 0, 0)) == 0:
            os._exit(0)
        return pid if pid < 0 else os.waitpid(pid, 0)[1]

    probe("clone NS", apart(born_apart))
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    every = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    probe("give itself all capabilities", libc.syscall(CAPSET, header, every))
    probe("keep them over setuid", libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    probe("set the host name", libc.sethostname(b"hostile", 7))
