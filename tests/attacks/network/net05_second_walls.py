# claim: Should the filter let an internet socket through, Landlock refuses TCP, and the empty network has no way for the rest.
# case: NET-01, NET-02
# class: Exfil
# given: without socket filter
# control: without landlock, network namespace
# expect: connect over tcp = EACCES -> ok
# expect: listen on tcp = EACCES -> ok
# expect: send over udp = ENETUNREACH -> ok
import errno
import json
import socket
import sys

facts = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {"tcp": 1, "udp": 1}


def probe(name, call):
    try:
        call()
        saw = "ok"
    except OSError as error:
        saw = errno.errorcode[error.errno]
    print(json.dumps({"probe": name, "saw": saw}))


probe("connect over tcp", lambda: socket.socket().connect(("127.0.0.1", facts["tcp"])))
probe("listen on tcp", lambda: socket.socket().bind(("127.0.0.1", 0)))
probe("send over udp", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", facts["udp"])))
