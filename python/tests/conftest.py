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
    """A skip that tests/skips.toml does not know, or for what BELLJAR_MAY_LACK does not name, is a failure."""
    report = yield
    if report.skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        need = next((need for need, known in skips().items() if known == reason), "nothing known")
        if "BELLJAR_SKIPS_LOG" in os.environ:
            # Not made where it is missing: in a shared folder the kernel lets one user not "create" a file of another.
            number = os.open(os.environ["BELLJAR_SKIPS_LOG"], os.O_WRONLY | os.O_APPEND)
            os.write(number, f"{need}: {item.nodeid}\n".encode())
            os.close(number)
        if need not in os.environ.get("BELLJAR_MAY_LACK", " ".join(skips())).split():
            report.outcome, report.longrepr = "failed", f"{item.nodeid} is skipped: {reason}"
    return report
