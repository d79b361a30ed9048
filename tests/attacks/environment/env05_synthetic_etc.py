# claim: Users, groups, hosts, name servers and time are made up and the same everywhere.
# case: ENV-05, NET-04
# class: HostLeak
# control: without synthetic etc, landlock
# expect: users = guest -> !guest
# expect: groups = guest -> !guest
# expect: /etc/hosts = 127.0.0.1 localhost belljar ::1 localhost belljar -> !127.0.0.1 localhost belljar ::1 localhost belljar
# expect: /etc/resolv.conf = empty -> !empty
# expect: time zone = UTC
# expect: encoding = utf-8
# expect: shadow, gshadow, sudoers, ssh = absent
import json
import os
import sys
import time


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


def names(path):
    with open(path) as file:
        return " ".join(line.split(":")[0] for line in file)


tell("users", names("/etc/passwd"))
tell("groups", names("/etc/group"))
tell("/etc/hosts", " ".join(open("/etc/hosts").read().split()))
tell("/etc/resolv.conf", open("/etc/resolv.conf").read() or "empty")
tell("time zone", time.tzname[0])
tell("encoding", sys.getfilesystemencoding())
secret = [name for name in ("shadow", "gshadow", "sudoers", "ssh") if os.path.lexists(f"/etc/{name}")]
tell("shadow, gshadow, sudoers, ssh", " ".join(secret) or "absent")
