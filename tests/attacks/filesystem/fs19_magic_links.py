# claim: Reopening one's own descriptors through /proc gives no more than they had.
# case: FS-08
# class: Escape
# given: canary shown read-only
# control: without read-only, landlock
# expect: reopen a read-only file for writing = EROFS -> ok
# expect: reopen it by an O_PATH descriptor = EROFS -> ok
# expect: write to our own program = !ok
# expect: write to our own memory file = EACCES -> ok
# expect: an anonymous file in a shown folder = EROFS -> ok
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


opened = os.open("/canary/file", os.O_RDONLY)
path = os.open("/canary/file", os.O_PATH)
probe("reopen a read-only file for writing", lambda: os.open(f"/proc/self/fd/{opened}", os.O_WRONLY))
probe("reopen it by an O_PATH descriptor", lambda: os.open(f"/proc/self/fd/{path}", os.O_WRONLY))
probe("write to our own program", lambda: os.open("/proc/self/exe", os.O_WRONLY))
probe("write to our own memory file", lambda: os.open("/proc/self/mem", os.O_RDWR))
probe("an anonymous file in a shown folder", lambda: os.open("/canary", os.O_WRONLY | os.O_TMPFILE))
