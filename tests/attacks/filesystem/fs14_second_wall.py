# claim: Where a mount would let a write through, Landlock still refuses it.
# case: FS-14
# class: Escape
# given: canary shown read-only, without read-only, without seccomp
# control: without landlock
# expect: write = EACCES -> ok
# expect: truncate = EACCES -> ok
# expect: make a file = EACCES -> ok
# expect: make a folder = EACCES -> ok
# expect: make a symlink = EACCES -> ok
# expect: make a pipe = EACCES -> ok
# expect: rename in place = EACCES -> ok
# expect: rename to another folder = EACCES -> ok
# expect: link to another folder = EACCES -> ok
# expect: unlink = EACCES -> ok
# expect: read = ok
import errno
import json
import os


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("write", lambda: os.open("/canary/file", os.O_WRONLY))
probe("truncate", lambda: os.truncate("/canary/file", 1))
probe("make a file", lambda: os.open("/canary/new", os.O_WRONLY | os.O_CREAT))
probe("make a folder", lambda: os.mkdir("/canary/folder"))
probe("make a symlink", lambda: os.symlink("x", "/canary/symlink"))
probe("make a pipe", lambda: os.mkfifo("/canary/pipe"))
probe("link to another folder", lambda: os.link("/canary/file", "/canary/inner/linked"))
probe("rename in place", lambda: os.rename("/canary/other", "/canary/renamed"))
probe("rename to another folder", lambda: os.rename("/canary/file", "/canary/inner/moved"))
probe("unlink", lambda: os.unlink("/canary/renamed" if os.path.exists("/canary/renamed") else "/canary/other"))
probe("read", lambda: os.listdir("/canary"))
