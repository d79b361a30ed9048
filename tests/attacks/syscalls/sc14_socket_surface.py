# claim: Parts of sockets that put programs or rare protocols into the kernel, or were ways out of other sandboxes, are closed.
# case: SC-05
# class: Escape
# given: loopback
# control: without seccomp
# expect: attach a packet program = EPERM -> ok
# expect: attach a bpf program = EPERM -> !EPERM
# expect: attach a program that chooses sockets = EPERM -> !EPERM
# expect: another protocol over tcp = EPERM -> !EPERM
# expect: urgent byte over a unix socket = ENOTSUP -> ok
# expect: read an urgent byte = ENOTSUP -> !ENOTSUP
# expect: urgent byte by sendmsg = ENOTSUP -> ok
# expect: ordinary bytes = ok
# expect: ordinary option = ok
import ctypes
import errno
import json
import socket
import struct

one, other = socket.socketpair()
one.settimeout(1)
tcp = socket.socket()


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


# One instruction: take the whole packet.
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF), 8)
packed = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
probe("attach a packet program", lambda: one.setsockopt(socket.SOL_SOCKET, 26, packed))
probe("attach a bpf program", lambda: tcp.setsockopt(socket.SOL_SOCKET, 50, struct.pack("i", -1)))
probe("attach a program that chooses sockets", lambda: tcp.setsockopt(socket.SOL_SOCKET, 51, packed))
probe("another protocol over tcp", lambda: tcp.setsockopt(socket.IPPROTO_TCP, 31, b"tls"))
probe("urgent byte over a unix socket", lambda: one.send(b"x", socket.MSG_OOB))
probe("urgent byte by sendmsg", lambda: one.sendmsg([b"x"], [], socket.MSG_OOB))
probe("read an urgent byte", lambda: other.recv(1, socket.MSG_OOB | socket.MSG_DONTWAIT))
probe("ordinary bytes", lambda: one.send(b"x") and other.recv(1))
probe("ordinary option", lambda: tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1))
