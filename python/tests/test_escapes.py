"""Escape sequences of a guest in what the package says itself: a terminal would obey them."""

from __future__ import annotations

import pickle
import re
import traceback
from pathlib import Path
from typing import Any

import pytest
from hostile_support import blob, text
from test_values_classes import Pair

import belljar
from belljar import _callee, _errors, _values

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eé\u3000\n\tend\r\x7f\x00\u2066"
WRITTEN = "\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202eé\u3000\n\tend\\r\\x7f\\x00\\u2066"
OBEYED = set(HOSTILE) - set("\n\té\u3000") - {char for char in HOSTILE if char.isprintable()}


def shown(error: BaseException) -> str:
    """All that Python prints of it."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def test_what_is_plain_stays() -> None:
    for plain in "", "plain text", "line\n\tindented", "hé \U0001f40d 漢字\xa0x", "a\\x1b":
        assert _errors.printable(plain) == plain
    assert _errors.printable(HOSTILE) == WRITTEN
    assert _errors.printable("\ud800") == "\\ud800"


def test_all_that_the_command_writes_out_is_written_out_here() -> None:
    """One list, in Rust; here it is what Python calls printable."""
    source = (Path(__file__).parents[2] / "crates/belljar/src/pyerror/printable.rs").read_text()
    listed = source.partition("fn is_harmful")[2].partition("\n}\n")[0]
    found = re.findall(r"'\\u\{(\w+)\}'(?:\.\.='\\u\{(\w+)\}')?", listed)
    assert len(found) >= 9 and ("61c", "") in found and ("2060", "206f") in found
    for first, last in found:
        for code in range(int(first, 16), int(last or first, 16) + 1):
            assert chr(code) not in _errors.printable(f"a{chr(code)}b"), hex(code)
    for code in (*range(32), *range(0x7F, 0xA0)):
        assert chr(code) in "\n\t" or chr(code) not in _errors.printable(chr(code)), hex(code)


@pytest.mark.parametrize("name", [*_errors.NEAREST, "UnicodeDecodeError", "own.Odd"])
def test_an_exception_of_the_guests(name: str) -> None:
    told: dict[str, Any] = {"type": name, "message": HOSTILE, "args": [HOSTILE, 2], "traceback": f"X: {HOSTILE}\n"}
    for extra in {}, {"errno": 2, "filename": HOSTILE}, {"args": None}, {"hint": {"code": HOSTILE, "caller": []}}:
        error = _errors.raised({**told, **extra})
        assert str(error) == WRITTEN and error.message == HOSTILE and error.args[0] == HOSTILE
        assert error.traceback == told["traceback"]
        assert not OBEYED & set(shown(error)) and "owned" in shown(error)
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.message, again.args) == (WRITTEN, HOSTILE, error.args)
        assert not OBEYED & set(shown(again)) and not OBEYED & set(repr(error))


def test_a_refusal_in_the_guests_words() -> None:
    class Outcome:
        exception = _errors.raised({"type": _callee.REFUSED, "message": "", "args": [HOSTILE, HOSTILE]})

    error = _callee.failure(Outcome())  # type: ignore[arg-type]
    assert isinstance(error, belljar.ValueRefused) and (error.message, error.hint) == (WRITTEN, WRITTEN)
    assert not OBEYED & set(shown(error))


def test_names_that_a_guest_chose() -> None:
    def head(name: str, kind: str = "N") -> bytes:
        """A named tuple, of which the zone is not known here."""
        zone = b"B\1" + text("2020-01-01") + (1).to_bytes(4, "little") + b"s" + text("No/Where")
        whole = b"\1On" + text(f"m\0{kind}") + (1).to_bytes(4, "little") + text(name) + zone
        return whole + b"\1" + blob(b"\0") + blob(b"\0")

    for name, path in ("left", "result.left"), ("\x1b[2J\u202e", r"result.'\x1b[2J\u202e'"):
        with pytest.raises(belljar.ValueRefused) as caught:
            _values.decode(head(name), [])
        assert caught.value.message == f"{path} has the time zone No/Where, which is not known here"
    odd = b"\1On" + text("m\0Pair") + (1).to_bytes(4, "little") + text("\x1b[2J\u202e") + b"N" + blob(b"\0")
    with pytest.raises(belljar.ValueRefused, match="its fields are") as caught:
        _values.decode(odd, [], Pair)
    assert not OBEYED & set(shown(caught.value))


RAISED = r"""
from belljar import sandbox
@sandbox()
def f():
    raise ValueError("\x1b]0;owned\x07\x1b[2J\x9b31m\u202e")
f()
"""
NAMED = r"""
import belljar
outcome = belljar.run("raise type('\\x1b[2J', (Exception,), {})('\\x9b31m')")
print(outcome, flush=True)
outcome.check()
"""


@pytest.mark.parametrize("source", [RAISED, NAMED])
def test_programs_that_end_with_it(program: Any, source: str) -> None:
    told = program(source, check=False)
    assert told.returncode == 1 and "\\x9b31m" in told.stderr
    assert not OBEYED & set(told.stderr + told.stdout)
