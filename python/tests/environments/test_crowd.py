"""Many builders at once, builders that are killed, and disks that are full. docs/reference/attacks.md: DP-07."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import alive, until

from .desk import PYTHON, UV, Desk, message, uv
from .index import Index, Offer
from .packages import Entry, bomb, wheel

VERSION = "import lib; print(lib.version)"


def builders(ancestor: int) -> list[int]:
    """Processes of uv that a process, or one that it started, has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.path.samefile(entry / "exe", UV) and ancestor in ancestors(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid


def test_twenty_ask_and_one_builds(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib"), wheel("alone"))
    each_desk.run("import alone", "--with", "alone")
    # What one build asks for.
    one = index.count("/simple/alone/")
    crowd = [each_desk.start("run", "--python", PYTHON, "--with", "lib", "-c", VERSION) for _ in range(20)]
    told = [one.communicate(timeout=100) for one in crowd]
    assert [out for out, _ in told] == ["1\n"] * 20, told
    assert 0 < index.count("/simple/lib/") <= one, index.asked
    assert len(each_desk.environments()) == 2 and each_desk.staging() == []


def test_two_resolutions_ask_twice(index: Index, tmp_path: Path) -> None:
    """The control of the count above: uv's own cache does not hide a second resolution."""
    index.add(wheel("lib"))
    (tmp_path / "wishes.txt").write_text("lib\n")
    for _ in range(2):
        uv(tmp_path, index.url, "pip", "compile", "--quiet", "--python", PYTHON, tmp_path / "wishes.txt")
    assert index.count("/simple/lib/") == 2


def test_conflicting_sets_at_once(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    wanted = [str(1 + number % 2) for number in range(8)]
    crowd = [desk.start("run", "--python", PYTHON, "--with", f"lib=={version}", "-c", VERSION) for version in wanted]
    told = [one.communicate(timeout=100) for one in crowd]
    assert [out.strip() for out, _ in told] == wanted, told
    assert len(desk.environments()) == 2


def test_killed_at_any_instant(each_desk: Desk, index: Index) -> None:
    """No half environment, nothing that goes on, nothing left for long, and the next build works."""
    files = {f"lib/m{number}.py": f"x = {number}\n" for number in range(100)}
    index.add(wheel("lib", files={"lib/__init__.py": "from . import m99\nversion = m99.x\n", **files}))
    start = time.monotonic()
    each_desk.run(VERSION, "--with", "lib")
    whole = time.monotonic() - start
    chance = random.Random(5)
    for turn in range(turns := 10 if each_desk.uid is None else 3):
        assert each_desk.call("env", "prune", "--all").returncode == 0
        assert each_desk.environments() == []
        # Somewhere in each part of the time that a build takes.
        victim = each_desk.start("run", "--python", PYTHON, "--with", "lib", "--refresh", "-c", VERSION)
        time.sleep(whole * (turn + chance.random()) / turns)
        victim.send_signal(signal.SIGKILL)
        victim.communicate(timeout=60)
        for environment in each_desk.environments():
            assert len(list(environment.rglob("m*.py"))) >= 100, "it is whole, or it is not there"
        assert each_desk.run(VERSION, "--with", "lib") == "99\n"
        assert each_desk.staging() == [], "the next build sweeps what the killed one left"
    assert len(each_desk.environments()) == 1


@pytest.fixture
def gate(index: Index) -> Iterator[None]:
    yield
    for offers in index.offers.values():
        for offer in offers:
            if offer.gate is not None:
                offer.gate.set()


def test_nothing_of_a_killed_build_goes_on(desk: Desk, index: Index, gate: None) -> None:
    offer = index.offer(Offer(wheel("lib", "1"), gate=threading.Event()))
    victim = desk.start("run", "--python", PYTHON, "--with", "lib", "-c", VERSION)
    assert offer.begun.wait(60)
    # Control: it is seen while it runs.
    running = builders(victim.pid)
    assert running
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=60)
    until(lambda: not any(map(alive, running)))
    assert desk.environments() == []
    assert offer.gate is not None
    offer.gate.set()
    assert desk.run(VERSION, "--with", "lib") == "1\n"
    assert desk.staging() == []


def test_one_that_waits_goes_on_when_the_builder_is_killed(desk: Desk, index: Index, gate: None) -> None:
    offer = index.offer(Offer(wheel("lib", "1"), gate=threading.Event()))
    first = desk.start("run", "--python", PYTHON, "--with", "lib", "-c", VERSION)
    assert offer.begun.wait(60)
    second = desk.start("run", "--python", PYTHON, "--with", "lib", "-c", VERSION)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    assert offer.gate is not None
    offer.gate.set()
    out, err = second.communicate(timeout=100)
    assert out == "1\n", err


@pytest.mark.parametrize("processors", [1, 2])
def test_sets_of_one_command_are_built_at_once(processors: int, desk: Desk, index: Index, gate: None) -> None:
    """At most as many as there are processors: with one, the second begins when the first is done."""
    offers = [index.offer(Offer(wheel(name), gate=threading.Event())) for name in ("one", "two")]
    for name in ("one", "two"):
        (desk.folder / f"{name}.txt").write_text(f"{name}\n")
    mine = sorted(os.sched_getaffinity(0))[:processors]
    assert len(mine) == processors, "this test needs two processors"
    words = desk.words("env", "build", "-r", "one.txt", "-r", "two.txt", "--python", PYTHON)
    build = subprocess.Popen(
        ["taskset", "--cpu-list", ",".join(map(str, mine)), *words],
        env=desk.environment(), cwd=desk.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert offers[0].begun.wait(60)
    # What would be a second build has a second to begin; with two processors it must.
    assert offers[1].begun.wait(1 if processors == 1 else 60) == (processors == 2)
    for offer in offers:
        assert offer.gate is not None
        offer.gate.set()
    out, err = build.communicate(timeout=100)
    assert build.returncode == 0 and len(out.splitlines()) == 3, err
    assert err.count(" built: 1 package, ") == 2 and len(desk.environments()) == 2, err


# Runs a command with a cache folder on a disk of its own, and tells its exit code and how many environments, whole or half, are there.
ON_A_DISK = """
mount -t tmpfs -o size="$1",mode=700 none "$BELLJAR_CACHE_DIR" || exit 99
shift
"$@"; echo "code $?"
cd "$BELLJAR_CACHE_DIR" && find environments uv/building builds -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
"""


def on_a_disk(size: str, desk: Desk) -> subprocess.CompletedProcess[str]:
    desk.cache.mkdir(mode=0o700)
    own = ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    return subprocess.run(
        [*own, "sh", "-c", ON_A_DISK, "sh", size, *desk.words("run", "--python", PYTHON, "--with", "lib", "-c", VERSION)],
        env=desk.environment(), capture_output=True, text=True, timeout=100,
    )  # fmt: skip


@pytest.mark.parametrize("size", ["3M", "200M"])
def test_a_full_disk(size: str, desk: Desk, index: Index) -> None:
    """The large one is the control."""
    index.add(wheel("lib", entries=[Entry("lib.bin", os.urandom(8 << 20))]))
    told = on_a_disk(size, desk)
    if size == "3M":
        assert told.stdout == "code 125\n0\n", told
        assert "BELLJAR_CACHE_DIR" in told.stderr and message(told.stderr).count("\n") == 1, told.stderr
    else:
        assert told.stdout == "1\ncode 0\n1\n", told


@pytest.mark.parametrize("size", [1 << 30, 1 << 24])
def test_a_small_wheel_with_a_huge_file(size: int, desk: Desk, index: Index) -> None:
    """A megabyte to download, and a gibibyte to write. It ends with the limit by its name; the small one is the control."""
    index.add(artifact := bomb("lib", size))
    assert len(artifact.data) < 2 << 20
    told = on_a_disk("100M", desk)
    if size == 1 << 30:
        assert told.stdout == "code 125\n0\n", told
        assert "disk" in told.stderr and message(told.stderr).count("\n") == 1, told.stderr
    else:
        assert told.stdout == "1\ncode 0\n1\n", told
