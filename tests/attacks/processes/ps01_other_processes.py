# claim: /proc shows the jar's processes alone; a process of the host is not there even by its number.
# case: PS-01
# class: HostLeak
# control: without pid namespace, landlock
# expect: processes = 1, 2 -> !1, 2
# expect: a process of the host = ENOENT -> ok
# expect: its command line = ENOENT -> ok
# expect: our own number = 2 -> !2
# expect: our parent = 1 -> !1
# expect warm: our parent = 0
import errno
import json
import os
import sys

decoy = json.loads(sys.argv[1])["decoy"] if len(sys.argv) > 1 else 4000


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def probe(name, call):
    try:
        call()
        tell(name, "ok")
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


tell("processes", ", ".join(sorted(name for name in os.listdir("/proc") if name.isdigit())[:100]))
probe("a process of the host", lambda: os.stat(f"/proc/{decoy}"))
probe("its command line", lambda: open(f"/proc/{decoy}/cmdline").read())
tell("our own number", str(os.getpid()))
tell("our parent", str(os.getppid()))
