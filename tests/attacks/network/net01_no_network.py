# claim: Without a network in the policy there is no internet socket to be had, and a unix socket reaches nobody outside.
# case: NET-01, NET-02, NET-03, NET-04, NET-07, NET-08
# class: Exfil
# control: without network namespace, socket filter, landlock
# expect: tcp to a listener of the host = EAFNOSUPPORT -> ok
# expect: tcp6 to a listener of the host = EAFNOSUPPORT -> ok
# expect: tcp to 0.0.0.0 = EAFNOSUPPORT -> ok
# expect: udp to a socket of the host = EAFNOSUPPORT -> ok
# expect: an abstract socket of the host = ECONNREFUSED -> ok
# expect: an abstract datagram to the host = ECONNREFUSED -> ok
# expect: a path socket of the host = ENOENT -> ENOENT
# expect: the metadata service = EAFNOSUPPORT -> ECONNREFUSED
# expect: a public name server = EAFNOSUPPORT -> ok
# expect: resolve a name = gaierror
import errno
import json
import socket
import sys

given = {"tcp": 1, "tcp6": 1, "udp": 1, "abstract": "x", "socket": "/x"}
facts = json.loads(sys.argv[1]) if len(sys.argv) > 1 else given


def probe(name, call):
    try:
        call()
        saw = "ok"
    except socket.gaierror:
        saw = "gaierror"
    except OSError as error:
        saw = errno.errorcode.get(error.errno, type(error).__name__)
    print(json.dumps({"probe": name, "saw": saw}))


def connect(family, kind, address):
    with socket.socket(family, kind) as made:
        made.settimeout(0.2)
        made.connect(address)
        made.send(b"out")


probe("tcp to a listener of the host", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", facts["tcp"])))
probe("tcp6 to a listener of the host", lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", facts["tcp6"])))
probe("tcp to 0.0.0.0", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", facts["tcp"])))
probe("udp to a socket of the host", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", facts["udp"])))
probe("an abstract socket of the host", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + facts["abstract"]))
probe("an abstract datagram to the host", lambda: connect(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + facts["abstract"] + "-dgram"))
probe("a path socket of the host", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, facts["socket"]))
# Where the wall is taken away these two only make a socket: a test sends nothing beyond its machine.
probe("the metadata service", lambda: socket.socket().close() or connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 9)))
probe("a public name server", lambda: socket.socket(type=socket.SOCK_DGRAM).close())
probe("resolve a name", lambda: socket.getaddrinfo("canary.invalid", 80))
