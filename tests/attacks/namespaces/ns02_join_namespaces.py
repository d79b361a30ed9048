# claim: No namespace can be entered: not one's own again, not init's, not by a pidfd.
# case: NS-02
# class: Escape
# control: without seccomp, privileges, landlock
# expect: our own net = EPERM -> ok
# expect: our own uts = EPERM -> ok
# expect: our own ipc = EPERM -> ok
# expect: our own mnt = EPERM -> ok
# expect: our own cgroup = EPERM -> ok
# expect: by a pidfd of our child = EPERM -> ok
# expect: open init's net = EACCES
# expect: parent of our user namespace = ENOTTY -> EPERM
import ctypes
import errno
import fcntl
import json
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
SETNS, NS_GET_PARENT, CLONE_NEWNET = 308, 0xB702, 0x40000000


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def setns(opened, kind):
    result = libc.syscall(SETNS, opened, kind)
    return "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()]


for kind in ("net", "uts", "ipc", "mnt", "cgroup"):
    tell(f"our own {kind}", setns(os.open(f"/proc/self/ns/{kind}", os.O_RDONLY), 0))
child = os.fork()
if child == 0:
    time.sleep(10)
tell("by a pidfd of our child", setns(os.pidfd_open(child), CLONE_NEWNET))
os.kill(child, 9)
try:
    os.open("/proc/1/ns/net", os.O_RDONLY)
    tell("open init's net", "ok")
except OSError as error:
    tell("open init's net", errno.errorcode[error.errno])
try:
    fcntl.ioctl(os.open("/proc/self/ns/user", os.O_RDONLY), NS_GET_PARENT)
    tell("parent of our user namespace", "ok")
except OSError as error:
    tell("parent of our user namespace", errno.errorcode[error.errno])
