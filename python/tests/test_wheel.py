"""The wheel, installed in every way: the binary is found, and package and binary are of one version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support import ROOT, TARGET

PROGRAM = "import belljar; print(belljar.find()); print(belljar.run('print(21 * 2)').check().stdout)"


@pytest.fixture(scope="module")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What installs.py builds; `make package-test` has done it already."""
    made = os.environ.get("BELLJAR_INSTALLS")
    if made:
        return Path(made)
    # The builds move the binary about, which other tests use at the same time.
    assert "PYTEST_XDIST_WORKER" not in os.environ, (
        "run installs.py first and name its folder in BELLJAR_INSTALLS, as `make package-test` does"
    )
    import installs

    folder = tmp_path_factory.mktemp("installs") / "all"
    installs.build(folder)
    return folder


@pytest.fixture(scope="module")
def wheel(installs: Path) -> Path:
    """As `pip install .` builds it."""
    [found] = installs.glob("*.whl")
    return found


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", *words], check=True)


def with_cloudpickle(site: Path) -> None:
    """The package's dependency, as pip would bring it."""
    import cloudpickle

    shutil.copytree(Path(cloudpickle.__file__).parent, site / "cloudpickle")


def clean(**more: str) -> dict[str, str]:
    """An environment that helps nobody to find anything."""
    kept = {name: value for name, value in os.environ.items() if name not in ("BELLJAR_BIN", "PYTHONPATH")}
    return {**kept, "PATH": "/usr/bin:/bin", **more}


def found(python: str, environment: dict[str, str], wanted: Path, *, checkout: bool = False) -> None:
    """A call works with the binary that was installed; without it, that place is among those that are told.

    Only a checkout has another one: what was built there.
    """
    words = [python, "-c", PROGRAM]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert told.stdout.split() == [str(wanted), "42"], told.stderr
    wanted.unlink()
    told = subprocess.run(words, env={**environment, "PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    if checkout:
        assert Path(told.stdout.split()[0]).is_relative_to(TARGET.resolve())
    else:
        assert told.returncode == 1
        assert f"\n  {wanted}\n" in told.stderr and "\n  /nowhere/belljar" in told.stderr
        assert "hint: install belljar again" in told.stderr


def virtualenv(folder: Path) -> tuple[str, Path]:
    """An empty one: its interpreter and its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [site] = folder.glob("lib/*/site-packages")
    with_cloudpickle(site)
    return str(folder / "bin" / "python"), site


def test_what_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "belljar/py.typed" in names and "belljar/__init__.py" in names
    assert [name for name in names if name.endswith("scripts/belljar")]
    assert not [name for name in names if "test" in name]
    assert wheel.name.startswith("belljar-") and "-py3-none-" in wheel.name


def test_versions_are_one() -> None:
    from belljar._version import VERSION

    cargo = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)
    assert cargo is not None and cargo[1] == VERSION


def test_a_virtualenv(wheel: Path, tmp_path: Path) -> None:
    python, _ = virtualenv(tmp_path / "v")
    pip("--prefix", str(tmp_path / "v"), str(wheel))
    found(python, clean(), tmp_path / "v" / "bin" / "belljar")


def test_a_prefix(wheel: Path, tmp_path: Path) -> None:
    pip("--prefix", str(tmp_path), str(wheel))
    [package] = tmp_path.glob("**/belljar/__init__.py")
    found(sys.executable, clean(PYTHONPATH=str(package.parents[1])), tmp_path / "bin" / "belljar")


def test_a_target(wheel: Path, tmp_path: Path) -> None:
    pip("--target", str(tmp_path), str(wheel))
    found(sys.executable, clean(PYTHONPATH=str(tmp_path)), tmp_path / "bin" / "belljar")


def test_a_user_install(wheel: Path, tmp_path: Path) -> None:
    # The interpreter below the virtualenv, which has no user folder. Distributions mark theirs as not pip's.
    base = getattr(sys, "_base_executable", sys.executable)
    words = [sys.executable, "-m", "pip", "--python", base, "install", "--user", "--break-system-packages", "--quiet"]
    environment = clean(PYTHONUSERBASE=str(tmp_path), PIP_ROOT_USER_ACTION="ignore")
    subprocess.run([*words, "--no-deps", "--no-index", str(wheel)], env=environment, check=True)
    [site] = tmp_path.glob("lib/*/site-packages")
    with_cloudpickle(site)
    found(base, environment, tmp_path / "bin" / "belljar")


def test_an_editable_install(installs: Path, tmp_path: Path) -> None:
    """The package is the checkout's own, and the binary the virtualenv's."""
    [wheel] = (installs / "editable").glob("*.whl")
    python, site = virtualenv(tmp_path / "v")
    pip("--prefix", str(tmp_path / "v"), str(wheel))
    assert not (site / "belljar").exists()
    words = [python, "-c", "import belljar; print(belljar.__file__)"]
    told = subprocess.run(words, env=clean(), capture_output=True, text=True, check=True)
    assert told.stdout.strip() == str(ROOT / "python" / "belljar" / "__init__.py")
    found(python, clean(), tmp_path / "v" / "bin" / "belljar", checkout=True)


def test_an_install_by_uv(installs: Path, tmp_path: Path) -> None:
    """`uv pip install .`, moved to where this test may change it."""
    shutil.copytree(installs / "uv", tmp_path / "uv")
    [package] = (tmp_path / "uv").glob("lib/*/site-packages/belljar")
    found(sys.executable, clean(PYTHONPATH=str(package.parent)), tmp_path / "uv" / "bin" / "belljar")
