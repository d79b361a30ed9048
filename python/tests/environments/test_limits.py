"""What a build may take: time, and files that are too large. docs/reference/attacks.md: DP-04."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import until

from .desk import PYTHON, UV, Desk, everything, message, python, remove, uv
from .hostile import pigeons
from .index import Index
from .packages import bomb, wheel

VERSION = "import lib; print(lib.version)"
PIGEONS = 13


def running(folder: Path) -> list[int]:
    """Processes of uv that have a cache in this folder mounted: in a jar its path stands nowhere else."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            mounts = (entry / "mountinfo").read_text() if entry.name.isdigit() else ""
            if f"{folder.parent.name}/{folder.name}/" in mounts and os.path.samefile(entry / "exe", UV):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_resolver_bomb_ends_with_the_limit_by_its_name(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib"), *pigeons(PIGEONS))
    wishes = [word for number in range(PIGEONS) for word in ("--with", f"pigeon{number}")]
    begun = time.monotonic()
    build = each_desk.start("run", "--python", PYTHON, *wishes, "-c", "print('ran')", BELLJAR_BUILD_TIMEOUT="3s")
    # Control: it is seen while it runs.
    until(lambda: running(each_desk.folder))
    told = build.communicate(timeout=100)
    took = time.monotonic() - begun
    assert (build.returncode, told[0], message(told[1])) == (
        125,
        "",
        "belljar: the build was ended: it took longer than 3s; "
        "name versions to make it easier, or allow more time with BELLJAR_BUILD_TIMEOUT\n",
    )
    assert index.count("/simple/pigeon0/") > 0 and 3 <= took < 30, took
    assert running(each_desk.folder) == []
    assert each_desk.environments() == [] and each_desk.staging() == []
    assert each_desk.run(VERSION, "--with", "lib", BELLJAR_BUILD_TIMEOUT="60s") == "1\n"


def test_plain_uv_takes_longer_than_that(index: Index, tmp_path: Path) -> None:
    """The control of the test above: nothing but the limit ends it."""
    index.add(*pigeons(PIGEONS))
    (tmp_path / "wishes.txt").write_text("".join(f"pigeon{number}\n" for number in range(PIGEONS)))
    with pytest.raises(subprocess.TimeoutExpired):
        uv(tmp_path, index.url, "pip", "compile", "--python", PYTHON, tmp_path / "wishes.txt", seconds=9)


def test_fewer_pigeons_are_told_apart(desk: Desk, index: Index) -> None:
    """The control of both: these packages are what they should be, and uv finds that they do not fit."""
    index.add(*pigeons(3))
    told = desk.refused("--with", "pigeon0", "--with", "pigeon1", "--with", "pigeon2")
    assert told.startswith("belljar: no versions fit together: "), told
    assert desk.run("import pigeon0", "--with", "pigeon0", "--with", "pigeon1") == ""


@pytest.mark.parametrize(
    ("name", "value", "example"),
    [
        ("BELLJAR_BUILD_TIMEOUT", "soon", "90s, 10m or none"),
        ("BELLJAR_BUILD_TIMEOUT", "0s", "90s, 10m or none"),
        ("BELLJAR_CACHE_SIZE", "much", "5G"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(name: str, value: str, example: str, desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    told = desk.refused("--with", "lib", **{name: value})
    assert told == f'belljar: {name} is "{value}", which cannot be used; write it as {example}\n'
    assert index.asked == []
    program = "from belljar import run, DependencyError\ntry: run('0', dependencies=['lib'])\nexcept DependencyError as error: print(error.message)"
    assert f'{name} is "{value}"' in python(desk, program, **{name: value})


def test_no_limit_is_a_limit_too(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    assert desk.run(VERSION, "--with", "lib", BELLJAR_BUILD_TIMEOUT="none") == "1\n"


def test_callers_of_the_package_have_the_limit(desk: Desk, index: Index) -> None:
    index.add(*pigeons(PIGEONS))
    wishes = [f"pigeon{number}" for number in range(PIGEONS)]
    program = (
        "from belljar import run, DependencyError\n"
        f"try: run('0', dependencies={wishes})\n"
        "except DependencyError as error: print(error.message)"
    )
    assert "longer than 1500ms" in python(desk, program, BELLJAR_BUILD_TIMEOUT="1.5s")
    assert desk.staging() == []


@pytest.fixture
def on_disk(desk: Desk) -> Iterator[Desk]:
    """The same with a cache that is no memory, as /tmp may be."""
    with tempfile.TemporaryDirectory(prefix="belljar-desk-", dir="/var/tmp") as folder:
        desk.cache = Path(folder, "cache")
        yield desk
        remove(desk.cache)


def test_a_file_over_four_gibibytes(on_disk: Desk, index: Index) -> None:
    """Four megabytes to download. The limit is told by its name, and nothing of what was written stays."""
    index.add(artifact := bomb("lib", (4 << 30) + 1), wheel("other"))
    assert len(artifact.data) < 5 << 20
    told = on_disk.refused("--with", "lib")
    assert told == (
        "belljar: the build was ended: a file of a package is larger than 4 GiB; ask for fewer or smaller packages\n"
    )
    assert index.count(artifact.filename) > 0
    assert on_disk.environments() == [] and on_disk.staging() == []
    assert sum(path.lstat().st_blocks * 512 for path in everything(on_disk.cache)) < 1 << 20
    assert on_disk.run("import other; print(other.version)", "--with", "other") == "1\n"
