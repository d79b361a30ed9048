# claim: A file that is shown read-only cannot be changed in any way: content, name, mode, owner, times, links, attributes.
# case: FS-06
# class: Escape
# given: canary shown read-only
# control: without read-only, landlock, seccomp
# expect: open for writing = EROFS -> ok
# expect: open with O_TRUNC = EROFS -> ok
# expect: truncate = EROFS -> ok
# expect: chmod = EROFS -> ok
# expect: chown = EROFS -> ok
# expect: change its times = EROFS -> ok
# expect: set an attribute = ENOTSUP -> ok
# expect: link = EROFS -> ok
# expect: symlink beside it = EROFS -> ok
# expect: rename = EROFS -> ok
# expect: unlink = EROFS -> ok
# expect: map it shared and writable = EACCES -> ok
# expect: make a folder = EROFS -> ok
import errno
import json
import mmap
import os

file = "/canary/file"


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


def map_shared():
    try:
        opened = os.open("/canary/other", os.O_RDWR)
    except OSError:
        opened = os.open("/canary/other", os.O_RDONLY)
    mmap.mmap(opened, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[:4] = b"mine"


probe("open for writing", lambda: os.open(file, os.O_WRONLY))
probe("open with O_TRUNC", lambda: os.open(file, os.O_WRONLY | os.O_TRUNC))
probe("truncate", lambda: os.truncate(file, 0))
probe("chmod", lambda: os.chmod(file, 0o777))
probe("chown", lambda: os.chown(file, os.getuid(), os.getgid()))
probe("change its times", lambda: os.utime(file, (0, 0)))
probe("set an attribute", lambda: os.setxattr(file, "user.mine", b"1"))
probe("link", lambda: os.link(file, "/canary/linked"))
probe("symlink beside it", lambda: os.symlink("file", "/canary/symlink"))
probe("map it shared and writable", map_shared)
probe("make a folder", lambda: os.mkdir("/canary/folder"))
probe("rename", lambda: os.rename(file, "/canary/renamed"))
probe("unlink", lambda: os.unlink("/canary/other"))
