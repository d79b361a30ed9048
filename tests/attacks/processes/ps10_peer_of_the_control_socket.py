# claim: Through its control socket a guest learns nothing of the warden and cannot signal it, even with a handle from the kernel.
# case: PS-03, CP-01
# class: HostDoS
# control: without pid namespace, landlock
# expect: number of the peer = 0 -> !0
# expect root: user of the peer = 65534
# expect warm root: user of the peer = 1000
# expect user: user of the peer = 1000
# expect root: signal the peer by a handle = EINVAL -> EPERM
# expect user: signal the peer by a handle = EINVAL -> ok
# expect: number in the handle = 0 -> !0
# expect: take a descriptor by the handle = ENOSYS
# expect: enter its namespaces by the handle = EPERM
import ctypes
import errno
import json
import os
import socket
import struct

libc = ctypes.CDLL(None, use_errno=True)
SO_PEERPIDFD, PIDFD_SEND_SIGNAL, PIDFD_GETFD, SETNS = 77, 424, 438, 308
control = socket.socket(fileno=os.dup(3))


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def call(name, number, *arguments):
    result = libc.syscall(number, *arguments)
    tell(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])


pid, uid, _ = struct.unpack("iII", control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
tell("number of the peer", str(pid))
tell("user of the peer", str(uid))
handle = control.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
info = dict(line.split(":\t") for line in open(f"/proc/self/fdinfo/{handle}").read().splitlines())
tell("number in the handle", "0" if info["Pid"] in ("0", "-1") else info["Pid"])
# Signal 0 asks for the permission alone.
call("signal the peer by a handle", PIDFD_SEND_SIGNAL, handle, 0, None, 0)
call("take a descriptor by the handle", PIDFD_GETFD, handle, 0, 0)
call("enter its namespaces by the handle", SETNS, handle, 0x20000)
