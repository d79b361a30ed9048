# claim: The guest sees no path of the host's cgroups, and no cgroup file system to change.
# case: NS-03, PF-03
# class: HostLeak
# control: without cgroup namespace
# expect: paths = / -> !/
# expect: cgroup file systems = none
# expect: /sys/fs/cgroup = ENOENT
import errno
import json
import os


def tell(name, saw):
    print(json.dumps({"probe": name, "saw": saw}))


tell("paths", " ".join(sorted({line.rstrip("\n").split(":", 2)[2] for line in open("/proc/self/cgroup")})))
kinds = {line.split(" - ")[1].split()[0] for line in open("/proc/self/mountinfo")}
tell("cgroup file systems", " ".join(kind for kind in sorted(kinds) if kind.startswith("cgroup")) or "none")
try:
    tell("/sys/fs/cgroup", str(os.listdir("/sys/fs/cgroup")))
except OSError as error:
    tell("/sys/fs/cgroup", errno.errorcode[error.errno])
