"""Typed code of a user: mypy and pyright both accept it, as strict as they are.

A line that they must refuse has a comment for each of them; a comment without need is an error, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future
from typing import Any

from typing_extensions import assert_type

from belljar import Outcome, Sandbox, SandboxExecutor, Statistics, Warmed, outcome_of, run, sandbox, statistics


@sandbox(memory="512M")
def one(number: int, *, word: str = "") -> list[int]:
    return [number]


@sandbox
async def two(number: int) -> str:
    return ""


@sandbox
def items(to: int) -> Generator[int, None, str]:
    yield to
    return ""


@sandbox
async def aitems(to: int) -> AsyncIterator[bytes]:
    yield b""


class Thing:
    @sandbox
    def method(self, number: int) -> float:
        return 1.0

    @sandbox
    async def amethod(self, number: int) -> str:
        return ""

    @sandbox
    def streams(self, number: int) -> Iterator[int]:
        yield number

    @classmethod
    @sandbox
    def below(cls, number: int) -> Thing:
        return cls()

    @classmethod
    @sandbox(timeout=5)
    async def abelow(cls, number: int) -> str:
        return ""

    @sandbox
    @classmethod
    def above(cls, number: int, *, word: str = "") -> float:
        return 1.0

    @staticmethod
    @sandbox(timeout=5)
    def static_below(number: int) -> bytes:
        return b""

    @sandbox(timeout=5)
    @staticmethod
    def static_above(number: int) -> list[str]:
        return []

    @sandbox(timeout=5)
    @classmethod
    async def aabove(cls, number: int) -> bytes:
        return b""

    @staticmethod
    @sandbox
    async def astatic_below(number: int) -> str:
        return ""

    @sandbox
    @staticmethod
    async def astatic_above(number: int) -> str:
        return ""

    @classmethod
    @sandbox
    def streams_below(cls, number: int) -> Iterator[int]:
        yield number

    @staticmethod
    @sandbox
    def compare(one: Thing, other: Thing) -> bool:
        return one is other

    @sandbox
    @staticmethod
    def compare_above(one: Thing, other: Thing) -> bool:
        return one is other

    @sandbox
    async def astreams(self, number: int) -> AsyncIterator[int]:
        yield number


class Part(Thing):
    pass


def calls() -> None:
    assert_type(one(3, word="x"), list[int])
    assert_type(one.outcome(3), Outcome)
    assert_type(one.options(timeout=1)(3), list[int])
    assert_type(one.map([1, 2]), Iterator[list[int]])
    assert_type(one.starmap([(1,)], outcomes=True), Iterator[Outcome])
    assert_type(one.map([1, 2], chunksize=50), Iterator[list[int]])
    assert_type(one.options(files={"a": b""}, collect="1M")(3), list[int])
    assert_type(items(3), Generator[int, None, str])
    assert_type(one.warm(), Warmed)
    assert_type(items.warm(2).left_out, dict[str, str])
    assert_type(Sandbox().warm(), Warmed)
    assert_type(statistics(), Statistics)
    assert_type(Sandbox().call(one.__wrapped__, 3), Any)
    assert_type(Sandbox().call(one, 3), list[int])
    assert_type(Sandbox().call(two, 3), str)
    assert_type(SandboxExecutor(1).submit(one, 3), Future[list[int]])
    like: Callable[[int], Coroutine[Any, Any, str]] = two
    assert like is two
    one("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    one(1, wrod="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    one.options(tiemout=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    one.warm("2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    items("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    run("1", memroy=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    run("1", raises=[KeyError])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Sandbox(raises=[KeyError, 5])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    assert_type(one.options(raises=[KeyError])(3), list[int])
    assert_type(outcome_of(KeyError()), Outcome | None)
    sandbox(timeout=[])  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    Sandbox().call(one, "x")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def methods(thing: Thing, part: Part) -> None:
    assert_type(thing.method(1), float)
    assert_type(Thing.method(thing, 1), float)
    assert_type(Thing.method.outcome(thing, 1), Outcome)
    assert_type(part.method(1), float)
    assert_type(thing.streams(1), Iterator[int])
    assert_type(Thing.below(1), Thing)
    assert_type(thing.below(1), Thing)
    assert_type(Part.below(1), Thing)
    assert_type(Thing.above(1, word="x"), float)
    assert_type(thing.above(1), float)
    assert_type(Thing.static_below(1), bytes)
    assert_type(thing.static_below(1), bytes)
    assert_type(Thing.static_below.outcome(1), Outcome)
    assert_type(Thing.static_above(1), list[str])
    assert_type(thing.static_above(1), list[str])
    assert_type(thing.method(number=1), float)
    assert_type(Thing.method.map([thing], [1]), Iterator[float])
    assert_type(Thing.method.options(timeout=1)(thing, 1), float)
    assert_type(thing.streams_below(1), Iterator[int])
    assert_type(Thing.streams_below(1), Iterator[int])
    assert_type(Thing.compare(thing, thing), bool)
    assert_type(Thing.compare_above(thing, thing), bool)
    thing.method("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Thing.below("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    thing.below("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Thing.above("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Thing.compare(thing, 1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Thing.static_below("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    thing.static_above("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    thing.method.outcome(1)  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]


async def tasks(thing: Thing) -> None:
    assert_type(await two(1), str)
    assert_type(await two.outcome(1), Outcome)
    assert_type(await two.options(timeout=1)(1), str)
    assert_type(two.map([1]), AsyncIterator[str])
    assert_type(two.starmap([(1,)], outcomes=True, chunksize=50), AsyncIterator[Outcome])
    assert_type(await Sandbox(files={"a": b""}).aoutcome(one, 1), Outcome)
    assert_type(aitems(1), AsyncIterator[bytes])
    assert_type(await two.warm(), Warmed)
    assert_type(await aitems.warm(), Warmed)
    assert_type(await Sandbox().awarm(2), Warmed)
    assert_type(await thing.amethod(1), str)
    assert_type(await Thing.abelow(1), str)
    assert_type(await Sandbox().acall(one, 1), list[int])
    assert_type(await Sandbox().acall(two, 1), str)
    assert_type(await Thing.aabove(1), bytes)
    assert_type(await thing.aabove(1), bytes)
    assert_type(await Thing.astatic_below(1), str)
    assert_type(await thing.astatic_below(1), str)
    assert_type(await Thing.astatic_above(1), str)
    assert_type(await thing.astatic_above(1), str)
    assert_type(thing.astreams(1), AsyncIterator[int])
    await thing.amethod("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await Thing.aabove("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await thing.astatic_below("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await two("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
