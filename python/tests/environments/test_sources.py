"""Source distributions: refused by default, built in a jar where that is allowed. docs/reference/attacks.md: DP-01."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from . import hostile
from .desk import PYTHON, Desk, contents, escaped, everything, uv
from .index import Index
from .packages import Artifact, sdist, wheel

SECRET = "the secret of the host"


def source(kind: str, desk: Desk, index: Index) -> tuple[Artifact, Path]:
    """A hostile distribution on the index, and the mark that it tries to leave."""
    # Everybody may write there, so that only the jar can stop it.
    outside = desk.folder / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    (desk.folder / "secret").write_text(SECRET)
    make = hostile.backend if kind == "backend" else hostile.setup_py
    artifact = make("sourced", outside / "mark", desk.folder / "secret")
    index.add(artifact, hostile.setuptools())
    return artifact, outside / "mark"


@pytest.mark.parametrize("kind", ["backend", "setup_py"])
def test_sources_are_refused_by_default(kind: str, each_desk: Desk, index: Index) -> None:
    _, mark = source(kind, each_desk, index)
    told = each_desk.refused("--with", "sourced")
    assert "sourced" in told and "--allow-builds" in told and told.count("\n") == 1, told
    assert not mark.exists() and each_desk.environments() == []


@pytest.mark.parametrize("kind", ["backend", "setup_py"])
def test_sources_are_built_in_a_jar(kind: str, each_desk: Desk, index: Index) -> None:
    _, mark = source(kind, each_desk, index)
    told = each_desk.run(
        "import sourced; print(sourced.seen)", "--with", "sourced", "--allow-builds", CANARY="canary of the caller"
    )
    seen = ast.literal_eval(told)
    assert not mark.exists() and seen["mark"] != "written", "it ran, and could not reach the host"
    assert seen["secret"] != SECRET and "CANARY" not in seen["environ"], seen
    assert "home" not in seen["root"] and "root" not in seen["root"], seen["root"]
    assert seen["uid"] != 0 or os.getuid() != 0, "nor is it root of the host"


@pytest.mark.parametrize("kind", ["backend", "setup_py"])
def test_plain_uv_lets_sources_do_their_harm(kind: str, desk: Desk, index: Index, tmp_path: Path) -> None:
    """The control: what stops it above is the jar."""
    _, mark = source(kind, desk, index)
    uv(tmp_path, index.url, "venv", "--quiet", "--python", PYTHON, tmp_path / "plain")
    uv(tmp_path, index.url, "pip", "install", "--python", tmp_path / "plain" / "bin" / "python", "sourced")
    assert mark.read_text() == "harm"
    [built] = (tmp_path / "plain").rglob("sourced.py")
    assert SECRET in built.read_text()


def test_an_archive_of_sources_that_climbs(desk: Desk, index: Index, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    name = f"climbed-{os.getpid()}"
    (desk.folder / "secret").write_text(SECRET)
    index.add(hostile.climbing_sdist("climber", outside / name, name, desk.folder / "secret"))
    told = desk.call("run", "--with", "climber", "--allow-builds", "-c", "import climber; print(climber.seen['mark'])")
    assert told.returncode in (0, 125) and "written" not in told.stdout
    assert index.count("climber-1.tar.gz") > 0
    assert escaped(name, [tmp_path]) == [] and list(outside.iterdir()) == []


def test_a_wheel_is_taken_where_there_are_both(desk: Desk, index: Index) -> None:
    """Also with builds allowed: what need not be built is not."""
    artifact, mark = source("backend", desk, index)
    index.add(wheel("sourced"))
    for words in ([], ["--allow-builds"]):
        assert desk.run("import sourced; print(sourced.version)", "--with", "sourced", *words) == "1\n"
    assert index.count(artifact.filename) == 0 and not mark.exists()


def test_an_environment_without_builds_is_not_that_of_one_with(desk: Desk, index: Index) -> None:
    """What a build made is in no hash: whoever did not allow builds never gets it."""
    source("backend", desk, index)
    assert "seen" in desk.run("import sourced; print(dir(sourced))", "--with", "sourced", "--allow-builds")
    assert "--allow-builds" in desk.refused("--with", "sourced")


def test_a_build_that_needs_a_source_says_which(desk: Desk, index: Index) -> None:
    """The one that has no wheel, not the one that was asked for."""
    source("backend", desk, index)
    index.add(wheel("needsit", requires=["sourced"]))
    told = desk.refused("--with", "needsit")
    assert "sourced" in told and "--allow-builds" in told, told


def test_a_build_that_fails_says_why(desk: Desk, index: Index) -> None:
    artifact = sdist("broken", "1", {"setup.py": "raise SystemExit('no compiler here')"})
    index.add(artifact, hostile.setuptools())
    told = desk.refused("--with", "broken", "--allow-builds")
    assert "broken" in told and "no compiler here" in told, told


@pytest.mark.parametrize("how", ["site", "lib", "files", "share", "cache", "odd", "config", "deep"])
def test_a_build_that_meddles_with_its_environment(how: str, each_desk: Desk, index: Index) -> None:
    """It leaves links into the host, and things that are no files, where belljar looks afterwards: nothing outside is touched."""
    outside = each_desk.folder / "outside" / "site-packages"
    outside.mkdir(parents=True)
    (outside / "victim.py").write_text("x = 1\n")
    os.mkfifo(outside / "pipe")
    (outside / "METADATA").write_text("Name: secretname\nVersion: 1\n")
    if each_desk.uid is not None:
        for path in (outside.parent, outside, *outside.iterdir()):
            os.chown(path, each_desk.uid, each_desk.uid)
    before = (contents(outside.parent), sorted(map(str, everything(outside.parent))))
    index.add(hostile.meddler(outside, how))
    told = each_desk.call(
        "run", "--python", PYTHON, "--with", "meddler", "--allow-builds", "-c", "import meddler; print(meddler.version)"
    )
    assert index.count("meddler-1.tar.gz") > 0
    assert (contents(outside.parent), sorted(map(str, everything(outside.parent)))) == before
    assert told.returncode in (0, 125, 1) and told.stdout in ("", "1\n"), told
    listed = each_desk.call("env", "list", "--json")
    assert listed.returncode == 0 and "secretname" not in listed.stdout
    assert each_desk.staging() == []
    assert each_desk.call("env", "prune", "--all").returncode == 0
    assert each_desk.environments() == []
