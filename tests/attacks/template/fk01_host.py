# claim: A module that is imported in a template sees no file, process or socket of the host, and writes none of its files.
# case: FK-10, FS-01, PS-01, NET-01, ENV-02
# class: HostLeak
# given: preload, canary shown read-only
# control: without root, socket filter
# expect: secret = ENOENT -> canary-7f3a-secret
# expect: secret in the environment = no
# expect: /etc/shadow = ENOENT -> !ENOENT
# expect: a process of the host = ENOENT
# expect: kill a process of the host = ESRCH
# expect: processes = few
# expect: tcp to a listener of the host = EAFNOSUPPORT -> !EAFNOSUPPORT
# expect: an abstract socket of the host = ECONNREFUSED
# expect: a path socket of the host = ENOENT -> !ENOENT
# expect: interfaces = lo
# expect: write what is shown = EROFS
# expect: write the system = EROFS
# expect: write the packages = EROFS
# expect: write our own program = !ok
import errno
import os
import socket
import sys


def probe(name, call):
    try:
        saw = call()
        tell(name, "ok" if saw is None else saw)
    except OSError as error:
        tell(name, errno.errorcode[error.errno])


def reach(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(2)
        connection.connect(address)


if TEMPLATE:
    probe("secret", lambda: open(FACTS["secret"]).read())
    probe("secret in the environment", lambda: "yes" if b"canary-7f3a" in open("/proc/self/environ", "rb").read() else "no")
    probe("/etc/shadow", lambda: open("/etc/shadow").close())
    probe("a process of the host", lambda: os.stat(f"/proc/{FACTS['decoy']}") and None)
    probe("kill a process of the host", lambda: os.kill(FACTS["decoy"], 9))
    others = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid()}
    # The first jars may be on their way.
    tell("processes", "few" if len(others) <= 3 else sorted(others))
    probe("tcp to a listener of the host", lambda: reach(socket.AF_INET, ("127.0.0.1", FACTS["tcp"])))
    probe("an abstract socket of the host", lambda: reach(socket.AF_UNIX, "\0" + FACTS["abstract"]))
    probe("a path socket of the host", lambda: reach(socket.AF_UNIX, "/run/docker.sock"))
    tell("interfaces", " ".join(line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]))
    probe("write what is shown", lambda: open("/canary/file", "w").close())
    probe("write the system", lambda: open("/usr/bin/hostile", "w").close())
    probe("write the packages", lambda: open(os.path.join(os.path.dirname(__file__), "more.py"), "w").close())
    probe("write our own program", lambda: open(os.path.realpath(sys.executable), "r+b").close())
