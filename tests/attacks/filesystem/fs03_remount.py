# claim: No mount can be made, changed, moved or taken away, by the old calls or the new.
# case: FS-03, PF-04, SC-03
# class: Escape
# control: without seccomp, landlock, privileges
# expect: remount / writable = EPERM -> ok
# expect warm: remount / writable = EPERM -> EPERM
# expect: bind /tmp over /etc = EPERM -> ok
# expect: a tmpfs over /usr = EPERM -> ok
# expect: an overlay over /etc = EPERM -> ok
# expect: a second /proc = EPERM -> !EPERM
# expect: take /dev/shm away = EPERM -> ok
# expect: clear read-only with mount_setattr = EPERM -> ok
# expect warm: clear read-only with mount_setattr = EPERM -> EPERM
# expect: copy a tree with open_tree = EPERM -> ok
# expect: start a file system with fsopen = EPERM -> ok
# expect: change one with fspick = EPERM -> ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
MS_REMOUNT, MS_BIND, MS_NOSUID, MS_NODEV = 32, 4096, 2, 4
OPEN_TREE, FSOPEN, FSPICK, MOUNT_SETATTR = 428, 430, 433, 442


def probe(name, result):
    saw = "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]
    print(json.dumps({"probe": name, "saw": saw}))


class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


for name in ("lower", "upper", "work", "proc"):
    os.mkdir(f"/tmp/{name}")
probe("remount / writable", libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, None))
probe("a second /proc", libc.mount(b"proc", b"/tmp/proc", b"proc", 0, None))
probe("bind /tmp over /etc", libc.mount(b"/tmp", b"/etc", None, MS_BIND, None))
probe("an overlay over /etc", libc.mount(b"overlay", b"/etc", b"overlay", 0, b"userxattr,lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work"))
probe("a tmpfs over /usr", libc.mount(b"tmpfs", b"/usr", b"tmpfs", 0, None))
probe("take /dev/shm away", libc.umount2(b"/dev/shm", 2))
change = Attributes(0, 1, 0, 0)
probe("clear read-only with mount_setattr", libc.syscall(MOUNT_SETATTR, -100, b"/", 0, ctypes.byref(change), 32))
probe("copy a tree with open_tree", libc.syscall(OPEN_TREE, -100, b"/tmp", 1))
probe("start a file system with fsopen", libc.syscall(FSOPEN, b"tmpfs", 0))
probe("change one with fspick", libc.syscall(FSPICK, -100, b"/tmp", 0))
