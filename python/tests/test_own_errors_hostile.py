"""Guests that lie about their exceptions: no class but the user's own is made, and nothing of theirs is obeyed."""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Sequence
from typing import Any
from unittest import SkipTest

import click
import pytest
from click.exceptions import Exit
from test_escapes import HOSTILE, OBEYED, WRITTEN, shown

import belljar
from belljar import GuestError, outcome_of, sandbox

OUTER = (SkipTest, Exit, click.ClickException)


class BudgetError(Exception):
    limit = 3

    def __init__(self, amount: int) -> None:
        super().__init__(f"over by {amount}")
        self.amount = amount

    def retry(self) -> str:
        return "retried"

    @classmethod
    def again(cls) -> str:
        return "again"


class Place(SyntaxError):
    pass


class Slotted(Exception):
    __slots__ = ("amount",)


@sandbox
def says(header: str) -> None:
    """A guest that writes its own last word."""
    import os
    import struct

    data = header.encode()
    os.write(3, struct.pack("<BBHIQ", 2, 1, 0, len(data), 0) + data)
    os._exit(1)


# What belljar's own part of the guest sends.
HONEST: dict[str, Any] = {
    "classes": [[__name__, "BudgetError"]], "bases": ["Exception", "BaseException"], "message": "m", "args": ["a"],
    "state": [["amount", 5]], "fields": [], "notes": [], "left": [], "cause": None, "context": None, "suppress": False,
}  # fmt: skip
FRAME: dict[str, Any] = {"type_name": "BudgetError", "message": "m", "frames": [], "traceback": "T", "bases": []}


def told(*chain: Any, function: Any = says, **more: Any) -> Any:
    """What a call raises whose guest says this."""
    with pytest.raises(Exception) as caught:
        function(json.dumps({**FRAME, "chain": chain, **more}))
    return caught.value


def is_a(error: Any, cls: type) -> bool:
    return type(error) is cls


def link(**more: Any) -> dict[str, Any]:
    return {**HONEST, **more}


def named(cls: type) -> dict[str, Any]:
    return link(classes=[[cls.__module__, cls.__qualname__]])


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def test_the_control_is_believed() -> None:
    error = told(link())
    assert is_a(error, BudgetError) and (error.amount, error.args) == (5, ("a",))


@pytest.mark.parametrize("cls", OUTER)
def test_imported_classes_are_never_made(cls: type[Exception]) -> None:
    """A skip of unittest or the exit of click would end whoever waits for the call."""
    assert cls in globals()["OUTER"]
    error = told(named(cls))
    assert isinstance(error, GuestError) and not isinstance(error, cls)
    assert type(told(named(cls), function=says.options(raises=[cls]))) is cls
    # What raises= names is all that it names.
    other = told(named(OUTER[OUTER.index(cls) - 1]), function=says.options(raises=[cls]))
    assert isinstance(other, GuestError)


def test_other_names_are_never_made() -> None:
    for module, name in (
        ("builtins", "KeyboardInterrupt"),
        ("builtins", "StopIteration"),
        ("belljar", "TimeoutExceeded"),
        ("belljar._errors", "TimeoutExceeded"),
        ("os", "system"),
        ("__main__", "BudgetError"),
        (__name__, "says"),
        (__name__, "OUTER"),
        (__name__, "json.JSONDecodeError"),
        (__name__, "BudgetError.retry"),
        (__name__, "BudgetError.__class__"),
        (__name__, "." * 2000),
        (__name__, ".".join(["BudgetError"] * 100)),
        ("", ""),
        ("\x1b[2J", "\u202e"),
    ):
        error = told(link(classes=[[module, name]]))
        assert isinstance(error, GuestError) and not OBEYED & set(shown(error)), (module, name)


