"""What is too large to cross the glass is refused at once, with a figure and a way out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import belljar
from belljar import Sandbox, ValueRefused, run, sandbox
from belljar import _frames as frames
from belljar._bounds import figure

GIB = 1 << 30
# No page of it is ever touched.
TOO_MUCH = bytes(GIB + GIB // 10)
LARGE = b"\1" * (17 << 20)


@sandbox
def size(value: Any, *more: Any, **named: Any) -> int:
    return len(value)


def refused(call: Any, told: str, hint: str) -> None:
    before = belljar.statistics()
    with pytest.raises(ValueRefused, match=told) as caught:
        call()
    assert caught.value.hint is not None and hint in caught.value.hint
    # Nothing ran for it, on a worker or without.
    after = belljar.statistics()
    assert (before.jobs, before.cold) == (after.jobs, after.cold)


def test_figures_are_for_people() -> None:
    assert [figure(size) for size in (1, 1 << 10, 1536, 300 << 20, GIB)] == [
        "1 bytes",
        "1 KiB",
        "1.5 KiB",
        "300 MiB",
        "1 GiB",
    ]
    # What is over a bound is told as more than the bound.
    assert figure(GIB + 1) == "1.01 GiB"


def test_arguments_of_more_than_a_frame() -> None:
    size(b"")
    hint = "write it to a file and show that with mount=, or send it piece by piece with files="
    told = r"cannot send {} \({}\): 1.1\d? GiB, and a call takes 1 GiB"
    refused(lambda: size(TOO_MUCH), told.format(r"args\[0\]", "bytes"), hint)
    refused(lambda: size(b"", 1, word=TOO_MUCH), told.format(r"arguments\['word'\]", "bytes"), hint)
    refused(lambda: size("x" * 10, bytearray(len(TOO_MUCH))), told.format(r"args\[1\]", "bytearray"), hint)
    refused(lambda: run("1", inputs={"a": 1, "b": TOO_MUCH}), told.format(r"inputs\['b'\]", "bytes"), hint)
    refused(lambda: run("1", files={"a": b"", "b": TOO_MUCH}), told.format(r"files\['b'\]", "bytes"), "with mount=")
    refused(lambda: run("1", stdin=TOO_MUCH), told.format("stdin", "bytes"), "with mount=")
    with Sandbox() as box:
        refused(lambda: box.call(size.__wrapped__, TOO_MUCH), told.format(r"args\[0\]", "bytes"), hint)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        file.truncate(5 * GIB)
    told = r"cannot send files\['a'\] \(PosixPath\): 5 GiB, and a call takes 1 GiB"
    refused(lambda: sandbox(files={"a": source})(size.__wrapped__)(b""), told, "show it with mount=")


def test_what_is_known_only_when_it_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with a bound that is cheap to pass."""
    rows, small = list(range(100_000)), list(range(10))
    assert size(rows) == len(rows)
    monkeypatch.setattr(frames, "MOST_BODY", 100_000)
    told = r"cannot send args\[1\] \(list\): \d+(\.\d+)? KiB, and a call takes 97.66 KiB"
    refused(lambda: size(small, rows), told, "mount=")
    assert size(small, small) == 10
    # Two that are too large only together.
    refused(lambda: size(b"x" * 60_000, b"y" * 60_000), r"\(bytes\): 117.19 KiB in all, and", "mount=")

    table = ["x" * 1000 + str(number) for number in range(200)]

    @sandbox
    def looks_up(number: int) -> str:
        return table[number]

    refused(lambda: looks_up(1), r"cannot send .*looks_up\(\) \(function\): \d+(\.\d+)? KiB, and", "mount=")
    del table[2:]
    assert looks_up(1).endswith("1")


def test_too_many_parts_and_names(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {str(number): b"" for number in range(70_000)}
    refused(lambda: run("1", files=many), "cannot send 70,001 arrays, files and other parts at once", "fewer")
    monkeypatch.setattr(frames, "MOST_HEADER", 1000)
    told = r"args=, env= and the names of files= take [\d.]+ KiB, and a job takes 1 MiB of them"
    refused(lambda: run("1", args=["x" * 2000]), told, "mount=")


def test_arguments_of_more_than_the_jar_may_have() -> None:
    tight = size.options(memory="16M")
    told = "cannot send the arguments: 17.0 MiB, and the jar has 16 MiB of memory"
    assert size(LARGE) == len(LARGE)
    refused(lambda: tight(LARGE), told, "give it more with memory=, or give the data as a file: with mount=")
    refused(lambda: tight.outcome(LARGE), told, "memory=")
    refused(lambda: run("len(x)", inputs={"x": LARGE}, memory="16M"), told, "memory=")
    with Sandbox() as box:
        assert box.run("len(x)", inputs={"x": LARGE}).value == len(LARGE)
        refused(lambda: box.run("len(x)", inputs={"x": LARGE}, memory="16M"), told, "memory=")

    async def task() -> None:
        await belljar.arun("len(x)", inputs={"x": LARGE}, memory="16M")

    refused(lambda: asyncio.run(task()), told, "memory=")


def test_files_of_more_than_the_disk(tmp_path: Path) -> None:
    content, told = b"x" * 100_000, "cannot send the job's files: 97.7 KiB, and the jar has 64 KiB of disk"
    few = sandbox(disk="64K", files={"a": content[:50_000], "b": content[50_000:]})(size.__wrapped__)
    refused(lambda: few(b""), told, "give it more with disk=, or show their folder with mount=")
    assert few.options(disk="10M")(b"") == 0
    # A folder of the host has its own room.
    assert few.options(workdir=tmp_path)(b"") == 0 and (tmp_path / "b").stat().st_size == 50_000


def test_results_are_refused_in_the_guest() -> None:
    """Zero pages again: the guest looks at the size before it copies anything."""
    told = r"result takes 1.01 GiB, and a call gives back 1 GiB"

    @sandbox(memory="3G")
    def zeros(most: int) -> bytes:
        return bytes(most)

    @sandbox(memory="3G")
    def streams(most: int) -> Iterator[bytes]:
        yield b"first"
        yield bytes(most)

    with pytest.raises(ValueRefused, match=told) as caught:
        zeros(GIB + 1)
    assert caught.value.hint is not None and "outcome.files" in caught.value.hint and "mount=" in caught.value.hint
    outcome = zeros.outcome(GIB + 1)
    assert outcome.status == "raised" and told in str(outcome.exception)
    items = streams(GIB + 1)
    assert next(items) == b"first"
    with pytest.raises(ValueRefused, match=told):
        next(items)
    assert told in str(run(f"bytes({GIB + 1})", memory="3G").refused)
