# claim: A guest cannot make device files, not even the one that the kernel gives to everyone; pipes and plain files it can.
# case: FS-11
# class: Escape
# control: without seccomp, landlock
# expect: character device 0:0 in /tmp = EPERM -> ok
# expect: character device 0:0 in /jar = EPERM -> ok
# expect: a whiteout left behind in /tmp = EINVAL -> ok
# expect: a whiteout left behind in /jar = EINVAL -> ok
# expect: another whiteout left behind = EINVAL -> ok
# expect: the memory of the machine = EPERM
# expect: the first disk = EPERM
# expect: a named pipe = ok
# expect: a plain file = ok
# expect: a plain rename = ok
# expect: an exchange = ok
import ctypes
import errno
import json
import os
import stat

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, NOREPLACE, EXCHANGE, WHITEOUT = -100, 1, 2, 4


def probe(name, path, mode, device=0):
    try:
        os.mknod(path, mode | 0o600, device)
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("character device 0:0 in /tmp", "/tmp/c", stat.S_IFCHR)
probe("character device 0:0 in /jar", "/jar/c", stat.S_IFCHR)
probe("the memory of the machine", "/tmp/mem", stat.S_IFCHR, os.makedev(1, 1))
probe("the first disk", "/tmp/disk", stat.S_IFBLK, os.makedev(254, 0))
probe("a named pipe", "/tmp/pipe", stat.S_IFIFO)
probe("a plain file", "/tmp/file", stat.S_IFREG)


def rename(name, folder, flags):
    old, new = os.path.join(folder, "old").encode(), os.path.join(folder, "new").encode()
    open(old, "w").close()
    if flags & EXCHANGE:
        open(new, "w").close()
    answer = libc.renameat2(AT_FDCWD, old, AT_FDCWD, new, flags)
    saw = "ok" if answer == 0 else errno.errorcode[ctypes.get_errno()]
    if flags & WHITEOUT and answer == 0 and not stat.S_ISCHR(os.lstat(old).st_mode):
        saw = "no device"
    for path in old, new:
        if os.path.lexists(path):
            os.unlink(path)
    print(json.dumps({"probe": name, "saw": saw}))


rename("a whiteout left behind in /tmp", "/tmp", WHITEOUT)
rename("a whiteout left behind in /jar", "/jar", WHITEOUT)
rename("another whiteout left behind", "/tmp", WHITEOUT | NOREPLACE)
rename("a plain rename", "/tmp", 0)
rename("an exchange", "/tmp", EXCHANGE)
