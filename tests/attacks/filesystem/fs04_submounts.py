# claim: What is mounted below a folder that is shown read-only is read-only too.
# case: FS-04
# class: Escape
# given: host /dev shown read-only, without landlock
# control: without read-only
# expect: write below a mount of the shown folder = EROFS -> ok
import errno
import json
import os

# On the host everyone may write to /dev/shm, a tmpfs that is mounted below /dev.
path = f"/mnt/dev/shm/belljar-canary-{os.getpid()}-{int.from_bytes(os.urandom(4), 'little')}"
try:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(path)
    saw = "ok"
except OSError as error:
    saw = errno.errorcode[error.errno]
print(json.dumps({"probe": "write below a mount of the shown folder", "saw": saw}))
