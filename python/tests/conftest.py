"""Puts the package beside these tests in front, also for programs that the tests start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import BINARY, PACKAGE

sys.path.insert(0, str(PACKAGE))
os.environ["BELLJAR_BIN"] = str(BINARY)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
if not BINARY.exists():
    pytest.exit(f"{BINARY} is missing: `make binaries` builds it", 3)


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a Python program of its own, from a file, and gives what it printed."""

    def start(source: str, *, check: bool = True, **more: Any) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        path.write_text(source)
        words = [sys.executable, str(path)]
        told = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False, **more)
        if check:
            assert told.returncode == 0, told.stderr
        return told

    return start
