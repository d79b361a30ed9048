# claim: The walls stand for every way to run code: in a thread, a grandchild, after exec of Python and after exec of a shell.
# case: SC-09, SC-10, FS-02, PR-01
# class: Escape
# control: without seccomp
# expect: main = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
# expect: thread = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
# expect: grandchild = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
# expect: exec of python = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
# expect: exec of a shell = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
# expect: exec of a program in memory = EPERM EPERM EPERM ENOSYS EAFNOSUPPORT EPERM EROFS 0 1 2 -> EFAULT EINVAL ESRCH E2BIG ok ok EROFS 0 1 0
import ctypes
import errno
import json
import os
import subprocess
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
MOUNT, UNSHARE, PTRACE, CLONE3, SOCKET, SETUID = 165, 272, 101, 435, 41, 105


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(value) for value in arguments])
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


def write():
    try:
        os.open("/usr/planted", os.O_CREAT | os.O_WRONLY)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


def core():
    """Mount, unshare, ptrace, clone3, socket, setuid, a write, then capabilities, no_new_privs and the filter's mode."""
    with open("/proc/thread-self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    calls = [call(MOUNT, 1, 1, 1, 0, 0), call(UNSHARE, -1), call(PTRACE, 16, 1 << 22, 0, 0), call(CLONE3, -1, -1)]
    calls += [call(SOCKET, 2, 1, 0), call(SETUID, os.getuid()), write()]
    return " ".join(calls + [f"{int(status['CapEff'], 16):x}", status["NoNewPrivs"], status["Seccomp"]])


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}), flush=True)


if sys.argv[1:] == ["core"]:
    print(core())
    sys.exit()
tell("main", core())
thread = threading.Thread(target=lambda: tell("thread", core()))
thread.start()
thread.join()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        tell("grandchild", core())
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
command = [sys.executable, __file__, "core"]
tell("exec of python", subprocess.run(command, capture_output=True, text=True).stdout.strip())
shell = ["/bin/sh", "-c", 'exec "$0" "$@"', *command]
tell("exec of a shell", subprocess.run(shell, capture_output=True, text=True).stdout.strip())
program = os.memfd_create("python")
with open(os.path.realpath(sys.executable), "rb") as file:
    os.sendfile(program, file.fileno(), 0, 1 << 30)
memory = subprocess.run([f"/proc/self/fd/{program}", *command[1:]], capture_output=True, text=True, pass_fds=[program])
tell("exec of a program in memory", memory.stdout.strip() or memory.stderr)
