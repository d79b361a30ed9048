"""An environment that is there is compared with what it was while the interpreter of a run starts. Nothing of it is used before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .desk import PYTHON, Desk
from .index import Index
from .packages import wheel

GENUINE = "version = 'genuine'\n"
# Whoever runs this leaves a trace on the host.
HARMFUL = "open('/shared/canary', 'w').close()\nversion = 'harmful'\n"
CODE = "import sys; sys.path.append('/shared'); import lib; print(lib.version, sys.stdin.read())"


def tamper(path: Path) -> None:
    path.chmod(0o644)
    path.write_text(HARMFUL)


def run(desk: Desk, *words: str | Path) -> str:
    """What a run prints that could leave a canary in a folder of the host, and is given something to read."""
    work = desk.folder / "work"
    work.mkdir(exist_ok=True)
    if desk.uid is not None:
        os.chown(work, desk.uid, desk.uid)
    started = desk.start("run", "--python", PYTHON, "--mount", f"{work}:/shared:rw", *words, "-c", CODE)
    out, err = started.communicate("typed", timeout=100)
    assert started.returncode == 0, err
    return out


def canary(desk: Desk) -> bool:
    path = desk.folder / "work" / "canary"
    left = path.exists()
    path.unlink(missing_ok=True)
    return left


# One that the start of an interpreter does not touch, and one that it runs by itself: that one is compared before.
@pytest.mark.parametrize("more", [{}, {"lib.pth": "import lib\n"}], ids=["imported", "by_itself"])
def test_what_was_tampered_with_never_runs(more: dict[str, str], each_desk: Desk, index: Index) -> None:
    desk = each_desk
    index.add(wheel("lib", files={"lib/__init__.py": GENUINE, **more}))
    assert run(desk, "--with", "lib") == "genuine typed\n"
    tamper(desk.file("__init__.py"))
    assert run(desk, "--with", "lib") == "genuine typed\n", "and what was typed is still there for the second start"
    assert not canary(desk)
    # Control: the same text where nobody compares it.
    (desk.folder / "work" / "lib.py").write_text(HARMFUL)
    assert run(desk) == "harmful typed\n"
    assert canary(desk)


def test_the_time_of_a_job_is_still_limited(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", files={"lib/__init__.py": GENUINE}))
    run(desk, "--with", "lib")
    told = desk.call("run", "--python", PYTHON, "--with", "lib", "--timeout", "1s", "-c", "while True: pass")
    assert (told.returncode, "timed out after 1 s" in told.stderr) == (124, True), told


def test_a_guest_that_ends_before_the_answer_hides_nothing(desk: Desk, index: Index) -> None:
    """Its interpreter ends at its first look at a variable, long before so many files have been compared."""
    many = {f"lib/{number}.txt": "" for number in range(8000)}
    index.add(wheel("lib", files={"lib/__init__.py": GENUINE, **many}))
    run(desk, "--with", "lib")
    tamper(desk.file("__init__.py"))
    told = desk.call("run", "--python", PYTHON, "--with", "lib", "--env", "PYTHONMALLOC=none", "-c", CODE)
    assert told.returncode == 1 and "unknown allocator" in told.stderr, told
    assert desk.file("__init__.py").read_text() == GENUINE
