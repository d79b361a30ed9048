# claim: Even on the host's own network a guest reaches no abstract socket of the host, by any kind of message.
# case: NET-07
# class: Escape
# given: host network
# control: without landlock
# expect: stream = EPERM -> ok
# expect: datagram = EPERM -> ok
# expect: sendto = EPERM -> ok
# expect: sendmsg = EPERM -> ok
# expect: its own = ok
import errno
import json
import socket
import sys

name = "\0" + (json.loads(sys.argv[1])["abstract"] if len(sys.argv) > 1 else "x")


def probe(label, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": label, "saw": saw}))


def unix(kind):
    return socket.socket(socket.AF_UNIX, kind)


probe("stream", lambda: unix(socket.SOCK_STREAM).connect(name))
probe("datagram", lambda: unix(socket.SOCK_DGRAM).connect(name + "-dgram"))
probe("sendto", lambda: unix(socket.SOCK_DGRAM).sendto(b"out", name + "-dgram"))
probe("sendmsg", lambda: unix(socket.SOCK_DGRAM).sendmsg([b"out"], [], 0, name + "-dgram"))
server = unix(socket.SOCK_STREAM)
server.bind("")
server.listen()
probe("its own", lambda: unix(socket.SOCK_STREAM).connect(server.getsockname()))
