"""Tracebacks of every version of Python, as text."""

from __future__ import annotations

import pytest
from support import ROOT

import belljar
from belljar import parse_error

DATA = ROOT / "crates" / "belljar" / "src" / "pyerror" / "testdata"
CASES = {
    "cause": ("RuntimeError", "no a", 5),
    "context": ("NameError", "name 'undefined_name' is not defined", 4),
    "division": ("ZeroDivisionError", "division by zero", 2),
    "empty": ("AssertionError", "", 1),
    "group": ("ExceptionGroup", None, None),
    "multiline": ("ValueError", "first\nsecond\nthird", 1),
    "own": ("Outer.Inner", "x", 8),
    "recursion": ("RecursionError", None, 2),
    "syntax": ("SyntaxError", None, 2),
    "colour": ("ZeroDivisionError", "division by zero", 2),
    "indentation": ("IndentationError", None, 2),
}
FILES = [path for path in sorted(DATA.glob("*.txt")) if path.stem.partition("-")[0] in CASES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_traceback_is_read(path: object) -> None:
    from pathlib import Path

    assert isinstance(path, Path)
    name, message, line = CASES[path.stem.partition("-")[0]]
    for text in (path.read_text(), path.read_bytes(), "other output\n" + path.read_text()):
        error = parse_error(text)
        assert error is not None and error.type.rpartition(".")[2] == name.rpartition(".")[2]
        assert message is None or error.message == message
        assert line is None or error.line == line


@pytest.mark.parametrize(
    "source",
    [
        "import requests",
        "import jsno",
        "open('/home/me/data.csv')",
        "open('data.csv')",
        "open('/usr/x', 'w')",
        "import socket; socket.create_connection(('192.0.2.1', 80))",
        "{}['a']",
        "[1][2]",
        "int('x')",
        "np.zeros(3)",
        "'a' + 1",
        "None.x",
        "import json; json.loads('{')",
        "1 / 0",
        "assert 1 > 2",
        "raise Exception('on purpose')",
    ],
)
def test_hints_are_those_of_a_guests_own_exceptions(source: str) -> None:
    """One table: what is parsed has the hint that the same exception has when a guest raises it."""
    raised = belljar.run(source).exception
    assert raised is not None and raised.traceback
    error = parse_error("log\n" + raised.traceback)
    assert error is not None and (error.type, error.line) == (raised.type_name, raised.line)
    assert error.hint == raised.hint and (error.hint is None) == ("on purpose" in source)


def test_hints_and_own_lines() -> None:
    assert len(FILES) > 30
    error = parse_error((DATA / "decode-3.12.txt").read_text())
    assert error is not None and error.hint is not None and "JSON" in error.hint
    # The line in the user's code, not in the library that raised.
    assert error.file is not None and "/lib/python" not in error.file


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all is well\n",
        b"\xff\xfe",
        "Traceback (most recent call last):\n",
        '  File "x", line 1\n',
        "Error: not Python\n",
    ],
)
def test_text_without_an_exception(text: str | bytes) -> None:
    assert parse_error(text) is None
