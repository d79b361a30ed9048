"""The Python package in a plain user's session: jars are limited as a whole, and the program is not moved."""

import json
import os
import subprocess
import sys
from pathlib import Path

import belljar


def own() -> str:
    return Path("/proc/self/cgroup").read_text().strip()


GREEDY = """
import mmap
data = mmap.mmap(-1, 700 << 20)
for at in range(0, 700 << 20, 4096):
    data[at] = 1
"""


def main() -> None:
    before = own()
    found = {"from": before}
    found["control"] = belljar.run(GREEDY, memory="1G", timeout=120).status
    outcome = belljar.run(GREEDY, memory="128M", timeout=120)
    found["limit"] = outcome.limit
    found["layer"] = outcome.isolation.layers["cgroup"]["state"]
    found["moved"] = own() != before
    # In a pid namespace of its own, this user's manager would take our pid for somebody else's: it is not asked.
    alone = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc"]
    bystander = subprocess.Popen(["sleep", "1000"])
    seen = Path(f"/proc/{bystander.pid}/cgroup").read_text()
    done = subprocess.run([*alone, os.environ["BELLJAR_BIN"], "cgroup"], capture_output=True, text=True)
    found["in a pid namespace"] = done.stdout.strip() or done.stderr.strip()
    found["bystander moved"] = Path(f"/proc/{bystander.pid}/cgroup").read_text() != seen
    bystander.kill()
    bystander.wait()
    print(json.dumps(found), file=sys.stdout)


main()
