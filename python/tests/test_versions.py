"""The package on every supported version of Python, with the guest of the same version."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest
from support import skip

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
PROGRAM = """
import asyncio, pickle, sys
from dataclasses import dataclass
import belljar
from belljar import Sandbox, SandboxExecutor, sandbox

RATE = 2

@dataclass
class Point:
    x: int

@sandbox
def scale(point: Point, by: int = 1) -> Point:
    print("scaling")
    return Point(point.x * RATE * by)

@sandbox
async def later(x):
    await asyncio.sleep(0)
    return (sys.version_info[:2], x)

@sandbox
def fails():
    raise KeyError("k")

class Thing:
    @sandbox
    def method(self, x): return x + 1

if __name__ == "__main__":
    assert scale(Point(3), by=2) == Point(12)
    assert asyncio.run(later(1)) == (sys.version_info[:2], 1)
    assert list(scale.map([Point(1), Point(2)])) == [Point(2), Point(4)]
    assert Thing().method(1) == 2
    try: fails()
    except KeyError as error:
        assert isinstance(error, belljar.GuestError) and error.args == ("k",)
        assert type(pickle.loads(pickle.dumps(error))) is type(error)
    else: raise SystemExit("it did not fail")
    outcome = belljar.run("import sys\\nsys.version_info[:2]", timeout=20)
    assert outcome.value == sys.version_info[:2], outcome
    with Sandbox() as box: assert box.call(pow, 2, 3) == 8
    with SandboxExecutor(2) as executor: assert list(executor.map(abs, [-1, -2])) == [1, 2]
    print("fine")
"""


def interpreters() -> dict[str, str]:
    """Real interpreters, by version; a shim of a version manager is none."""
    found = {OWN: sys.executable}
    for version in VERSIONS:
        places = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")]
        path = shutil.which(f"python{version}")
        if path is not None and ".pyenv" not in path:
            places.append(Path(path))
        if places:
            found.setdefault(version, str(sorted(places)[-1]))
    return found


@pytest.mark.parametrize("version", sorted({*VERSIONS, OWN}))
def test_a_version(version: str, tmp_path: Path) -> None:
    if version not in interpreters():
        skip("interpreters")
    shutil.copytree(Path(cloudpickle.__file__).parent, tmp_path / "site" / "cloudpickle")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(tmp_path / "site")])}
    words = [interpreters()[version], "-W", "error", str(tmp_path / "program.py")]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert told.stdout.endswith("fine\n"), told.stderr
