# claim: A guest cannot flush the host's disks through files that it may only read, nor drop what the host keeps of them in memory.
# case: RS-14, FS-21
# class: HostDoS
# control: without seccomp
# expect: flush a file of /usr = ok
# expect: flush its data = ok
# expect: flush a part of it = ok
# expect: flush a mapping of it = ok
# expect: drop it from memory = ok
# expect: drop a mapping of it from memory = ok
# expect: let a mapping of it grow cold = ok
# expect: flush what is no file = ok -> EINVAL
# expect: flush data of what is no file = ok -> EINVAL
# expect: flush a part of what is no file = ok -> ESPIPE
# expect: flush where nothing is mapped = ok -> ENOMEM
# expect: drop what is not mapped from memory = ok -> ENOMEM
# expect: let what is not mapped grow cold = ok -> ENOMEM
# expect: drop what is no file from memory = ok -> ESPIPE
# expect: flush our own file = ok
# expect: advise to read ahead = ok
# expect: let go of our own mapping = ok
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
PROT_READ, MAP_SHARED, MS_SYNC, SIZE = 1, 1, 4, 4096
WILLNEED, DONTNEED, COLD, PAGEOUT = 3, 4, 20, 21


def probe(name, answer):
    # posix_fadvise gives the number itself.
    number = answer if answer > 0 else ctypes.get_errno()
    print(json.dumps({"probe": name, "saw": "ok" if answer == 0 else errno.errorcode[number]}))


def msync(address):
    return libc.msync(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), MS_SYNC)


def madvise(address, advice):
    return libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(SIZE), advice)


def flush_part(descriptor):
    # Writes out what is dirty, and waits before and after.
    return libc.sync_file_range(descriptor, ctypes.c_long(0), ctypes.c_long(0), 7)


def fadvise(descriptor, advice):
    return libc.posix_fadvise(descriptor, ctypes.c_long(0), ctypes.c_long(0), advice)


# The first answer of each is the host's disk flushed where it reaches the kernel; the odd ones tell whether it does.
usr = os.open("/usr/bin/env", os.O_RDONLY)
own = os.open("/tmp/own", os.O_RDWR | os.O_CREAT, 0o600)
pipe = os.pipe()[0]
mapped = libc.mmap(None, ctypes.c_size_t(2 * SIZE), PROT_READ, MAP_SHARED, usr, ctypes.c_long(0))
probe("flush a file of /usr", libc.fsync(usr))
probe("flush its data", libc.fdatasync(usr))
probe("flush a part of it", flush_part(usr))
probe("flush a mapping of it", msync(mapped))
probe("drop it from memory", fadvise(usr, DONTNEED))
probe("drop a mapping of it from memory", madvise(mapped, PAGEOUT))
probe("let a mapping of it grow cold", madvise(mapped, COLD))
probe("let go of our own mapping", madvise(mapped, DONTNEED))
probe("flush what is no file", libc.fsync(pipe))
probe("flush data of what is no file", libc.fdatasync(pipe))
probe("flush a part of what is no file", flush_part(pipe))
libc.munmap(ctypes.c_void_p(mapped), ctypes.c_size_t(2 * SIZE))
probe("flush where nothing is mapped", msync(mapped))
probe("drop what is not mapped from memory", madvise(mapped, PAGEOUT))
probe("let what is not mapped grow cold", madvise(mapped, COLD))
probe("drop what is no file from memory", fadvise(pipe, DONTNEED))
probe("flush our own file", libc.fsync(own))
probe("advise to read ahead", fadvise(own, WILLNEED))
