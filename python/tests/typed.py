"""What mypy must see in decorated functions; test_typing.py runs it over this file. A line that must be refused says so."""

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
    one("x")  # refused: arg-type
    one(1, wrod="x")  # refused: call-arg
    run("1", memroy=1)  # refused: call-arg
    run("1", raises=[KeyError])  # refused: call-arg
    Sandbox(raises=[KeyError, 5])  # refused: list-item
    assert_type(one.options(raises=[KeyError])(3), list[int])
    assert_type(outcome_of(KeyError()), Outcome | None)
    sandbox(timeout=[])  # refused: call-overload
    Sandbox().call(one, "x")  # refused: call-overload


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
    thing.method("x")  # refused: arg-type
    Thing.below("x")  # refused: arg-type
    thing.below("x")  # refused: arg-type
    Thing.static_below("x")  # refused: arg-type
    thing.static_above("x")  # refused: arg-type
    thing.method.outcome(1)  # refused: attr-defined


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
    await two("x")  # refused: arg-type
