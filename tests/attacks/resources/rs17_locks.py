# claim: A guest has few file locks at once, however it asks for them: the kernel walks all locks of a file at each close of it, the host's closes too.
# case: RS-17
# class: HostDoS
# observe: locks
# control: without seccomp, landlock
# expect: a database all the same = ok
# expect: ranges of a file that is shown = ENOLCK -> ok
# expect: ranges by a wide number = ENOLCK -> ok
# expect: pieces of one lock = ENOLCK -> ok
# expect: locks of an open file = EINVAL -> ok
# expect: a table of files for two processes = EPERM -> ok
# expect: a table of files of its own = EINVAL -> ok
# expect: shared locks of a device = ENOLCK -> ok
import ctypes
import errno
import fcntl
import json
import os
import sqlite3
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
CLONE, FCNTL = {"x86_64": (56, 72), "aarch64": (220, 25)}[os.uname().machine]
CLOSE_RANGE, UNSHARE, CLONE_FILES, SIGCHLD, F_OFD_SETLK = 436, 2, 0x400, 17, 37
# More than a jar may have, and less than it may have files open.
MANY = 500


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


def raw(number, *args):
    answer = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")
    return answer


def database():
    base = sqlite3.connect("/tmp/base")
    base.execute("create table t (x)")
    for number in range(MANY):
        with base:
            base.execute("insert into t values (?)", (number,))
    base.close()


def ranges():
    with open(os.__file__) as shown:
        for number in range(MANY):
            fcntl.lockf(shown, fcntl.LOCK_SH, 1, 2 * number)


def wide():
    with open("/tmp/file", "w+") as own:
        for number in range(MANY):
            wanted = ctypes.create_string_buffer(struct.pack("hhqqi", fcntl.F_WRLCK, 0, 2 * number, 1, 0))
            raw(FCNTL, own.fileno(), 1 << 32 | fcntl.F_SETLK, ctypes.addressof(wanted))


def pieces():
    with open("/tmp/file", "w+") as own:
        fcntl.lockf(own, fcntl.LOCK_EX)
        for number in range(MANY):
            fcntl.lockf(own, fcntl.LOCK_UN, 1, 2 * number)


def of_open_file():
    with open("/tmp/file", "w+") as own:
        fcntl.fcntl(own, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))


def table():
    child = raw(CLONE, CLONE_FILES | SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


probe("a database all the same", database)
probe("ranges of a file that is shown", ranges)
probe("ranges by a wide number", wide)
probe("pieces of one lock", pieces)
probe("locks of an open file", of_open_file)
probe("a table of files for two processes", table)
probe("a table of files of its own", lambda: raw(CLOSE_RANGE, 900, 901, UNSHARE))
held = []


def shared():
    # Right after a refusal the next few calls are refused unseen.
    time.sleep(0.05)
    for _ in range(MANY):
        held.append(os.open("/dev/null", os.O_RDONLY))
        fcntl.flock(held[-1], fcntl.LOCK_SH)


probe("shared locks of a device", shared)
print('{"ready": true}', flush=True)
sys.stdin.read()
