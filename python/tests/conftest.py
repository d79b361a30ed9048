"""Puts the package beside these tests in front, also for programs that the tests start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import BINARY, PACKAGE, skips

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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A skip that tests/skips.toml does not know is a failure; with BELLJAR_NO_SKIPS set every skip is."""
    report = yield
    if report.skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason not in skips().values() or "BELLJAR_NO_SKIPS" in os.environ:
            report.outcome, report.longrepr = "failed", f"{item.nodeid} is skipped: {reason}"
    return report
