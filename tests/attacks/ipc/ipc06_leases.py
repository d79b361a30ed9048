# claim: A guest cannot hold up others with a lease, nor have signals sent about files.
# case: IPC-06
# class: PeerDoS
# control: without seccomp
# expect: lease on our own file = EPERM -> ok
# expect: delegation of our own file = EPERM -> !EPERM
# expect: delegation of a folder = EPERM -> !EPERM
# expect: notice of a folder = EPERM -> ok
# expect: choose who gets signals = EPERM -> ok
# expect: choose which signal = EPERM -> ok
# expect: lock on our own file = ok
import errno
import fcntl
import json
import os


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


F_SETSIG, F_SETLEASE, F_NOTIFY, F_GETDELEG, F_SETDELEG = 10, 1024, 1026, 1039, 1040
opened = os.open("/tmp/file", os.O_RDONLY | os.O_CREAT, 0o600)
folder = os.open("/tmp", os.O_RDONLY)
probe("lease on our own file", lambda: fcntl.fcntl(opened, F_SETLEASE, fcntl.F_RDLCK))
# Kernels before 6.19 do not know them.
probe("delegation of our own file", lambda: fcntl.fcntl(opened, F_SETDELEG, bytes(8)))
probe("delegation of a folder", lambda: fcntl.fcntl(folder, F_GETDELEG, bytes(8)))
probe("notice of a folder", lambda: fcntl.fcntl(folder, F_NOTIFY, 4))
probe("choose who gets signals", lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getpid()))
probe("choose which signal", lambda: fcntl.fcntl(os.pipe()[0], F_SETSIG, 10))
probe("lock on our own file", lambda: fcntl.flock(opened, fcntl.LOCK_EX))