def test_raises_is_checked_where_it_is_written() -> None:
    for wrong, why in (
        (SkipTest, "is no list of exception classes"),
        ("SkipTest", "is no list of exception classes"),
        ([5], "5 is no subclass of Exception"),
        (["SkipTest"], "'SkipTest' is no subclass of Exception"),
        ([SkipTest, KeyboardInterrupt], "KeyboardInterrupt.* is no subclass of Exception"),
        ([pytest.skip.Exception], "Skipped.* is no subclass of Exception"),
        ([SkipTest("x")], "is no subclass of Exception"),
        ([StopIteration], "is a StopIteration, which is never made"),
        ([belljar.TimeoutExceeded], "is one of belljar's own"),
    ):
        for taker in sandbox, belljar.Sandbox, says.options:
            with pytest.raises(TypeError, match=why):
                taker(raises=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="raises= is for functions"):
        belljar.run("1", raises=[SkipTest])  # type: ignore[call-arg]
    assert sandbox(raises=(SkipTest,))(len).policy.values == {"raises": [SkipTest]}
    assert sandbox(raises=None)(len).policy.values == {}
    copied = says.options(raises=[SkipTest]).options(raises=None)
    assert isinstance(told(named(SkipTest), function=copied), GuestError)
    with belljar.Sandbox(raises=[SkipTest]) as box, pytest.raises(SkipTest):
        box.call(says, json.dumps({**FRAME, "chain": [named(SkipTest)]}))


LIES: list[dict[str, Any]] = [
    {"args": [{"pickle": "gASV"}]},
    {"args": [{"int": "0x" + "f" * 5000}]},
    {"args": [{"int": 5}]},
    {"args": [{"float": "one"}]},
    {"args": [{"bytes": "xyz"}]},
    {"args": [{"bytes": 5}]},
    {"args": [{"tuple": 5}]},
    {"args": [{"tuple": {"tuple": []}}]},
    {"args": [{"dict": [[1, 2]]}]},
    {"args": [{"dict": [["a"]]}]},
    {"args": [{"dict": 5}]},
    {"args": [{}]},
    {"args": [{"int": "1", "float": "1"}]},
    {"args": [2.5]},
    {"args": [nested(1, 40)]},
    {"args": [nested(1, 100)]},
    {"args": "text"},
    {"args": None},
    {"args": ["x" * (300 << 10)]},
    {"args": [0] * 40_000},
    {"state": {"amount": 5}},
    {"state": [["amount"]]},
    {"state": [[5, 5]]},
    {"state": [["amount", {"float": []}]]},
    {"classes": [["one"]]},
    {"classes": "BudgetError"},
    {"classes": []},
    {"bases": []},
    {"notes": [5]},
    {"cause": 0},
    {"cause": 1},
    {"cause": -1},
    {"cause": 1 << 70},
    {"context": 0},
    {"members": [0]},
    {"members": [1 << 40]},
    {"members": "all"},
    {"suppress": 2},
    {"message": None},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: repr(lie)[:40])
def test_what_the_runtime_never_sends_is_a_guest_error(lie: dict[str, Any]) -> None:
    error = told(link(**lie))
    if lie == {"bases": []}:
        assert is_a(error, BudgetError)
    else:
        assert isinstance(error, GuestError) and not isinstance(error, BudgetError)
    # Below another, it takes that one along, or is a GuestError itself.
    above = told(link(**lie), link(cause=0))
    assert isinstance(above, GuestError) or isinstance(above.__cause__, (GuestError, BudgetError))
    traceback.format_exception(type(above), above, above.__traceback__)


def test_attributes_that_would_hide_something_are_left_out() -> None:
    names = ["amount", "limit", "retry", "again", "with_traceback", "__class__", "__dict__", "__notes__", "__cause__",
             "__belljar_outcome__", "not a name", "\x1b[2J", "", "args", "__reduce__"]  # fmt: skip
    error = told(link(state=[[name, 7] for name in names]))
    assert is_a(error, BudgetError) and (error.amount, error.limit, error.args) == (7, 7, ("a",))
    assert (error.retry(), error.again(), error.__class__) == ("retried", "again", BudgetError)
    outcome = outcome_of(error)
    assert outcome and outcome.status == "raised" and not OBEYED & set(shown(error))
    assert set(vars(error)) == {"amount", "limit", "args", "__notes__", "__belljar_outcome__"}
    assert "retry, again, with_traceback, __class__" in error.__notes__[0]


