# claim: The kernel's keyrings cannot be read, written or searched.
# case: IPC-03
# class: HostLeak
# control: without seccomp
# expect: read the session keyring = EPERM -> ok
# expect: add a key = EPERM -> ok
# expect: ask for a key = EPERM -> ENOKEY
# expect: /proc/keys = empty
# expect: /proc/key-users = empty
import ctypes
import errno
import json

libc = ctypes.CDLL(None, use_errno=True)
ADD_KEY, REQUEST_KEY, KEYCTL = 248, 249, 250
PROCESS_KEYRING, SESSION_KEYRING = -2, -3


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def probe(name, result):
    tell(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])


probe("read the session keyring", libc.syscall(KEYCTL, 0, SESSION_KEYRING, 0))
probe("add a key", libc.syscall(ADD_KEY, b"user", b"canary", b"x", 1, PROCESS_KEYRING))
probe("ask for a key", libc.syscall(REQUEST_KEY, b"user", b"belljar-no-such-key", None, 0))
for path in ("/proc/keys", "/proc/key-users"):
    try:
        tell(path, open(path).read() or "empty")
    except OSError as error:
        tell(path, errno.errorcode[error.errno])
