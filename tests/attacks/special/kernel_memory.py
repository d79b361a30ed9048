# Makes the kernel keep as much for it as it is told to, in one of several ways, and says so if it is still there.
import ctypes
import json
import mmap
import os
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
FACTS = json.loads(sys.argv[1])
SIZE = FACTS["megabytes"] << 20
CALLS = {"x86_64": (64, 68, 69), "aarch64": (190, 186, 189)}
SEMGET, MSGGET, MSGSND = CALLS[os.uname().machine]
kept = []


def checked(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def semaphores():
    # 64 bytes each.
    for _ in range(SIZE // (32000 * 64) + 1):
        checked(libc.syscall(SEMGET, 0, 32000, 0o600))


def queues():
    message = ctypes.create_string_buffer(b"\1" + bytes(7) + b"x" * 8192)
    for _ in range(SIZE // 16384):
        queue = checked(libc.syscall(MSGGET, 0, 0o600))
        for _ in range(2):
            checked(libc.syscall(MSGSND, queue, message, ctypes.c_size_t(8192), 0))


def sockets():
    taken = 0
    # A process has too few descriptors for all of it: its children take the rest, and stay.
    while taken < SIZE:
        while taken < SIZE and len(kept) % 400 < 399:
            kept.append(socket.socketpair())
            for end in kept[-1]:
                end.setblocking(False)
                try:
                    while True:
                        taken += end.send(b"x" * 32768)
                except BlockingIOError:
                    pass
        if taken < SIZE and (child := os.fork()):
            os.waitpid(child, 0)
            os._exit(0)
        # A copy of a descriptor keeps what is in it alive; closed here, it still is in the parent.
        for pair in kept:
            for end in pair:
                end.close()
        kept[:] = []


def page_tables():
    # Each page that is only read is the same page of zeros, but each 2 MiB need a table of 4 KiB.
    region = mmap.mmap(-1, SIZE * 512, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
    region.madvise(15)
    for place in range(0, len(region), 2 << 20):
        region[place]


globals()[FACTS["way"]]()
print(json.dumps({"probe": "took it", "saw": "ok"}), flush=True)
