# claim: Locks that outlive the process which made them are counted as well.
# case: RS-17
# class: HostDoS
# control: without seccomp, landlock
# expect: leave shared locks behind = ENOLCK -> ok
# expect: lock ranges and end = ok
import errno
import fcntl
import json
import os

MANY = 500


def in_child(call):
    child = os.fork()
    if child == 0:
        try:
            call()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tell(name, each):
    saw = next(filter(None, map(each, range(MANY))), 0)
    print(json.dumps({"probe": name, "saw": errno.errorcode.get(saw, "ok")}))


own, held = os.open("/tmp/file", os.O_RDWR | os.O_CREAT), []


def shared(_):
    # The lock is the open file's, and this process has that too.
    held.append(os.open("/tmp/file", os.O_RDONLY))
    return in_child(lambda: fcntl.flock(held[-1], fcntl.LOCK_SH))


# These end with their process, and make room.
tell("lock ranges and end", lambda number: in_child(lambda: fcntl.lockf(own, fcntl.LOCK_EX, 1, 2 * number)))
tell("leave shared locks behind", shared)
