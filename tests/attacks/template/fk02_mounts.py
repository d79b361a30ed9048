# claim: A template makes, changes, moves and takes away no mount; those that came from the host are locked besides.
# case: FK-10, FS-03
# class: Escape
# given: preload, canary shown read-only
# control: without seccomp
# expect: clear read-only of what is shown = EPERM -> EPERM
# expect: remount what is shown writable = EPERM -> EPERM
# expect: write what is shown = EROFS
# expect: take away what is shown = EPERM -> !ok
# expect: remount / writable = EPERM -> EPERM
# expect: a tmpfs over /usr = EPERM -> ok
# expect: chroot = EPERM -> ok
# expect: leave by an older folder = EPERM -> the same root
# expect: pivot_root = EPERM -> !ok
# expect: copy a tree with open_tree = EPERM -> EINVAL
# expect: a second /proc = EPERM -> ok
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
MS_REMOUNT, MS_BIND, MS_NOSUID, MS_NODEV = 32, 4096, 2, 4
OPEN_TREE, MOUNT_SETATTR, PIVOT_ROOT = 428, 442, 155


def probe(name, result):
    tell(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])


class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def leave():
    """chroot into a folder, then up from one that was open before."""
    root = os.stat("/")
    above = os.open("/", os.O_RDONLY)
    child = os.fork()
    if child == 0:
        if libc.chroot(b"/tmp") != 0:
            os._exit(errno.EPERM)
        os.fchdir(above)
        for _ in range(64):
            os.chdir("..")
        os._exit(0 if (os.stat(".").st_dev, os.stat(".").st_ino) == (root.st_dev, root.st_ino) else 99)
    os.close(above)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "the same root" if code == 0 else errno.errorcode.get(code, code)


if TEMPLATE:
    change = Attributes(0, 1, 0, 0)
    probe("clear read-only of what is shown", libc.syscall(MOUNT_SETATTR, -100, b"/canary", 0, ctypes.byref(change), 32))
    probe("remount what is shown writable", libc.mount(None, b"/canary", None, MS_REMOUNT | MS_BIND, None))
    try:
        open("/canary/file", "w").close()
        tell("write what is shown", "ok")
    except OSError as error:
        tell("write what is shown", errno.errorcode[error.errno])
    probe("take away what is shown", libc.umount2(b"/canary", 2))
    probe("remount / writable", libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND, None))
    probe("copy a tree with open_tree", opened := libc.syscall(OPEN_TREE, -100, b"/tmp", 1))
    if opened >= 0:
        os.close(opened)
    tell("leave by an older folder", leave())
    probe("pivot_root", libc.syscall(PIVOT_ROOT, b"/tmp", b"/tmp"))
    # In a child: its own root only.
    for name, call in (("chroot", lambda: libc.chroot(b"/tmp")),):
        if (child := os.fork()) == 0:
            os._exit(0 if call() == 0 else ctypes.get_errno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        tell(name, "ok" if code == 0 else errno.errorcode[code])
    os.makedirs("/tmp/proc", exist_ok=True)
    probe("a second /proc", libc.mount(b"proc", b"/tmp/proc", b"proc", 0, None))
    # Over a folder that a worker does not need.
    probe("a tmpfs over /usr", libc.mount(b"tmpfs", b"/usr/share", b"tmpfs", 0, None))
