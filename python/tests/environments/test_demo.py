"""`make demo` shows what it should: with an index, without one, without any package, as root and as a plain user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import BINARY, PACKAGE, ROOT, TARGET

from .desk import PYTHON, Desk
from .index import Index
from .packages import wheel

# Enough of it for the README's function: the index of these tests has no other.
PANDAS = """
class DataFrame:
    def __init__(self, rows):
        self.rows = rows
    def groupby(self, name):
        return self
    def __getitem__(self, name):
        return self
    def mean(self):
        return self
    def to_dict(self):
        return {row["city"]: sum(r["price"] for r in self.rows) / len(self.rows) for row in self.rows}
"""
HOSTILE = [
    ("open(KEY).read()", "reads 'my key'", "FileNotFoundError", "no file of yours"),
    ("os.environ['DEMO_TOKEN']", "reads 'my token'", "KeyError", "no variable of yours"),
    ("socket.create_connection(SERVER)", "connected", "OSError", "no network"),
    ("while True: os.fork()", "not tried", "limit: processes", "pids=128"),
]


def make(
    desk: Desk, *variables: str, python: Path = Path(sys.executable), **more: str
) -> subprocess.CompletedProcess[str]:
    """`make demo` without its build, which takes minutes."""
    return subprocess.run(
        ["make", "--no-print-directory", "demo", f"DEMO={desk.folder / 'demo'}", "DEMO_BUILD=true", "DEMO_PIP=false",
         f"BELLJAR={BINARY}", f"PYTHON={python}", *variables],
        env=desk.environment(CARGO_TARGET_DIR=str(TARGET), **more), cwd=ROOT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def directly(desk: Desk) -> subprocess.CompletedProcess[str]:
    """As the user of the desk, for whom there need not be a `make` or a Rust."""
    words: Sequence[str] = [*desk.words()[:-1], str(PYTHON), "-B", str(ROOT / "examples/demo")]
    path = os.pathsep.join([str(PACKAGE), *(folder for folder in sys.path if folder.endswith("site-packages"))])
    environment = desk.environment(PYTHONPATH=path, BELLJAR_BIN=str(BINARY))
    return subprocess.run(words, env=environment, cwd=desk.folder, capture_output=True, text=True, timeout=100)


def shown(told: subprocess.CompletedProcess[str]) -> str:
    """What every demo shows; fails for what is missing."""
    assert told.returncode == 0, told.stderr
    text = told.stdout
    lines = text.splitlines()
    # The first line names a log, wherever that is, and one of the last the binary.
    assert len(lines) <= 48 and all(len(line) <= 100 for line in lines[1:] if " doctor " not in line), text
    assert "\x1b" not in text, "a pipe gets plain text"
    for parts in HOSTILE:
        [line] = [line for line in lines if line.strip().startswith(parts[0])]
        assert all(part in line for part in parts), line
    [memory] = [line for line in lines if "hoard" in line]
    # Without a cgroup each process is limited, and Python raises.
    assert "limit: memory" in memory or "MemoryError" in memory, memory
    if "has no drafts" not in text:
        assert text.index("on disk: version = 1") < text.index("outcome.apply()") < text.index("on disk: version = 2")
    for line in ("the same call, warm", "double(21), ProcessPoolExecutor", "4. What next"):
        assert line in text
    assert lines[-1].startswith("   examples/")
    return text


@pytest.fixture
def pandas(index: Index) -> None:
    index.add(wheel("pandas", "2.9", {"pandas.py": PANDAS}))


def test_with_an_index(desk: Desk, pandas: None) -> None:
    text = shown(make(desk))
    assert '@sandbox(dependencies=["pandas"])' in text and "\n   {'Oslo': 5.0}\n" in text


def test_of_each_user(each_desk: Desk, pandas: None) -> None:
    assert "\n   {'Oslo': 5.0}\n" in shown(directly(each_desk))


def test_without_an_index(desk: Desk) -> None:
    text = shown(make(desk, UV_OFFLINE="1"))
    assert "pandas is left out" in text and "\n   5.0\n" in text


def test_without_any_package(desk: Desk) -> None:
    # An interpreter that has neither cloudpickle nor uv, as on a new machine without an index.
    bare = desk.folder / "bare"
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", bare], check=True)
    text = shown(make(desk, python=bare / "bin/python", UV_OFFLINE="1"))
    assert "pandas is left out" in text and "\n   5.0\n" in text


def test_a_build_that_fails_shows_its_log(desk: Desk) -> None:
    told = make(desk, "DEMO_BUILD=sh -c 'echo error: no linker; exit 3'")
    assert told.returncode != 0 and "error: no linker" in told.stderr and "build.log" in told.stderr
    assert "1. " not in told.stdout
