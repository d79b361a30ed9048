"""Wheels that try to write outside or to run on the host. docs/reference/attacks.md: DP-02."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import zipfile
from pathlib import Path

import pytest

from . import hostile
from .desk import Desk, escaped, message, plain_install
from .index import Index
from .packages import Artifact, Entry, wheel

MARK = f"belljar-mark-{os.getpid()}"
ESCAPING = sorted(hostile.escaping(Path("/x"), MARK))
AT_START = sorted(hostile.at_start(Path("/x")))
ODD = sorted(hostile.odd())


def careless(artifact: Artifact, site: Path) -> None:
    """What an installer does that believes every name it reads, in headers, directory and entry points."""
    scripts = site.parent / "bin"
    scripts.mkdir(parents=True)
    site.mkdir()
    with zipfile.ZipFile(io.BytesIO(artifact.data)) as file:
        for info in file.infolist():
            local = artifact.data[info.header_offset + 30 :][: len(info.filename)].decode()
            for name in {info.filename, local}:
                # What lies in the folder for data goes below the prefix.
                below = name.partition(".data/data/")[2] or name
                path = Path(os.path.normpath(os.path.join(site, below.replace("\\", "/"))))
                path.parent.mkdir(parents=True, exist_ok=True)
                if info.external_attr >> 28 == 0o12 and not path.exists():
                    path.symlink_to(file.read(info))
                else:
                    path.write_bytes(b"harm")
            if info.filename.endswith("entry_points.txt"):
                for line in file.read(info).decode().splitlines():
                    if " = " in line:
                        Path(os.path.normpath(os.path.join(scripts, line.split(" = ")[0]))).write_bytes(b"harm")


@pytest.mark.parametrize("kind", ESCAPING)
def test_no_entry_of_a_wheel_is_written_outside(kind: str, desk: Desk, index: Index, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    artifact = hostile.escaping(outside / MARK, MARK)[kind]
    index.add(artifact)
    told = desk.call("run", "--with", artifact.name, "-c", "print('ran')", UV_HTTP_RETRIES="0")
    assert told.returncode in (0, 125), told.stderr
    assert index.count(artifact.filename) > 0, "the wheel was never fetched"
    assert escaped(MARK, [tmp_path]) == [] and list(outside.iterdir()) == []
    if told.returncode == 125:
        assert artifact.name in told.stderr and message(told.stderr).count("\n") == 1, told.stderr
        assert desk.environments() == []


def test_a_harmless_wheel_is_installed(desk: Desk, index: Index) -> None:
    """The control of the test above: where there is no hostile entry the same words work."""
    index.add(wheel("harmless"))
    assert desk.run("import harmless; print(harmless.version)", "--with", "harmless") == "1\n"


@pytest.mark.parametrize("kind", ESCAPING)
def test_a_careless_installer_writes_outside(kind: str, tmp_path: Path) -> None:
    """The control of the test above: each of these wheels does its harm where nobody takes care, and it is seen."""
    outside = tmp_path / "outside"
    outside.mkdir()
    # As deep as a guard needs that no climb leaves the folder of this test.
    deep = tmp_path.joinpath(*(["deep"] * len(hostile.DEPTHS)))
    careless(hostile.escaping(outside / MARK, MARK)[kind], deep / "env" / "site-packages")
    assert escaped(MARK, [tmp_path]) != []


@pytest.mark.parametrize("kind", AT_START)
def test_no_code_of_a_wheel_runs_on_the_host(kind: str, desk: Desk, index: Index, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    artifact = hostile.at_start(outside / MARK)[kind]
    index.add(artifact)
    told = desk.call("run", "--with", artifact.name, "-c", "print('ran')", UV_HTTP_RETRIES="0")
    assert told.returncode in (0, 125), told.stderr
    for words in (["env", "list"], ["run", "--with", artifact.name, "-c", "print('ran')"], ["env", "prune", "--all"]):
        desk.call(*words)
    assert index.count(artifact.filename) > 0, "the wheel was never fetched"
    assert list(outside.iterdir()) == []


def test_a_pth_runs_where_there_is_no_jar(index: Index, desk: Desk, tmp_path: Path) -> None:
    """The control of the test above, by the packages that uv itself takes."""
    marks = {kind: tmp_path / kind for kind in ("pth", "sitecustomize", "stdlib")}
    for kind, mark in marks.items():
        index.add(artifact := hostile.at_start(mark)[kind])
        folder = tmp_path / f"{kind}.d"
        folder.mkdir()
        python = plain_install(folder, index.url, artifact.name)
        [site] = python.parents[1].glob("lib/*/site-packages")
        # The distribution may bring a sitecustomize of its own, which comes before; here ours does.
        subprocess.run([python, "-c", "import json"], env={"PYTHONPATH": str(site)}, capture_output=True)
        assert mark.exists(), kind


def test_a_pth_runs_in_the_guest(desk: Desk, index: Index, tmp_path: Path) -> None:
    """Packages such as setuptools and editable installs live by it, so it must work there."""
    index.add(hostile.at_start(tmp_path / MARK)["pth"])
    assert desk.run("import sys; print(sys.started)", "--with", "pth") == "True\n"
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize("kind", ODD)
def test_wheels_that_readers_disagree_about(kind: str, desk: Desk, index: Index) -> None:
    artifact = hostile.odd()[kind]
    index.add(artifact)
    told = desk.call("run", "--with", artifact.name, "-c", "print('ran')", UV_HTTP_RETRIES="0")
    if told.returncode == 0:
        assert kind in ("case_twins", "no_record") and told.stdout == "ran\n"
        assert (
            desk.run("import casetwins, CaseTwins; print(casetwins.version, CaseTwins.version)", "--with", "casetwins")
            == "1 twin\n"
        )
    else:
        assert told.returncode == 125 and artifact.name in told.stderr and message(told.stderr).count("\n") == 1, (
            told.stderr
        )
        assert desk.environments() == []


@pytest.mark.parametrize("part", ["pyvenv.cfg", "lib64"])
def test_what_makes_an_environment_one_is_no_packages_business(
    part: str, desk: Desk, index: Index, tmp_path: Path
) -> None:
    """Whoever writes `pyvenv.cfg` says where the interpreter finds its library: code of a package would run before any job."""
    harm = Entry(f"bones-1.data/data/{part}", b"home = /env/bones/bin\n")
    index.add(wheel("bones", "1", entries=[harm]))
    told = desk.refused("--with", "bones")
    assert part in told and "do without that package" in told and told.count("\n") == 1, told
    assert desk.environments() == [] and desk.staging() == []
    # Control: an installer alone lets it, or fails at it.
    if part == "pyvenv.cfg":
        prefix = plain_install(tmp_path, index.url, "bones").parents[1]
        assert (prefix / part).read_bytes() == harm.data


def test_folders_inside_each_other_are_all_removed(desk: Desk, index: Index) -> None:
    """Code of a package makes more of them than a process may have open files, where matplotlib's list of fonts would be."""
    deep = (
        "import os\nos.chdir('/made')\nfor _ in range(700):\n    os.mkdir('x')\n    os.chdir('x')\nos.chmod('..', 0)\n"
        "open('/made/fontlist-v1.json', 'w').write('{}')\n"
    )
    index.add(wheel("matplotlib", "1", files={"matplotlib/__init__.py": "", "matplotlib/font_manager.py": deep}))
    code = "import os; print(*os.listdir('/env/share/belljar/matplotlib'))"
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        assert desk.run(code, "--with", "matplotlib") == "fontlist-v1.json\n"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert [path for depth in range(6) for path in desk.cache.glob("*/" * depth + "made")] == []
    assert desk.staging() == []
