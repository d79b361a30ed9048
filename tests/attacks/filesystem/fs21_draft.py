# claim: Whatever a guest does to a draft, the folder below it stays as it was, and the draft's own marks cannot be forged.
# case: FS-06, HV-07
# class: Escape
# given: draft
# control: without seccomp
# expect: write = ok
# expect: map it shared = ok
# expect: unlink = ok
# expect: rename = ok
# expect: chmod = ok
# expect: link = ok
# expect: remove a folder = ok
# expect: forge a mark = ENOTSUP -> !ENOTSUP
# expect: make a whiteout = EPERM
# expect: the layers = hidden
import errno
import json
import mmap
import os
import stat


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def probe(name, call):
    try:
        call()
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


def map_shared():
    opened = os.open("/jar/other", os.O_RDWR)
    mmap.mmap(opened, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[:4] = b"mine"


# Opened before the first change, so that it may still be the file below.
early = os.open("/jar/file", os.O_RDONLY)
probe("write", lambda: os.write(os.open("/jar/file", os.O_WRONLY | os.O_TRUNC), b"mine"))
probe("map it shared", map_shared)
probe("chmod", lambda: os.fchmod(early, 0o600))
probe("link", lambda: os.link("/jar/other", "/jar/linked"))
probe("rename", lambda: os.rename("/jar/file", "/jar/renamed"))
probe("unlink", lambda: os.unlink("/jar/other"))
probe("remove a folder", lambda: os.rmdir("/jar/inner"))
probe("forge a mark", lambda: os.setxattr("/jar/renamed", "user.overlay.redirect", b"/../../secret"))
probe("make a whiteout", lambda: os.mknod("/jar/whiteout", stat.S_IFCHR | 0o600, 0))
table = [line.split() for line in open("/proc/self/mountinfo") if " - overlay " in line]
tell("the layers", "hidden" if not any(os.path.exists(path) for path in ("/lower", "/upper", "/work", "/.lower")) else str(table))
