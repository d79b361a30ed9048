"""mypy --strict sees the types of the original function, however it is decorated."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support import ROOT

SAMPLE = Path(__file__).with_name("typed.py")


def test_mypy_sees_the_original(tmp_path: Path) -> None:
    """Every `assert_type` of the sample holds, and exactly the lines that say so are refused."""
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path), str(SAMPLE)]
    told = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    lines = enumerate(SAMPLE.read_text().splitlines(), 1)
    wanted = {(number, found[1]) for number, line in lines if (found := re.search(r"  # refused: (\S+)$", line))}
    assert len(wanted) > 10
    errors = re.findall(rf"^{SAMPLE.relative_to(ROOT)}:(\d+): error: .*\[([a-z-]+)\]$", told.stdout, re.MULTILINE)
    seen = {(int(number), code) for number, code in errors}
    assert seen == wanted and told.stdout.count(": error: ") == len(errors), told.stdout + told.stderr
