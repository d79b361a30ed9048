# claim: Nothing outside /jar, /tmp and /dev/shm can be written: not the root, the system, the interpreter, nor what the policy shows.
# case: FS-02, FS-16
# class: Escape
# given: canary shown read-only
# control: without read-only, landlock, seccomp, privileges
# expect: / = EROFS -> ok
# expect: /etc = EROFS -> ok
# expect: /dev = EROFS -> ok
# expect: /run/belljar = EROFS -> ok
# expect: /script = EROFS -> ok
# expect: /canary = EROFS -> ok
# expect: /canary/inner = EROFS -> ok
# expect: /usr = EROFS
# expect: /usr/bin = EROFS
# expect: standard library = EROFS
# expect: /jar = ok
# expect: /tmp = ok
# expect: /dev/shm = ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_NOSUID, MS_NODEV = 1, 32, 4096, 2, 4


def write(folder):
    os.close(os.open(f"{folder}/planted", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    os.unlink(f"{folder}/planted")
    return "ok"


def attempt(folder):
    try:
        return write(folder)
    except OSError as error:
        # A guest with any privilege left would open the root up first.
        libc.mount(None, b"/", None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, None)
        try:
            return write(folder)
        except OSError:
            return errno.errorcode[error.errno]


for folder in ("/", "/etc", "/dev", "/run/belljar", "/script", "/canary", "/canary/inner", "/usr", "/usr/bin"):
    print(json.dumps({"probe": folder, "saw": attempt(folder)}))
print(json.dumps({"probe": "standard library", "saw": attempt(os.path.dirname(os.__file__))}))
for folder in ("/jar", "/tmp", "/dev/shm"):
    print(json.dumps({"probe": folder, "saw": attempt(folder)}))
