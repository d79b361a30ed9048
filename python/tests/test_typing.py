"""mypy and pyright see the types of the original function, however it is decorated."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import PACKAGE

SAMPLE = Path(__file__).with_name("typed.py").read_text()
COMMENT = re.compile(r"  # type: ignore\[([\w-]+)\]  # pyright: ignore\[([\w, ]+)\]$", re.MULTILINE)
# As pyproject.toml has it for `make check`.
PYRIGHT = {
    "include": ["typed.py"],
    "extraPaths": [str(PACKAGE)],
    "pythonVersion": "3.10",
    "typeCheckingMode": "strict",
    "enableTypeIgnoreComments": False,
    "reportUnnecessaryTypeIgnoreComment": "error",
}


def told(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=300)
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    return ended.stdout


def mypy(folder: Path) -> set[tuple[int, str]]:
    """Lines that are refused, and why."""
    text = told(folder, "mypy", "--strict", "--python-version", "3.10", "--no-error-summary", "typed.py")
    errors = re.findall(r"^typed\.py:(\d+): error: .*\[([a-z-]+)\]$", text, re.MULTILINE)
    assert text.count(": error: ") == len(errors), text
    return {(int(line), code) for line, code in errors}


def pyright(folder: Path) -> set[tuple[int, str]]:
    """The same."""
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    found = json.loads(told(folder, "pyright", "--outputjson", "--pythonpath", sys.executable))
    assert found["summary"]["filesAnalyzed"] == 1, found
    return {(each["range"]["start"]["line"] + 1, each["rule"]) for each in found["generalDiagnostics"]}


@pytest.mark.parametrize(("number", "checker"), [(1, mypy), (2, pyright)], ids=["mypy", "pyright"])
def test_the_original_is_seen(number: int, checker: Callable[[Path], set[tuple[int, str]]], tmp_path: Path) -> None:
    """Every `assert_type` holds; without the comments, the lines that have them are refused for what they say."""
    (tmp_path / "typed.py").write_text(SAMPLE)
    assert checker(tmp_path) == set()
    (tmp_path / "typed.py").write_text(COMMENT.sub("", SAMPLE))
    found = [(line, said) for line, text in enumerate(SAMPLE.splitlines(), 1) if (said := COMMENT.search(text))]
    assert len(found) > 10
    assert checker(tmp_path) == {(line, code) for line, said in found for code in said[number].split(", ")}
