"""Putting a call together has a budget, and an interrupt ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from belljar import ValueRefused, sandbox
from belljar._capture import budget, closure, imports, refusal
from belljar._capture.closure import Modules
from belljar._guest import guest
from belljar._policy import Policy
from capture.project import write

TABLE = {"small": 1, "large": list(range(300_000))}


class Forever:
    """Pickles as a list that has no end."""

    def __reduce__(self) -> tuple[Any, ...]:
        def items() -> Any:
            while True:
                yield str

        return list, (), None, items()


def reads_table() -> int:
    return len(TABLE)


def test_what_takes_too_many_bytes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (budget, refusal):
        monkeypatch.setattr(module, "MOST", 1 << 20)
    with pytest.raises(ValueRefused) as caught:
        sandbox(reads_table)()
    told = "cannot send 'TABLE', a global of reads_table()['large'] (list): it takes more than 1 MiB"
    assert caught.value.message == told
    with pytest.raises(ValueRefused, match=r"cannot send args\[1\] \(list\): it takes more than"):
        sandbox(lambda *given: len(given))(1, [object] * 1_000_000)
    assert sandbox(len)([1] * 1000) == 1000


def test_what_takes_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (budget, refusal):
        monkeypatch.setattr(module, "SECONDS", 0.2)

    with pytest.raises(ValueRefused) as caught:
        sandbox(lambda x: 1)({"a": 1, "chain": Forever()})
    assert caught.value.message == "cannot send args[0]['chain'] (Forever): it takes longer than 0.2 s to be sent"


def test_reading_source_has_a_budget_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that nobody has imported here are read as well, to see what they import."""
    names = [f"chain{number}" for number in range(4)]
    write(tmp_path, {f"{one}.py": f"import {other}\n" for one, other in zip(names, [*names[1:], "json"], strict=True)})
    monkeypatch.syspath_prepend(tmp_path)
    there = guest(Policy({}), None)
    assert list(Modules(there).closure(["chain0"]).own) == names
    monkeypatch.setattr(closure, "SECONDS", 0.0)
    with pytest.raises(ValueRefused, match="longer than 0 s to read the source that 'chain1' is imported with"):
        Modules(there).closure(["chain0"])


def test_no_source_takes_long_to_compile() -> None:
    assert len(list(imports.unconditional(b"import a\n" * 10_000))) == 10_000
    assert list(imports.unconditional(b"import a\n" * (imports.MOST_SOURCE // 9 + 1))) == []


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "main.py": """
import sys
from belljar import sandbox
class Forever:
    def __reduce__(self):
        def items():
            print("begun", flush=True)
            while True:
                yield str
        return list, (), None, items()
@sandbox
def f(x):
    return 1
try:
    f(Forever())
except KeyboardInterrupt:
    print("interrupted")
"""
        },
    )
    program = subprocess.Popen([sys.executable, tmp_path / "main.py"], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    with program, program.stdout:
        assert program.stdout.readline() == "begun\n"
        os.kill(program.pid, signal.SIGINT)
        assert program.stdout.readline() == "interrupted\n"
