# claim: A jar with a loopback reaches itself and nothing else: neither the host's loopback nor any other address.
# case: NET-01, NET-02, NET-03, NET-04, NET-07, NET-11
# class: Exfil
# given: loopback
# control: without network namespace, landlock
# expect: tcp to a listener of the host = ECONNREFUSED -> ok
# expect: tcp6 to a listener of the host = ECONNREFUSED -> ok
# expect: udp to a socket of the host = ECONNREFUSED -> ok
# expect: an abstract socket of the host = ECONNREFUSED -> ok
# expect: itself = ok
# expect: interfaces = lo -> !lo
# expect: routes = 0 -> !0
# expect: addresses of hardware = none -> !none
# expect: /sys/class/net = ENOENT
# expect: tcp to a public address = ENETUNREACH -> not tried
# expect: udp to a public name server = ENETUNREACH -> not tried
# expect: tcp to the metadata service = ENETUNREACH -> not tried
# expect: tcp6 to the metadata service = ENETUNREACH -> not tried
# expect: tcp to a private address = ENETUNREACH -> not tried
import errno
import fcntl
import json
import os
import socket
import sys

facts = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {"tcp": 1, "tcp6": 1, "udp": 1, "abstract": "x"}
routes = len(open("/proc/net/route").read().splitlines()) - 1


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def probe(name, family, kind, address):
    # With the host's routes a test would send something beyond its machine.
    if address[0][0] not in "\0" and address[0] not in ("127.0.0.1", "::1") and routes > 0:
        return tell(name, "not tried")
    try:
        with socket.socket(family, kind) as made:
            made.settimeout(0.5)
            made.connect(address)
            made.send(b"out")
            if kind == socket.SOCK_DGRAM:
                # A refusal comes with the next call.
                made.send(b"out")
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode.get(error.errno, type(error).__name__)
    tell(name, saw)


STREAM, DATAGRAM, V4, V6 = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.AF_INET, socket.AF_INET6
probe("tcp to a listener of the host", V4, STREAM, ("127.0.0.1", facts["tcp"]))
probe("tcp6 to a listener of the host", V6, STREAM, ("::1", facts["tcp6"]))
probe("udp to a socket of the host", V4, DATAGRAM, ("127.0.0.1", facts["udp"]))
probe("an abstract socket of the host", socket.AF_UNIX, STREAM, "\0" + facts["abstract"])
server = socket.create_server(("127.0.0.1", 0))
probe("itself", V4, STREAM, server.getsockname())
tell("interfaces", " ".join(sorted(line.split(":")[0].strip() for line in list(open("/proc/net/dev"))[2:])))
tell("routes", str(routes))
names = (line.split(":")[0].strip() for line in list(open("/proc/net/dev"))[2:])
hardware = [fcntl.ioctl(server, 0x8927, name.encode().ljust(40, b"\0"))[18:24].hex() for name in names]
tell("addresses of hardware", " ".join(address for address in hardware if address.strip("0")) or "none")
try:
    tell("/sys/class/net", str(os.listdir("/sys/class/net")))
except OSError as error:
    tell("/sys/class/net", errno.errorcode[error.errno])
probe("tcp to a public address", V4, STREAM, ("1.1.1.1", 443))
probe("udp to a public name server", V4, DATAGRAM, ("8.8.8.8", 53))
probe("tcp to the metadata service", V4, STREAM, ("169.254.169.254", 80))
probe("tcp6 to the metadata service", V6, STREAM, ("fd00:ec2::254", 80))
probe("tcp to a private address", V4, STREAM, ("10.0.0.1", 80))
