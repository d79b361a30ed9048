"""`map(items, chunksize=50)`: the items of a chunk share one process, and each has a result of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support import until

import belljar
from belljar import ValueRefused, sandbox
from belljar import _frames as frames


@sandbox
def double(number: int) -> int:
    return number * 2


@sandbox
def nth(_: object) -> int:
    """How many calls this process has had."""
    import sys

    sys.calls = getattr(sys, "calls", 0) + 1  # type: ignore[attr-defined]
    return sys.calls  # type: ignore[attr-defined, no-any-return]


@sandbox
def divides(number: int) -> float:
    print("item", number)
    try:
        return 6 / number
    except ZeroDivisionError as error:
        raise KeyError("nothing", number) from error


@sandbox
def ends(number: int, way: str) -> int:
    import os
    import sys
    import time

    # So long that what came before is sent.
    time.sleep(0.005)
    if number == 3:
        if way == "exit":
            sys.exit(7)
        if way == "_exit":
            os._exit(7)
        if way == "kill":
            os.kill(os.getpid(), 9)
        while way == "loop":
            pass
        if way == "memory":
            return len(bytearray(b"x" * (1 << 30)))
    return number


def taken(items: Iterator[Any]) -> tuple[list[Any], Any]:
    """What comes, and what is raised then."""
    found: list[Any] = []
    try:
        for item in items:
            found.append(item)
    except Exception as error:
        return found, error
    return found, None


def test_items_of_a_chunk_share_a_process_and_no_others() -> None:
    assert list(double.map(range(107), chunksize=50)) == list(range(0, 214, 2))
    assert list(nth.map(range(7), chunksize=3)) == [1, 2, 3, 1, 2, 3, 1]
    assert list(nth.map(range(3), chunksize=1)) == [1, 1, 1]
    assert list(double.map([], chunksize=50)) == []
    assert list(sandbox(pow).starmap([(2, 3), (3, 2)], chunksize=50)) == [8, 9]
    assert list(sandbox(pow).map([2, 3], [3, 2], chunksize=2, ahead=1)) == [8, 9]


def test_they_are_taken_and_given_as_they_are_needed() -> None:
    seen: list[int] = []

    def source() -> Iterator[int]:
        for number in count():
            seen.append(number)
            yield number

    results = double.map(source(), chunksize=10, ahead=2)
    assert not seen
    assert [next(results) for _ in range(11)] == list(range(0, 22, 2))
    assert len(seen) == 30
    results.close()  # type: ignore[attr-defined]
    until(lambda: belljar.statistics().busy == 0)


def test_an_exception_is_that_of_a_single_call() -> None:
    with pytest.raises(KeyError) as alone:
        divides(0)
    found, error = taken(divides.map([3, 2, 0, 1], chunksize=50))
    assert found == [2.0, 3.0] and isinstance(error, KeyError) and isinstance(error, belljar.GuestError)
    assert error.args == ("nothing", 0) and error.causes == ("ZeroDivisionError: division by zero",)
    single: Any = alone.value
    for name in ("type_name", "message", "traceback", "line", "column", "causes", "hint", "args", "exit_code"):
        assert getattr(error, name) == getattr(single, name), name
    assert error.outcome is not None and error.outcome.status == "raised"
    assert error.outcome.stdout == "item 3\nitem 2\nitem 0\n"


def test_one_that_raises_ends_its_chunk(tmp_path: Path) -> None:
    """As a map ends there anyway. With outcomes all of them run."""

    @sandbox(mount=f"{tmp_path}:/seen:rw")
    def marks(number: int) -> int:
        open(f"/seen/{number}", "w").close()
        return 6 // number

    found, error = taken(marks.map([1, 2, 0, 3], chunksize=4))
    assert found == [6, 3] and isinstance(error, ZeroDivisionError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]
    outcomes = list(marks.map([1, 0, 3], chunksize=4, outcomes=True))
    assert [outcome.value for outcome in outcomes] == [6, None, 2]
    assert (tmp_path / "3").exists()


def test_outcomes_have_their_own_ends_and_the_facts_of_the_process() -> None:
    alone = divides.outcome(0)
    outcomes = list(divides.map([3, 0, 2], outcomes=True, chunksize=50))
    assert [outcome.status for outcome in outcomes] == ["returned", "raised", "returned"]
    assert [outcome.value for outcome in outcomes] == [2.0, None, 3.0]
    assert [(outcome.exit_code, outcome.ok) for outcome in outcomes] == [(0, True), (1, False), (0, True)]
    error, single = outcomes[1].exception, alone.exception
    assert isinstance(error, KeyError) and single is not None
    for name in ("type_name", "message", "traceback", "line", "column", "causes", "hint", "args"):
        assert getattr(error, name) == getattr(single, name), name
    assert error.outcome is outcomes[1] and "KeyError" in outcomes[1].for_model()
    assert {outcome.stdout for outcome in outcomes} == {"item 3\nitem 0\nitem 2\n"}
    assert len({outcome.usage.wall for outcome in outcomes}) == 1
    with pytest.raises(KeyError):
        outcomes[1].check()

    # The hint is that of this jar.
    @sandbox(memory="300M")
    def hungry(number: int) -> int:
        raise MemoryError

    (outcome,) = hungry.map([1], outcomes=True, chunksize=2)
    assert outcome.exception is not None and "300M" in str(outcome.exception.hint)


@pytest.mark.parametrize("way", ["exit", "_exit", "kill", "loop", "memory"])
def test_a_process_that_dies_keeps_what_was_done(way: str) -> None:
    limited = ends.options(timeout=1 if way == "loop" else 60, memory="100M")
    rows = [(number, way) for number in range(6)]
    found, error = taken(limited.starmap(rows, chunksize=6))
    assert found == [0, 1, 2] and isinstance(error, belljar.GuestError)
    if way in ("exit", "_exit"):
        assert error.exit_code == 7
    assert isinstance(error, belljar.TimeoutExceeded) == (way == "loop")
    outcomes = list(limited.starmap(rows, chunksize=4, outcomes=True))
    assert [outcome.value for outcome in outcomes] == [0, 1, 2, None, 4, 5]
    if way == "memory":
        # An exception where the limit is one on addresses: then it is like any other.
        assert not outcomes[3].ok
        return
    assert [outcome.status for outcome in outcomes[:3]] == ["returned"] * 3
    assert type(outcomes[3].exception) is type(error) and outcomes[3].exit_code == error.exit_code
    # Where it was the first of its chunk, all of the chunk have its end.
    ended = list(limited.starmap(rows[3:], chunksize=4, outcomes=True))
    assert [outcome.status for outcome in ended] == [outcomes[3].status] * 3


def test_what_short_calls_did_just_before_may_be_lost_but_nothing_else() -> None:
    @sandbox
    def quits(number: int) -> int:
        import os

        if number == 1000:
            os._exit(1)
        return number

    found, error = taken(quits.map(range(1500), chunksize=1500))
    assert isinstance(error, belljar.GuestError) and len(found) <= 1000 and found == list(range(len(found)))


def test_a_value_that_cannot_leave_is_its_own_alone() -> None:
    @sandbox
    def some(number: int) -> object:
        return {"deep": [object()]} if number == 2 else number

    found, error = taken(some.map(range(4), chunksize=4))
    assert found == [0, 1] and isinstance(error, ValueRefused)
    with pytest.raises(ValueRefused) as alone:
        some(2)
    assert str(error) == str(alone.value) and "result['deep'][0] is of type builtins.object" in str(error)
    outcomes = list(some.map(range(4), chunksize=4, outcomes=True))
    assert [outcome.value for outcome in outcomes] == [0, 1, None, 3]
    assert "result['deep'][0]" in str(outcomes[2].exception)
    # A generator cannot, by itself.
    streams: Any = sandbox(lambda number: (number for _ in "x"))
    with pytest.raises(ValueRefused, match="generator"):
        list(streams.map([1], chunksize=2))


@dataclass
class Small:
    number: int

    def __post_init__(self) -> None:
        # Only the class of the host refuses.
        if self.number == 1 and os.getcwd() != "/jar":
            raise ValueError("too much")


def test_a_class_that_refuses_one_refuses_no_other() -> None:
    @sandbox
    def small(number: int) -> Small:
        return Small(number)

    found, error = taken(small.map([0, 2, 1, 3], chunksize=4))
    assert found == [Small(0), Small(2)] and isinstance(error, ValueRefused) and "too much" in str(error)
    outcomes = list(small.map([0, 1, 2], chunksize=3, outcomes=True))
    assert [outcome.value for outcome in outcomes] == [Small(0), None, Small(2)]
    assert [outcome.ok for outcome in outcomes] == [True] * 3 and "too much" in str(outcomes[1].refused)


def test_what_cannot_be_sent_is_named_by_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(number, {"lock": threading.Lock() if number == 7 else None}) for number in range(9)]
    first: Any = sandbox(lambda number, more: number)
    with pytest.raises(ValueRefused, match=r"cannot send items\[7\]\[1\]\['lock'\] \(lock\)"):
        list(first.starmap(rows, chunksize=5))
    monkeypatch.setattr(frames, "MOST_BODY", 100_000)
    texts = ["x"] * 5 + ["x" * 60_000, "x" * 70_000]
    with pytest.raises(ValueRefused, match=r"cannot send items\[6\] \(tuple\): .* in all, and a call takes"):
        list(sandbox(len).map(texts, chunksize=4))
    assert list(sandbox(len).map(texts, chunksize=1)) == [1] * 5 + [60_000, 70_000]


def test_large_values_and_objects_go_in_and_out() -> None:
    class Thing:
        def __init__(self, size: int) -> None:
            self.size = size

    @sandbox
    def grows(thing: Any) -> bytes:
        return b"x" * int(thing.size)

    sizes = [10, 100_000, 200_000]
    assert [len(value) for value in grows.map([Thing(size) for size in sizes], chunksize=2)] == sizes


def test_tasks_and_coroutines(capsys: pytest.CaptureFixture[str]) -> None:
    @sandbox
    async def later(number: int) -> int:
        await asyncio.sleep(0)
        print("later", number)
        return 6 // number

    async def main() -> tuple[Any, ...]:
        values = [value async for value in later.map([1, 2, 3], chunksize=2)]
        outcomes = [outcome async for outcome in later.starmap([(1,), (0,), (3,)], chunksize=3, outcomes=True)]
        found = []
        try:
            async for value in later.map([1, 0, 3], chunksize=3):
                found.append(value)
        except ZeroDivisionError as error:
            return values, [outcome.value for outcome in outcomes], found, error
        return ()

    values, from_outcomes, found, error = asyncio.run(main())
    assert (values, from_outcomes, found) == ([6, 3, 2], [6, None, 2], [6])
    assert isinstance(error, belljar.GuestError) and error.line is not None
    assert capsys.readouterr().out.startswith("later 1\nlater 2\nlater 3\n")


def test_files_of_a_chunk() -> None:
    @sandbox(files={"in": "x"})
    def appends(number: int) -> str:
        with open("in", "a") as file:
            file.write(str(number))
        with open("in") as file:
            return file.read()

    outcomes = list(appends.map([1, 2], chunksize=2, outcomes=True))
    assert [outcome.value for outcome in outcomes] == ["x1", "x12"]
    assert [outcome.files["in"].text() for outcome in outcomes] == ["x12", "x12"]


@pytest.mark.parametrize(
    "said",
    [
        "'nonsense'",
        "(1, 2, 3)",
        "([1], [])",
        "([1, 2, 3, 4], {})",
        "({1: 2}, {})",
    ],
)
def test_a_guest_that_lies_is_refused(said: str) -> None:
    @sandbox
    def lies(number: int, said: str) -> int:
        import sys

        frame = sys._getframe(2)
        results = frame.f_locals["results"]
        results.send(*frame.f_globals["frame"](16, *results.encode(eval(said))))
        return number

    found, error = taken(lies.starmap([(0, said), (1, said), (2, said)], chunksize=3))
    assert found == [] and isinstance(error, ValueRefused) and "something else than the results" in str(error)
    outcomes = list(lies.starmap([(0, said), (1, said)], chunksize=2, outcomes=True))
    assert [(outcome.value, outcome.ok) for outcome in outcomes] == [(None, True)] * 2
    assert all("something else than the results" in str(outcome.refused) for outcome in outcomes)


@pytest.mark.parametrize("said", ["b'no report'", "b''", "b'x' * (2 << 20)", "3", "None", "b'{}'"])
def test_a_report_that_is_none_is_an_exception_without_words(said: str) -> None:
    @sandbox
    def lies(number: int, said: str) -> int:
        import sys

        results = sys._getframe(2).f_locals["results"]
        results.reported = lambda _: eval(said)
        return 1 // 0

    (outcome,) = lies.starmap([(0, said)], chunksize=2, outcomes=True)
    if said == "None":
        # It says that nothing was raised.
        assert outcome.ok and outcome.value is None
    else:
        assert outcome.status == "raised" and str(outcome.exception) == "the guest raised an exception"


def test_results_that_never_come_are_missed() -> None:
    @sandbox
    def keeps(number: int) -> int:
        import sys

        sys._getframe(2).f_locals["results"].send = lambda *_: None
        return number

    found, error = taken(keeps.map([1, 2], chunksize=2))
    assert found == [] and "gave no result for 2 items" in str(error)
    outcomes = list(keeps.map([1, 2], chunksize=2, outcomes=True))
    assert ["no result" in str(outcome.refused) for outcome in outcomes] == [True, True]


@pytest.mark.parametrize("wrong", [0, -1, 4097, True, "50", 2.0, None])
def test_mistakes(wrong: Any) -> None:
    kind = ValueError if type(wrong) is int else TypeError
    with pytest.raises(kind, match=r"chunksize=.*: is how many items share one process, from 1 to 4096"):
        double.map([1], chunksize=wrong)
