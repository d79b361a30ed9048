# claim: What a template writes wherever it can, and be it all there is, no job sees, and every job has its whole disk.
# case: FK-01, FK-02, IPC-01, IPC-02
# class: Lateral
# given: preload
# control: without own jar
# expect: places that could be filled = some
# expect: files that came along = [] -> ![]
# expect: segments and queues that came along = 0 -> 3
# expect: an abstract socket that came along = ECONNREFUSED
# expect: the job writes 1 MiB = ok -> EACCES
# expect: folder and host name = /jar belljar -> /tmp belljar
import ctypes
import errno
import json
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
PLACES = ("/jar", "/tmp", "/tmp/home", "/dev/shm", "/run", "/var/tmp", "/script", "/run/belljar")
KEY = 0x7F3A7F3A
IPC_CREAT = 0o1000

if TEMPLATE:
    filled = []
    for place in PLACES:
        try:
            with open(f"{place}/left-by-the-template", "wb", buffering=0) as file:
                filled.append(place)
                while True:
                    file.write(bytes(1 << 20))
        except OSError as error:
            if error.errno == errno.ENOSPC:
                filled.append(place)
    tell("places that could be filled", "some" if filled else "none")
    libc.shmget(KEY, 4096, IPC_CREAT | 0o600)
    libc.msgget(KEY, IPC_CREAT | 0o600)
    libc.semget(KEY, 1, IPC_CREAT | 0o600)
    if (child := os.fork()) == 0:
        # Bound for a moment only: what stays open is seen.
        socket.socket(socket.AF_UNIX).bind("\0left-by-the-template")
        os._exit(0)
    os.waitpid(child, 0)
    os.chdir("/tmp")


def job():
    def show(probe, saw):
        print(json.dumps({"probe": probe, "saw": saw}))

    left = [place for place in PLACES if os.path.exists(f"{place}/left-by-the-template")]
    show("files that came along", json.dumps(left))
    found = [libc.shmget(KEY, 4096, 0), libc.msgget(KEY, 0), libc.semget(KEY, 1, 0)]
    show("segments and queues that came along", sum(number >= 0 for number in found))
    try:
        socket.socket(socket.AF_UNIX).connect("\0left-by-the-template")
        show("an abstract socket that came along", "ok")
    except OSError as error:
        show("an abstract socket that came along", errno.errorcode[error.errno])
    try:
        open("/jar/mine", "wb").write(bytes(1 << 20))
        show("the job writes 1 MiB", "ok")
    except OSError as error:
        show("the job writes 1 MiB", errno.errorcode[error.errno])
    show("folder and host name", f"{os.getcwd()} {os.uname().nodename}")
