"""Examples run as they are written, and say what they should."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import ROOT

TOLD = {
    "agent_loop": ["attempt 1: The code raised ValueError", "attempt 2: average 34.0", "answer: 2"],
    "data_job": ["Oslo: 5.0", "Rome: 20.0", "batches: [20.0, 20.0, 20.0]"],
    "grader": ["ada: 4 of 4", "bob: 1 of 4", "cyd: 0: it does not end", "dan: 0: SyntaxError at line 1", "eve: 0: FileNotFoundError at line 1"],
    "plugin_host": [
        "phone_home.py: raised, would change [], delete []",
        "shout.py: returned, would change ['notes.txt'], delete []",
        "tidy.py: returned, would change [], delete ['notes.txt']",
        "notes.txt: buy milk",
    ],
    "endpoint": ["[2, 3, 5, 7, 11, 13, 17, 19]", "42", "The code raised FileNotFoundError"],
}  # fmt: skip


def test_every_example_is_here() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(TOLD)


@pytest.mark.parametrize("name", sorted(TOLD))
def test_an_example(name: str) -> None:
    told = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    for line in TOLD[name]:
        assert line in told.stdout, told.stdout