def test_fields_that_would_keep_the_interpreter_busy_are_left_out() -> None:
    """It counts columns up to the offset one by one, and takes the text for text."""
    good: Any = {"msg": "m", "text": "a b", "lineno": 3, "offset": 2}
    for bad in ({}, {"offset": 1 << 31}, {"offset": -(1 << 31)}, {"offset": "1"}, {"text": 5}, {"lineno": "x"},
                {"errno": 5}, {"print_file_and_line": "x"}, {"end_offset": 1 << 31}, {"__class__": "x"}):  # fmt: skip
        error = told({**named(Place), "fields": [*({**good, **bad}).items()]})
        assert is_a(error, Place) and traceback.format_exception(type(error), error, None)[-1]
        seen = {name: getattr(error, name) for name in good}
        assert seen == {name: None if name in bad else value for name, value in good.items()}, bad
        assert error.end_offset is None and error.print_file_and_line is None


def test_slots_take_data_alone() -> None:
    error = told({**named(Slotted), "state": [["amount", [HOSTILE]], ["other", 1]]})
    assert is_a(error, Slotted) and (error.amount, error.other) == ([WRITTEN], 1)


def test_text_can_be_printed(program: Any) -> None:
    """A class of the user's own prints its arguments as they are: so they are escaped, and the outcome has them raw."""
    data = [HOSTILE, {"tuple": [{"dict": [[HOSTILE, HOSTILE]]}]}]
    error = told(link(args=data, state=[["amount", HOSTILE]], notes=[HOSTILE], left=[HOSTILE]), message=HOSTILE)
    assert is_a(error, BudgetError) and error.args == (WRITTEN, ({WRITTEN: WRITTEN},)) and error.amount == WRITTEN
    assert error.__notes__[0] == WRITTEN and not OBEYED & set(shown(error) + "".join(error.__notes__))
    outcome = outcome_of(error)
    assert outcome and outcome.exception and outcome.exception.message == HOSTILE
    assert outcome.json()["exception"]["chain"][0]["args"] == data
    # The control: the class itself obeys.
    plain = BudgetError(5)
    plain.args = (HOSTILE,)
    assert OBEYED & set(shown(plain))
    source = f"""
from belljar import sandbox
class Own(Exception): pass
@sandbox
def f(): raise Own({HOSTILE!r}) from Own({HOSTILE!r})
f()
"""
    ended = program(source, check=False)
    assert ended.returncode == 1 and "Own: \\x1b]0;owned" in ended.stderr and not OBEYED & set(ended.stderr)


def test_mutated_frames() -> None:
    """Whatever becomes of an honest one: an exception that can be printed, and no other class."""
    chance = random.Random(15)
    honest = json.dumps({**FRAME, "chain": [link(), link(cause=0, context=0), link(members=[0, 1], classes=[])]})
    pieces = '{}[]",:0159-.eE\\u0001nulltrue' + "BudgetError"
    for _ in range(150):
        text = list(honest)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            text[at : at + chance.choice((0, 1, 1, 5))] = chance.choice(pieces)
        with pytest.raises(Exception) as caught:
            says("".join(text))
        assert isinstance(caught.value, (GuestError, BudgetError)), text
        traceback.format_exception(type(caught.value), caught.value, caught.value.__traceback__)


def depth(error: BaseException | None) -> int:
    """How long a chain is, walked as careless programs do."""
    count = 0
    while error is not None:
        error, count = error.__context__, count + 1
    return count


def test_chains_end() -> None:
    """Programs walk them without a look at what they have seen."""

    def circle(places: Sequence[int | None]) -> Any:
        return told(*(link(context=place) for place in places))

    assert depth(circle([None, 0, 1])) == 3
    for places in ([1, 0], [0], [2, 0, 1], [None, 2, 1]):
        assert isinstance(circle(places), GuestError) and depth(circle(places)) == 1
    assert depth(circle([None, *range(63)])) == 64
    assert isinstance(circle([None, *range(64)]), GuestError)
