"""Exceptions of the user's own classes: what a guest raises is what the host catches."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import own_kinds
import pytest
from support import skip
from test_versions import OWN, VERSIONS, interpreters

import belljar
from belljar import GuestError, Outcome, Sandbox, SandboxExecutor, outcome_of, sandbox
from belljar._own import Unfit, layout

MODERN = sys.version_info >= (3, 11)


class BudgetError(Exception):
    def __init__(self, amount: int, *, currency: str) -> None:
        super().__init__(f"over by {amount} {currency}")
        self.amount, self.currency = amount, currency


class Plain(Exception):
    pass


class Reduced(Exception):
    def __init__(self, word: str, number: int) -> None:
        super().__init__(f"{word} {number}")
        self.word, self.number = word, number

    def __reduce__(self) -> Any:
        return type(self), (self.word, self.number)


class Unhashable(Exception):
    __slots__ = ("amount",)
    amount: int
    __hash__ = None  # type: ignore[assignment]


@sandbox
def fails(amount: int = 5) -> int:
    raise BudgetError(amount, currency="EUR")


@sandbox
async def afails(amount: int = 5) -> int:
    raise BudgetError(amount, currency="EUR")


@sandbox
def items(amount: int = 5) -> Iterator[int]:
    yield 1
    raise BudgetError(amount, currency="EUR")


@sandbox
async def aitems(amount: int = 5) -> AsyncIterator[int]:
    yield 1
    raise BudgetError(amount, currency="EUR")


def raised(function: Any, *args: Any) -> Exception:
    """What a call raises."""
    with pytest.raises(Exception) as caught:
        function(*args)
    return caught.value


def test_the_class_itself_is_raised() -> None:
    error = raised(fails, 7)
    assert type(error) is BudgetError and (error.amount, error.currency) == (7, "EUR")
    assert error.args == ("over by 7 EUR",) == (str(error),)
    (note,) = error.__dict__["__notes__"]
    assert note.startswith("in the guest:\nTraceback") and "over by 7 EUR" in note


def test_every_way_to_call() -> None:
    async def all_of(given: AsyncIterator[int]) -> list[int]:
        return [item async for item in given]

    async def asynchronous(box: Sandbox) -> Any:
        waits = afails(), box.acall(fails), all_of(aitems()), all_of(afails.map([5]))
        return await asyncio.gather(*waits, return_exceptions=True)

    found = [
        raised(fails),
        raised(fails.outcome().check),
        raised(lambda: list(fails.map([5, 6]))),
        raised(lambda: list(fails.starmap([(5,)]))),
        *(raised(outcome.check) for outcome in fails.map([5, 5], outcomes=True)),
        raised(lambda: list(items())),
        raised(fails.options(timeout=20)),
    ]
    with Sandbox() as box, SandboxExecutor(1) as executor:
        found += [raised(box.call, fails), raised(box.outcome(fails).check), raised(executor.submit(fails).result)]
        found += asyncio.run(asynchronous(box))
    assert [(type(error), error.amount) for error in found] == [(BudgetError, 5)] * 15  # type: ignore[attr-defined]
    assert all(type(outcome_of(error)) is Outcome for error in found)


def test_cold_and_warm() -> None:
    function = fails.options(timeout=21)
    cold, _ = function.outcome(), function.warm()
    warm = function.outcome()
    assert cold.cold is not None and warm.cold is None
    for outcome in cold, warm:
        error = raised(outcome.check)
        assert type(error) is BudgetError and error.amount == 5


@pytest.mark.parametrize("version", sorted({*VERSIONS, OWN}))
def test_every_kind_of_class(version: str, tmp_path: Path) -> None:
    """Attributes, slots, arguments and text are those of the guest's exception, and no code of its class has run; or it
    is a GuestError."""
    if version not in interpreters():
        skip("interpreters")
    shutil.copytree(Path(cloudpickle.__file__).parent, tmp_path / "cloudpickle")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(tmp_path)])}
    words = [interpreters()[version], "-W", "error", own_kinds.__file__]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout)
    assert len(seen) == len(own_kinds.MADE) + (5 if version == "3.10" else 6)
    assert {seen[kind].startswith("Guest") for kind in own_kinds.MADE} == {False}


def test_classes_that_cannot_be_made_say_why() -> None:
    import pydantic_core

    class Late(StopAsyncIteration):
        pass

    class Ours(GuestError):
        pass

    for cls, why in (
        (own_kinds.Unicode, "is a UnicodeError"),
        (own_kinds.Stops, "is a StopIteration"),
        (Late, "is a StopAsyncIteration"),
        (own_kinds.Exits, "is no subclass of Exception"),
        (own_kinds.Base, "is no subclass of Exception"),
        (own_kinds.Deletes, "has a __del__"),
        (Ours, "is one of belljar's own"),
        (pydantic_core.ValidationError, "fields of its own"),
        (int, "is no subclass of Exception"),
        (5, "is no subclass of Exception"),
        *([(own_kinds.Group, "is a BaseExceptionGroup")] if MODERN else []),
    ):
        with pytest.raises(Unfit, match=why):
            layout(cls)
    assert layout(own_kinds.System) is OSError and layout(own_kinds.MoreSlots) is Exception


def test_what_led_to_it() -> None:
    @sandbox
    def work(suppress: bool) -> None:
        try:
            try:
                raise KeyError("k")
            except KeyError:
                error = BudgetError(1, currency="EUR")
                vars(error)["__notes__"] = ["while booking"]
                raise error  # noqa: B904
        except BudgetError as caught:
            if suppress:
                raise ValueError("bad") from None
            raise ValueError("bad") from caught

    error = raised(work, False)
    assert isinstance(error, GuestError) and isinstance(error, ValueError) and "BudgetError: over" in error.causes[0]
    cause = error.__cause__
    assert type(cause) is BudgetError and cause is error.__context__ and error.__suppress_context__
    assert cause.amount == 1 and cause.__dict__["__notes__"] == ["while booking"]
    first = cause.__context__
    assert isinstance(first, KeyError) and isinstance(first, GuestError) and first.args == ("k",)
    assert (cause.__cause__, cause.__suppress_context__, first.__context__) == (None, False, None)
    hidden = raised(work, True)
    assert hidden.__cause__ is None and hidden.__suppress_context__ and type(hidden.__context__) is BudgetError
    # What is handled here comes after what was handled there.
    try:
        raise LookupError("here")
    except LookupError as here:
        nested = raised(work, False)
        assert type(nested.__context__) is BudgetError
        assert nested.__context__.__context__ and nested.__context__.__context__.__context__ is here
        assert raised(fails).__context__ is here


def test_what_is_no_plain_data_is_left_out_and_named() -> None:
    @sandbox
    def work() -> None:
        error = BudgetError(1, currency="EUR")
        error.args = ({1, 2}, object, 3)
        error.lock = error.path = object()  # type: ignore[attr-defined]
        error.deep = {"a": [({"b": (1,)},)]}  # type: ignore[attr-defined]
        raise error

    error: Any = raised(work)
    assert error.args == ("{1, 2}", "<class 'object'>", 3) and error.deep == {"a": [({"b": (1,)},)]}
    assert not hasattr(error, "lock") and not hasattr(error, "path")
    assert error.__notes__[0].endswith(": args[0], args[1], lock, path")


def test_the_nearest_class_that_is_known() -> None:
    """One that the function makes itself is nowhere on the host; what it is derived from is."""

    @sandbox
    def work() -> None:
        class Special(BudgetError):
            pass

        raise Special(1, currency="EUR")

    error = raised(work)
    assert type(error) is BudgetError
    known = outcome_of(error)
    assert known and known.exception and (known.exception.type_name or "").endswith("Special")


def test_a_class_of_an_enclosing_function() -> None:
    class Local(Exception):
        pass

    @sandbox
    def work() -> None:
        raise Local(1)

    assert type(raised(work)) is Local

    def again() -> None:
        class Local(Exception):
            pass

        globals()["stays"] = Local

    again()
    try:
        # Two of one name and module cannot be told apart: the guest has both by value.
        assert type(raised(work)) is not globals()["stays"]
    finally:
        del globals()["stays"]


def test_the_outcome_of_an_error() -> None:
    error = raised(fails)
    outcome = outcome_of(error)
    assert outcome and outcome.status == "raised" and type(raised(outcome.check)) is BudgetError
    known = outcome.exception
    assert isinstance(known, GuestError) and not isinstance(known, BudgetError)
    assert known.line and known.traceback and known.message == "over by 5 EUR"

    @sandbox
    def unhashable() -> None:
        error = Unhashable()
        error.amount = 3
        raise error

    slotted: Any = raised(unhashable)
    assert type(slotted) is Unhashable and slotted.amount == 3 and type(outcome_of(slotted)) is Outcome

    def spins() -> None:
        while True:
            pass

    late = raised(sandbox(timeout=0.2)(spins))
    assert isinstance(late, belljar.TimeoutExceeded) and outcome_of(late) is late.outcome is not None
    refused = raised(sandbox(lambda: [object()]))
    assert isinstance(refused, belljar.ValueRefused) and type(outcome_of(refused)) is Outcome
    left = raised(sandbox(lambda: os._exit(3)))
    assert isinstance(left, GuestError) and (outcome_of(left) or left).exit_code == 3
    for other in ValueError(), BudgetError(1, currency="EUR"), GuestError("x"), belljar.PolicyError("x"):
        assert outcome_of(other) is None


def test_errors_pickle_as_their_classes_do() -> None:
    @sandbox
    def work(kind: str) -> None:
        raise Reduced("bad", 1) if kind == "reduced" else Plain("a", 2)

    error: Any = raised(work, "reduced")
    for again in pickle.loads(pickle.dumps(error)), copy.copy(error):
        assert type(again) is Reduced and (again.word, again.number, str(again)) == ("bad", 1, str(error))
    plain = raised(work, "plain")
    again = pickle.loads(pickle.dumps(plain))
    assert type(again) is Plain and again.args == plain.args and type(outcome_of(again)) is Outcome
    # As in plain Python: its arguments are not those of its __init__.
    with pytest.raises(TypeError, match="currency"):
        pickle.loads(pickle.dumps(raised(fails)))
    # A function that cannot be pickled does not hinder its outcome.
    outcome = pickle.loads(pickle.dumps(sandbox(lambda: 1 / 0).outcome()))
    assert isinstance(raised(outcome.check), ZeroDivisionError)
