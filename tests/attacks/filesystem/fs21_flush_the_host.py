# claim: A guest cannot flush the host's disks, nor hang in the kernel until the slowest of them has answered.
# case: FS-21
# class: HostDoS
# control: without seccomp
# expect: flush every disk = EPERM -> ok
# expect: flush the disk that /usr is on = ENOSYS -> ok
# expect: flush our own file = ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
SYNC = {"x86_64": 162, "aarch64": 81}[os.uname().machine]


def probe(name, call):
    saw = "ok" if call() >= 0 else errno.errorcode[ctypes.get_errno()]
    print(json.dumps({"probe": name, "saw": saw}))


usr = os.open("/usr", os.O_RDONLY)
own = os.open("/tmp/own", os.O_RDWR | os.O_CREAT, 0o600)
probe("flush every disk", lambda: libc.syscall(SYNC))
probe("flush the disk that /usr is on", lambda: libc.syncfs(usr))
probe("flush our own file", lambda: libc.fsync(own))
