# claim: The guest leads a session of its own without a terminal, and its streams are pipes.
# case: TTY-01, TTY-03, TTY-04
# class: Escape
# observe: session
# expect: streams = pipe pipe pipe
# expect: session = our own
# expect: controlling terminal = ENOENT
# expect: terminal of the session = ENOTTY
import errno
import json
import os
import stat
import sys


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def kind(number):
    return "pipe" if stat.S_ISFIFO(os.fstat(number).st_mode) else "other"


tell("streams", " ".join(kind(number) for number in range(3)))
tell("session", "our own" if os.getsid(0) == os.getpid() == os.getpgrp() else "another")
try:
    os.open("/dev/tty", os.O_RDWR)
    tell("controlling terminal", "ok")
except OSError as error:
    tell("controlling terminal", errno.errorcode[error.errno])
try:
    tell("terminal of the session", str(os.tcgetpgrp(0)))
except OSError as error:
    tell("terminal of the session", errno.errorcode[error.errno])
print('{"ready": true}', flush=True)
sys.stdin.read()
