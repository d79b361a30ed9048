"""What is left of a program that made a call and has none to make: its agent, and nothing below that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support import alive, until

PROCESSES = 16
# What an idle agent may take: memory of its own, and with its share of what many agents have in common.
OWN, SHARE = 3 << 20, 6 << 20

# Says what ran while its sandbox was warm, once all of that is given up; and stays until it is told to go.
PROGRAM = """
import json, os, re, sys, time
from belljar import _agent, sandbox
from belljar._rooms import Rooms

STATS, IDLE = 7, 1.0
shared = Rooms.shared
Rooms.shared = lambda self, key, head, load: shared(self, key, {**head, "pool": {"idle": IDLE}}, load)

@sandbox
def double(x): return x * 2

agent = _agent.current()

def pool():
    return agent.answered(STATS).head()["pool"]

def below(pid):
    try:
        tasks = [f"/proc/{pid}/task/{task}/children" for task in os.listdir(f"/proc/{pid}/task")]
        found = [int(child) for path in tasks for child in open(path).read().split()]
    except OSError:
        return []
    return found + [more for child in found for more in below(child)]

# The first call is answered before there is a template; until there is one, this is no test.
assert double(21) == 42
while not pool()["forks"]:
    double(21)
seen, groups = {agent.child}, set()
while True:
    found = below(agent.child)
    seen.update(found)
    for pid in found:
        try:
            # Each of its groups that is belljar's: /belljar-4026531836-…
            groups.update(re.findall("/(belljar-[^/\\n]*)", open(f"/proc/{pid}/cgroup").read()))
        except OSError: pass
    told = pool()
    if not (told["cabinets"] or told["emptying"] or told["making"]):
        break
    time.sleep(0.1)
print(json.dumps({"agent": agent.child, "seen": sorted(seen), "groups": sorted(groups), "pool": told}), flush=True)
sys.stdin.read()
"""


def groups() -> set[str]:
    return {name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith("belljar-")}


def memory(pid: int) -> tuple[int, int]:
    """What is its own and was written, and its share of all, in bytes."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = dict(re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE))
    return int(found["Private_Dirty"]) << 10, int(found["Pss"]) << 10


def test_sixteen_processes_leave_their_idle_cost(tmp_path: Path) -> None:
    import json

    import belljar

    # Where no cgroup can be had there are no groups to be seen, or to be left.
    has_cgroup = belljar.run("1").isolation.layers["cgroup"]["state"] != "absent"
    script = tmp_path / "idle.py"
    script.write_text(PROGRAM)
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, str(script)], stdin=pipe, stdout=pipe, text=True) for _ in range(PROCESSES)
    ]
    try:
        told = [json.loads(process.stdout.readline()) for process in started if process.stdout is not None]
        agents = [each["agent"] for each in told]
        assert len(set(agents)) == PROCESSES
        # The control: each had a cabinet with a template, and some of their processes and groups were seen.
        assert all(each["pool"]["forks"] >= 1 and each["pool"]["retired"] >= 1 for each in told), told
        below = {pid for each in told for pid in each["seen"]} - set(agents)
        assert below and any(each["groups"] for each in told) == has_cgroup
        # All of it is killed; on a busy machine the last of it ends, and its groups are removed, a moment later.
        until(lambda: not [pid for pid in below if alive(pid)])
        until(lambda: not groups() & {name for each in told for name in each["groups"]})
        for agent in agents:
            children = [path.read_text() for path in Path(f"/proc/{agent}/task").glob("*/children")]
            assert not "".join(children).split()
            assert os.readlink(f"/proc/{agent}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
            assert "belljar" not in Path(f"/proc/{agent}/mountinfo").read_text()
            own, share = memory(agent)
            assert own < OWN and share < SHARE, (own, share)
    finally:
        for process in started:
            process.communicate()
    assert [process.returncode for process in started] == [0] * PROCESSES
