# claim: A guest cannot rename the machine, and even one with privileges renames only its own.
# case: NS-04, ENV-04
# class: HostDoS
# control: without seccomp, privileges, landlock
# expect: set the host name = EPERM -> ok
# expect: set the domain name = EPERM -> ok
# expect: through /proc = ENOENT
import ctypes
import errno
import json
import os

libc = ctypes.CDLL(None, use_errno=True)


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def answer(result):
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


tell("set the host name", answer(libc.sethostname(b"taken", 5)))
tell("set the domain name", answer(libc.setdomainname(b"taken", 5)))
try:
    os.write(os.open("/proc/sys/kernel/hostname", os.O_WRONLY), b"taken")
    tell("through /proc", "ok")
except OSError as error:
    tell("through /proc", errno.errorcode[error.errno])
