# claim: A guest that may write a folder of the host leaves no set-id program there, which would run as the caller for everyone else.
# case: FS-13, HV-07
# class: Escape
# given: workdir
# control: without seccomp
# expect: chmod = EPERM -> set
# expect: fchmod = EPERM -> set
# expect: fchmodat = EPERM -> set
# expect: fchmodat2 = EPERM -> set
# expect: open = EPERM -> set
# expect: open, set-gid = EPERM -> set
# expect: creat = EPERM -> set
# expect: openat2 = ENOSYS -> set
# expect: mknod = EPERM -> set
# expect: an anonymous file = EPERM -> set
# expect: an ordinary mode = not set
import ctypes
import errno
import json
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
OPEN, CREAT, OPENAT2, FCHMODAT2 = 2, 85, 437, 452
name = b"/jar/program"


def check(result):
    if isinstance(result, int) and result < 0:
        raise OSError(ctypes.get_errno(), "")


def probe(label, make, change=None):
    try:
        opened = make()
        if isinstance(opened, int):
            check(opened)
        if change:
            check(change(opened))
        mode = (os.fstat(opened) if isinstance(opened, int) and opened > 2 else os.stat(name)).st_mode
        saw = "set" if mode & (stat.S_ISUID | stat.S_ISGID) else "not set"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": label, "saw": saw}))
    if os.path.exists(name):
        os.unlink(name)


def plain():
    return os.open(name, os.O_CREAT | os.O_RDWR, 0o600)


how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, 0o4755, 0)
probe("chmod", plain, lambda _: os.chmod(name, 0o4755))
probe("fchmod", plain, lambda opened: os.fchmod(opened, 0o4755))
probe("fchmodat", plain, lambda _: os.chmod("program", 0o4755, dir_fd=os.open("/jar", os.O_RDONLY)))
probe("fchmodat2", plain, lambda _: libc.syscall(FCHMODAT2, -100, name, 0o4755, 0))
probe("open", lambda: os.open(name, os.O_CREAT | os.O_RDWR, 0o4755))
probe("open, set-gid", lambda: libc.syscall(OPEN, name, os.O_CREAT | os.O_RDWR, 0o2755))
probe("creat", lambda: libc.syscall(CREAT, name, 0o4755))
probe("openat2", lambda: libc.syscall(OPENAT2, -100, name, how, 24))
probe("mknod", lambda: os.mknod(name, stat.S_IFREG | 0o4755))
probe("an anonymous file", lambda: os.open("/jar", os.O_TMPFILE | os.O_RDWR, 0o4755))
probe("an ordinary mode", plain, lambda opened: os.fchmod(opened, 0o755))
