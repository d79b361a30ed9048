# claim: Shared memory is the jar's own, small, and not executable.
# case: IPC-02
# class: Lateral
# control: without own shm, landlock
# expect: file system = tmpfs of its own -> the host's
# expect: map it executable = EPERM -> ok
# expect: shared_memory works = ok
import errno
import json
import mmap
import os


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


same = os.stat("/dev/shm").st_dev == os.stat("/tmp").st_dev
tell("file system", "tmpfs of its own" if same else "the host's")
try:
    opened = os.open("/dev/shm/code", os.O_RDWR | os.O_CREAT, 0o700)
    os.truncate(opened, 4096)
    try:
        mmap.mmap(opened, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        tell("map it executable", "ok")
    except OSError as error:
        tell("map it executable", errno.errorcode[error.errno])
    os.unlink("/dev/shm/code")
except OSError as error:
    tell("map it executable", errno.errorcode[error.errno])
try:
    from multiprocessing import shared_memory

    made = shared_memory.SharedMemory(create=True, size=64)
    made.unlink()
    tell("shared_memory works", "ok")
except OSError as error:
    tell("shared_memory works", errno.errorcode[error.errno])
