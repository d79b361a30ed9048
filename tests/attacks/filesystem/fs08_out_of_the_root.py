# claim: There is no way above the root: not by .., an old folder descriptor, chroot, pivot_root or the links of /proc.
# case: FS-08
# class: Escape
# control: without seccomp, privileges, landlock
# expect: above the root = ok
# expect: /proc/self/root = ok
# expect: the root link of our own child = ok
# expect: the root link of init = EACCES
# expect: the working directory of init = EACCES
# expect: chroot = EPERM -> ok
# expect: chroot, then out by an older descriptor = EPERM -> the same root
# expect: pivot_root = EPERM -> !EPERM
import ctypes
import errno
import json
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
PIVOT_ROOT = 155
root = os.stat("/")


def probe(name, call):
    try:
        saw = call()
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


def same(path):
    return "ok" if os.path.samestat(os.stat(path), root) else "another root"


def in_child(call):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            saw = call()
        except OSError as error:
            saw = errno.errorcode[error.errno]
        os.write(theirs, saw.encode())
        os._exit(0)
    os.close(theirs)
    os.wait()
    return os.read(ours, 100).decode()


def chroot():
    os.chroot("/tmp")
    return "ok"


def chroot_and_out():
    older = os.open("/", os.O_RDONLY)
    os.chroot("/tmp")
    os.fchdir(older)
    for _ in range(64):
        os.chdir("..")
    return "the same root" if os.path.samestat(os.stat("."), root) else "another root"


def root_of_child():
    child = os.fork()
    if child == 0:
        time.sleep(5)
        os._exit(0)
    try:
        return same(f"/proc/{child}/root/")
    finally:
        os.kill(child, 9)
        os.wait()


probe("above the root", lambda: same("/" + "../" * 64))
probe("/proc/self/root", lambda: same("/proc/self/root/"))
probe("the root link of our own child", root_of_child)
probe("the root link of init", lambda: same("/proc/1/root/"))
probe("the working directory of init", lambda: same("/proc/1/cwd/"))
probe("chroot", lambda: in_child(chroot))
probe("chroot, then out by an older descriptor", lambda: in_child(chroot_and_out))
answer = libc.syscall(PIVOT_ROOT, b".", b".")
probe("pivot_root", lambda: "ok" if answer == 0 else errno.errorcode[ctypes.get_errno()])
