# claim: A guest may open its own streams anew, as shell scripts do, and gains no other end by it; its control socket cannot be reopened.
# case: FD-01, TTY-03
# class: Escape
# expect: /dev/stdout for writing = ok
# expect: /dev/stderr for writing = ok
# expect: /dev/stdin for reading = ok
# expect: the control socket = ENXIO
# expect: streams are owned by = us
import errno
import json
import os


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}), flush=True)


def probe(name, path, flags):
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


probe("/dev/stdout for writing", "/dev/stdout", os.O_WRONLY)
probe("/dev/stderr for writing", "/dev/stderr", os.O_WRONLY)
probe("/dev/stdin for reading", "/dev/stdin", os.O_RDONLY)
probe("the control socket", "/proc/self/fd/3", os.O_RDWR)
owners = {os.fstat(number).st_uid for number in range(3)}
tell("streams are owned by", "us" if owners == {os.getuid()} else str(owners))
