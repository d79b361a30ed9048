"""Generators: items come one by one, and the guest waits when the host does not take them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import belljar
from belljar import sandbox


@sandbox
def counts(most: int) -> Iterator[int]:
    for number in range(most):
        print("item", number)
        yield number
    return most  # type: ignore[return-value]


@sandbox
async def acounts(most: int) -> AsyncIterator[int]:
    for number in range(most):
        yield number


def test_generators_stream(capsys: pytest.CaptureFixture[str]) -> None:
    assert inspect.isgeneratorfunction(counts) and inspect.isasyncgenfunction(acounts)
    assert list(counts(50)) == list(range(50))
    assert capsys.readouterr().out.count("item") == 50

    def value() -> Iterator[int]:
        generator: Any = counts(3)
        result = yield from generator
        yield result * 100

    assert list(value()) == [0, 1, 2, 300]

    async def main() -> list[int]:
        return [number async for number in acounts(20)]

    assert asyncio.run(main()) == list(range(20))


def test_a_generator_waits_for_its_host(tmp_path: Path) -> None:
    @sandbox(mount=f"{tmp_path}:/box:rw", timeout=30)
    def eager() -> Iterator[int]:
        for number in range(10_000):
            with open("/box/made", "w") as file:
                file.write(str(number))
            yield number

    items = eager()
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    # It stands still somewhere near, because nobody takes more.
    import time

    before = None
    while before != (before := (tmp_path / "made").read_text()) or not before:
        time.sleep(0.3)
    assert int(before) <= 3 + 2 * 16
    items.close()  # type: ignore[attr-defined]


def test_a_generator_that_raises() -> None:
    @sandbox
    def breaks() -> Iterator[int]:
        yield 1
        raise StopAsyncIteration("odd")

    items = breaks()
    assert next(items) == 1
    with pytest.raises(belljar.GuestError, match="odd") as caught:
        next(items)
    assert not isinstance(caught.value, StopAsyncIteration)


@sandbox
def yields_then_fails(name: str) -> Iterator[int]:
    yield 1
    raise getattr(__import__("builtins"), name)("text")


def test_exceptions_that_end_generators_are_raised_as_others() -> None:
    for name in (
        "StopIteration",
        "GeneratorExit",
        "KeyboardInterrupt",
        "StopAsyncIteration",
        "RuntimeError",
        "SystemExit",
    ):
        seen = []
        with pytest.raises(belljar.GuestError):
            for item in yields_then_fails(name):
                seen.append(item)
        assert seen == [1], name


def test_a_guest_that_closes_its_socket_is_not_run_again() -> None:
    """What it leaves unread there looks to the kernel as if it had not read its job."""

    @sandbox(timeout=2)
    def leaves() -> Iterator[float]:
        import os
        import select
        import time

        started = time.time()
        for _ in range(8):
            yield started
        # Leave for more items has come, and stays where it is.
        select.select([3], [], [])
        os.close(3)
        time.sleep(100)

    leaves.warm()
    seen = []
    with pytest.raises(belljar.TimeoutExceeded):
        for started in leaves():
            seen.append(started)
    assert len(seen) == 8 and len(set(seen)) == 1
