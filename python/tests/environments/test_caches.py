"""Caches of packages: made once where that saves time, and each run's own all the same. docs/reference/attacks.md: DP-08."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import BINARY

from belljar import Sandbox

from .local import settings, warmed, wheel

# As matplotlib does it: a list that is there is read, and otherwise made, which we see by a number that nobody makes twice.
FONTS = """
import os
path = os.path.join(os.environ['MPLCONFIGDIR'], 'fontlist-v7.json')
def load():
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(os.urandom(8).hex())
    return open(path).read()
made = load()
"""
HOSTILE = """
import os
os.symlink('/env/pyvenv.cfg', '/made/fontlist-v1.json')
os.mkdir('/made/fontlist-v2.json')
os.mkfifo('/made/fontlist-v3.json')
with open('/made/fontlist-v4.json', 'wb') as file:
    file.truncate(17 << 20)
open('/made/other', 'w').close()
open('/made/fontlist-v5.json', 'w').write('{}')
os._exit(1)
"""
READ = "import matplotlib.font_manager as fonts; fonts.made"


def cold(code: str, *names: str) -> str:
    """What code prints in a run of its own."""
    words = [str(BINARY), "run", "--quiet", "--python", sys.executable]
    for name in names:
        words += ["--with", name]
    told = subprocess.run([*words, "-c", code], capture_output=True, text=True, timeout=100)
    assert told.returncode == 0, told.stderr
    return told.stdout.strip()


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    yield settings(monkeypatch, tmp_path)


def matplotlib(wheels: Path, source: str) -> None:
    wheel(wheels, "matplotlib", {"matplotlib/__init__.py": "", "matplotlib/font_manager.py": source})


def test_the_list_of_fonts_is_made_once(wheels: Path) -> None:
    matplotlib(wheels, FONTS)
    first = cold(f"{READ.replace('fonts.made', 'print(fonts.made)')}", "matplotlib")
    assert len(first) == 16
    # A run may make its own, which no other run sees.
    again = (
        "import matplotlib.font_manager as f, os; os.unlink(f.path); print(f.load() != f.made, f.load() == f.load())"
    )
    assert cold(again, "matplotlib") == "True True"
    assert cold("import matplotlib.font_manager as f; print(f.made)", "matplotlib") == first
    with Sandbox(dependencies=["matplotlib"]) as box:
        assert warmed(box) is None
        assert box.run(READ).value == first
        assert box.run(again).stdout == "True True\n"
        assert box.run(READ).value == first


def test_without_it_every_run_makes_its_own(wheels: Path) -> None:
    """The control: the same code under another name."""
    wheel(wheels, "otherlib", {"otherlib.py": FONTS})
    code = "import otherlib; print(otherlib.made)"
    assert cold(code, "otherlib") != cold(code, "otherlib")


def test_a_hostile_package_brings_nothing_but_a_list(wheels: Path, tmp_path: Path) -> None:
    matplotlib(wheels, HOSTILE)
    code = (
        "import os; print(sorted(os.listdir('/env/share/belljar/matplotlib')), os.listdir(os.environ['MPLCONFIGDIR']))"
    )
    assert cold(code, "matplotlib") == "['fontlist-v5.json'] ['fontlist-v5.json']"
    # Nothing of the room in which it was made is left.
    [environment] = (tmp_path / "cache" / "environments").iterdir()
    assert not (environment / "made").exists()


CACHES = [
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "HF_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "IPYTHONDIR",
]
# nltk and others look into the home folder.
WRITE = f"""
import os, pathlib
folders = [os.environ[name] for name in {CACHES}] + [os.path.expanduser('~/nltk_data')]
marks = [pathlib.Path(folder, 'mark') for folder in folders]
found = [str(mark) for mark in marks if mark.exists()]
for mark in marks:
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text('here')
print(len(marks), found, all(mark.read_text() == 'here' for mark in marks))
"""


def test_caches_can_be_written_and_no_other_run_sees_them(wheels: Path) -> None:
    matplotlib(wheels, FONTS)
    for _ in range(2):
        assert cold(WRITE, "matplotlib") == "8 [] True"
    with Sandbox(dependencies=["matplotlib"]) as box:
        assert warmed(box) is None
        for _ in range(2):
            outcome = box.run(WRITE)
            assert (outcome.cold, outcome.stdout) == (None, "8 [] True\n"), outcome.stderr
    # The control: within one run a mark is found.
    assert cold(WRITE + WRITE, "matplotlib").endswith("/mark'] True")
