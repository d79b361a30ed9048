"""What tests share. The package under test is the one beside these tests, and its binary the debug build."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = Path(os.environ.get("BELLJAR_BIN", TARGET / "debug" / "belljar")).resolve()


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(fact: Callable[[], object], seconds: float = 30) -> None:
    """Waits for a fact."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def skips() -> dict[str, str]:
    """What a machine may lack, and why tests then do not run. (Python 3.10 has no reader of TOML.)"""
    text = (ROOT / "tests" / "skips.toml").read_text()
    return dict(re.findall(r'^\[(\w+)\]\ntests = ".*"\nreason = "(.*)"$', text, re.MULTILINE))


def skip(need: str) -> NoReturn:
    """Says that a test does not run here; what is not in tests/skips.toml is a failure."""
    pytest.skip(skips()[need])
