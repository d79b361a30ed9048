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
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `pip install .` builds it, from the debug build that is there anyway."""
    made = os.environ.get("BELLJAR_WHEEL")
    if made:
        return Path(made)
    # The build moves the binary about, which other tests use at the same time.
    assert "PYTEST_XDIST_WORKER" not in os.environ, (
        "build the wheel first and name it in BELLJAR_WHEEL, as `make package-test` does"
    )
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "MATURIN_PEP517_ARGS": "--profile dev", "CARGO_TARGET_DIR": str(TARGET.resolve())}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
    ]
    subprocess.run([*words, str(ROOT)], env=environment, check=True)
    [found] = folder.glob("*.whl")
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


def found(python: str, environment: dict[str, str]) -> str:
    told = subprocess.run([python, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    path, answer = told.stdout.split()
    assert answer == "42"
    return path


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
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    python = str(tmp_path / "v" / "bin" / "python")
    pip("--prefix", str(tmp_path / "v"), str(wheel))
    [package] = (tmp_path / "v").glob("lib/*/site-packages/belljar")
    with_cloudpickle(package.parent)
    assert found(python, clean()) == str(tmp_path / "v" / "bin" / "belljar")


def test_a_prefix(wheel: Path, tmp_path: Path) -> None:
    pip("--prefix", str(tmp_path), str(wheel))
    [package] = tmp_path.glob("**/belljar/__init__.py")
    assert found(sys.executable, clean(PYTHONPATH=str(package.parents[1]))) == str(tmp_path / "bin" / "belljar")


def test_a_target(wheel: Path, tmp_path: Path) -> None:
    pip("--target", str(tmp_path), str(wheel))
    assert found(sys.executable, clean(PYTHONPATH=str(tmp_path))) == str(tmp_path / "bin" / "belljar")


def test_a_user_install(wheel: Path, tmp_path: Path) -> None:
    # The interpreter below the virtualenv, which has no user folder.
    base = getattr(sys, "_base_executable", sys.executable)
    scheme = "import sysconfig; print(sysconfig.get_path('purelib', sysconfig.get_preferred_scheme('user')))"
    environment = clean(PYTHONUSERBASE=str(tmp_path))
    site = subprocess.run(
        [base, "-c", scheme], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()
    pip("--target", site, str(wheel))
    with_cloudpickle(Path(site))
    (tmp_path / "bin").mkdir()
    (Path(site) / "bin" / "belljar").rename(tmp_path / "bin" / "belljar")
    assert found(base, environment) == str(tmp_path / "bin" / "belljar")


def test_a_missing_binary_lists_where_it_was_looked_for(wheel: Path, tmp_path: Path) -> None:
    pip("--target", str(tmp_path), str(wheel))
    (tmp_path / "bin" / "belljar").unlink()
    environment = clean(PYTHONPATH=str(tmp_path), PATH="/nowhere")
    told = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert f"\n  {tmp_path}/bin/belljar" in told.stderr and "\n  /nowhere/belljar" in told.stderr
    assert "hint: install the package again" in told.stderr
