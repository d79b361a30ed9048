"""Groups of a guest come back as groups, and `except*` finds their members; none of them ends the host."""

from __future__ import annotations

import builtins
import pickle
import sys
from typing import Any

import pytest
from test_escapes import HOSTILE, OBEYED, WRITTEN, shown

import belljar
from belljar import GuestError, outcome_of, sandbox

# Before that there are no groups to be tried.
MODERN = sys.version_info >= (3, 11)
# `except*` is no syntax before 3.11: these run as a program.
PROGRAM = """
import asyncio
from belljar import GuestError, outcome_of, sandbox

class BudgetError(Exception):
    def __init__(self, amount):
        super().__init__(amount)
        self.amount = amount

@sandbox
async def gathers():
    async def fails(amount):
        raise BudgetError(amount)
    async def missing():
        raise KeyError("k")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fails(5))
        tasks.create_task(missing())

@sandbox
def interrupts():
    raise BaseExceptionGroup("all", [KeyboardInterrupt("stop"), SystemExit(3), BudgetError(6), ExceptionGroup("in", [OSError(2, "no")])])

seen = []
try:
    asyncio.run(gathers())
except* BudgetError as group:
    seen.append([error.amount for error in group.exceptions])
    assert isinstance(group, GuestError) and outcome_of(group).status == "raised" and group.type_name == "ExceptionGroup"
except* KeyError as group:
    seen.append([error.args for error in group.exceptions])
    assert all(outcome_of(error) is outcome_of(group) for error in group.exceptions)
try:
    interrupts()
except* OSError as group:
    seen.append(repr(group.exceptions))
except* BudgetError as group:
    seen.append(repr(group))
except* GuestError as group:
    seen.append([error.type_name for error in group.exceptions])
print(seen)
try:
    interrupts()
except ExceptionGroup as group:
    print([type(error).__name__ for error in group.exceptions], group)
interrupts()
"""


def test_members_are_found(program: Any) -> None:
    if not MODERN:
        return
    told = program(PROGRAM, check=False)
    assert told.stdout.splitlines() == [
        "[[5], [('k',)], \"(GuestExceptionGroup('in', [GuestFileNotFoundError(2, 'no')]),)\", \"GuestExceptionGroup('all',"
        " [BudgetError(6)])\", ['KeyboardInterrupt', 'SystemExit']]",
        "['GuestError', 'GuestError', 'BudgetError', 'GuestExceptionGroup'] all (4 sub-exceptions)",
    ], told
    # Not by a signal, and not with the guest's code: as any exception that nobody catches.
    assert told.returncode == 1 and "GuestExceptionGroup: all (4 sub-exceptions)" in told.stderr


def test_a_group_is_a_guest_error() -> None:
    if not MODERN:
        return
    group_of: Any = vars(builtins)["ExceptionGroup"]

    @sandbox
    def work(message: str) -> None:
        error = ValueError("v")
        error.__dict__["__notes__"] = [message]
        raise group_of(message, [error, group_of("in", [KeyError("k")])]) from OSError(2, "no")

    with pytest.raises(GuestError) as caught:
        work(HOSTILE)
    error: Any = caught.value
    assert isinstance(error, group_of) and isinstance(error.__cause__, OSError) and error.line and error.traceback
    assert error.message == WRITTEN and not OBEYED & set(shown(error))
    found, rest = error.split(KeyError)
    assert isinstance(found, GuestError) and not OBEYED & set(shown(found) + shown(rest))
    assert error.outcome is outcome_of(found) is outcome_of(rest) is outcome_of(error)
    outcome: Any = vars(error)["outcome"]
    assert outcome.exception.message.startswith(HOSTILE)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and again.message == WRITTEN and again.type_name == error.type_name
    assert [type(member) for member in again.exceptions] == [type(member) for member in error.exceptions]
    # What belljar knows of it is a GuestError as of any other.
    assert type(outcome.exception).__name__ == "GuestException" and not outcome.ok


def test_members_that_are_too_many_are_named() -> None:
    if not MODERN:
        return
    outcome = belljar.run("raise ExceptionGroup('g', [ValueError(n) for n in range(80)])")
    with pytest.raises(GuestError) as caught:
        outcome.check()
    error: Any = caught.value
    assert [member.args for member in error.exceptions] == [(number,) for number in range(63)]
    assert any("belljar left out members: exceptions[63], " in note for note in error.__notes__)


def test_a_host_without_groups_has_the_error_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = belljar.run("raise BaseExceptionGroup('g', [KeyboardInterrupt()])" if MODERN else "raise ValueError")
    monkeypatch.delattr(builtins, "ExceptionGroup", raising=False)
    with pytest.raises(GuestError) as caught:
        outcome.check()
    assert not hasattr(caught.value, "exceptions") and caught.value.type_name in ("BaseExceptionGroup", "ValueError")
