"""Reads the columns that a guest wrote. Every byte here is hostile until it is checked.

Each column of n values takes at least n bytes of the input, each buffer is used once and in order, and what a column
will cost in memory is charged before it is made: so a short input cannot become a large value. Between the parts the
time is looked at: so it cannot become a long wait either.
"""

from __future__ import annotations

import sys
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING

from belljar._errors import ValueRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from belljar._values.annotation import Classes

    Column = list[Any]
    # How an item is reached: which of the values around it holds it, and the text that leads on from there; or that
    # text alone, where item and holder have the same number. None is inside something that has no paths of its own.
    Step = Callable[[int], tuple[int, str | None]] | str | None

LAYOUT = 1
DEPTH = 200
# Bytes of memory that a value may take, and so many times what came over the wire besides.
ROOM, TIMES = 1 << 30, 32
# Steps that it may take to compare keys which share a hash, and as many as bytes came besides.
STEPS = 1 << 22
# Processor seconds that it may take to read a value, and as many for each byte that came besides. For each byte, small
# frames and dicts of honest guests take as long as what was chosen to be slow: so only their number tells them apart.
SECONDS, SECONDS_A_BYTE = 10.0, 100e-9
# So many values are made between two looks at the time.
BATCH = 1 << 10
# Where the reader of a tag is. No name in here comes from a guest.
READERS = {
    **dict.fromkeys(b"Nbifcsya", "atoms"),
    **dict.fromkeys(b"ltqhzdrRuoCD", "containers"),
    **dict.fromkeys(b"ABEGMQUPg", "standard"),
    **dict.fromkeys(b"eOk", "objects"),
    **dict.fromkeys(b"xX", "arrays"),
    **dict.fromkeys(b"W", "pandas"),
    **dict.fromkeys(b"L", "polars"),
}
found: dict[int, Callable[[Reader, int], Column]] = {}


class Reader:
    """A place in the head, the buffers that are left, and the room that is left."""

    def __init__(
        self, head: bytes | memoryview, buffers: Sequence[memoryview], classes: Classes | None, room: int | None
    ) -> None:
        self.view = memoryview(head).cast("B").toreadonly()
        self.buffers = [memoryview(buffer).cast("B") for buffer in buffers]
        self.classes = classes
        self.at = self.used = self.depth = self.keys = 0
        self.spent = 0.0
        self.trail: list[Step] = []
        # Which value of the column that is read now is being made.
        self.row = 0
        size = len(self.view) + sum(map(len, self.buffers))
        # No column is longer than this.
        self.most = size
        self.room = (ROOM if room is None else room) + TIMES * size
        self.steps = STEPS + size
        self.until = thread_time() + SECONDS + SECONDS_A_BYTE * size

    def value(self) -> Any:
        """The one value of the input, all of which must be used."""
        if self.byte() != LAYOUT:
            raise malformed("another layout")
        result = self.column(1)[0]
        if self.at != len(self.view) or self.used != len(self.buffers):
            raise malformed("something left over")
        return result

    def column(self, count: int, step: Step = "") -> Column:
        """The next `count` values, one at least; `step` leads there from what holds them."""
        self.depth += 1
        if self.depth > DEPTH:
            raise malformed("too many levels")
        self.watch()
        self.trail.append(step)
        tag = self.byte()
        read = found.get(tag)
        if read is None:
            read = find(tag)
        values = read(self, count)
        if len(values) != count:
            raise malformed("a wrong number of values")
        self.depth -= 1
        self.trail.pop()
        return values

    def module(self, name: str, fix: str) -> Any:
        """A package that a tag stands for; `name` is never the guest's."""
        try:
            return import_module(name)
        except Exception:
            raise self.lacking(f"is of {name}, which is not installed here", f"install {name}, or {fix}") from None

    def lacking(self, what: str, fix: str) -> ValueRefused:
        """The guest may return this, but it cannot be had here."""
        return ValueRefused(f"{self.path(self.row)} {what}"[:1000], fix)

    def path(self, index: int) -> str:
        """Where in the value that item of the column is which is read now."""
        texts: list[str] = []
        for step in reversed(self.trail):
            index, text = step(index) if callable(step) else (index, step)
            if text is None:
                texts.clear()
            elif text:
                texts.append(text)
        return "result" + "".join(reversed(texts))

    def charge(self, size: int) -> None:
        """Takes so many bytes off the room, before they are allocated."""
        self.room -= size
        if self.room < 0:
            raise ValueRefused("the guest's value takes far more memory than what it sent", "return less at once")

    def watch(self, ahead: float = 0) -> None:
        """Refuses a value that takes too long, or would with `ahead` more seconds, which nobody could interrupt."""
        if thread_time() + ahead > self.until:
            raise ValueRefused("the guest's value takes far longer to read than what it sent", "return less at once")

    def watched(self, items: Iterable[Any], batch: int = BATCH) -> Iterator[Any]:
        """The same items, with a look at the time every now and then."""
        for place, item in enumerate(items):
            if place % batch == 0:
                self.watch()
            yield item

    def each(self, make: Callable[..., Any], *columns: Column) -> Column:
        """What `make` gives for each row of the columns; for what is quicker than `watched` is."""
        made: Column = []
        for start in range(0, len(columns[0]), BATCH):
            self.watch()
            made += map(make, *[column[start : start + BATCH] for column in columns])
        return made

    def compare(self, steps: int) -> None:
        """Takes so many steps off those that are left, before anything is compared."""
        self.steps -= steps
        if self.steps < 0:
            raise malformed("keys that were chosen to be slow")

    def byte(self) -> int:
        self.at += 1
        return self.view[self.at - 1]

    def next_byte(self) -> int:
        """Without taking it; 0 at the end, which is no tag."""
        return self.view[self.at] if self.at < len(self.view) else 0

    def word(self) -> int:
        return int.from_bytes(self.inline(4), "little")

    def inline(self, size: int) -> memoryview:
        start, self.at = self.at, self.at + size
        if self.at > len(self.view):
            raise malformed("an early end")
        return self.view[start : self.at]

    def blob(self, size: int | None = None) -> memoryview:
        """Bytes in the head or, if there were many, a buffer: then they are ours to keep and to change."""
        word = self.word()
        if word & 1:
            if word >> 1 != self.used or self.used == len(self.buffers):
                raise malformed("a buffer out of order")
            data = self.buffers[self.used]
            self.used += 1
        else:
            data = self.inline(word >> 1)
        if size is not None and len(data) != size:
            raise malformed("a wrong size")
        return data

    def numbers(self, count: int) -> list[int]:
        """Integers of any size."""
        width = self.byte()
        if width in (1, 8):
            return self.words(width, count)
        if width != 0:
            raise malformed("a wrong width")
        sizes = self.words(self.byte(), count)
        data = bytes(self.blob())
        self.charge(len(data) + 48 * count)
        if min(sizes) < 1 or sum(sizes) != len(data):
            raise malformed("wrong lengths")
        return [int.from_bytes(piece, "little", signed=True) for piece in cut(data, sizes)]

    def words(self, width: int, count: int) -> list[int]:
        if width == 1:
            data = self.blob(count)
            self.charge(8 * count)
            return data.tolist()
        if width != 8:
            raise malformed("a wrong width")
        data = self.blob(8 * count)
        self.charge(40 * count)
        return data.cast("q").tolist()

    def lengths(self, count: int) -> int | list[int]:
        """One length for all, or each its own; together no more than the input could hold."""
        if self.next_byte() == 2:
            size = int.from_bytes(self.inline(9)[1:], "little")
            if size == 0 or size * count > self.most:
                raise malformed("a wrong length")
            return size
        sizes = self.numbers(count)
        if min(sizes) < 0 or sum(sizes) > self.most:
            raise malformed("wrong lengths")
        return sizes

    def texts(self, count: int) -> list[str]:
        """Strings, any code point allowed."""
        mode = self.byte()
        sizes = None if mode == 0 else self.lengths(count)
        data = self.blob()
        # A single wide character makes four bytes of each for a moment.
        self.charge(5 * len(data) + 64 * count)
        text = str(data, "utf-8", "surrogatepass")
        if sizes is None:
            if text.count("\0") != count - 1:
                raise malformed("a wrong number of strings")
            return text.split("\0")
        if mode != 1 or total(sizes, count) != len(text):
            raise malformed("wrong lengths")
        return cut(text, sizes)


def find(tag: int) -> Callable[[Reader, int], Column]:
    name = READERS.get(tag)
    if name is None:
        raise malformed(f"the unknown tag {tag}")
    found.update(import_module(f"belljar._values.{name}").READERS)
    return found[tag]


def malformed(what: str) -> ValueRefused:
    """No guest of ours writes this."""
    return ValueRefused(f"the guest sent a value that is malformed: {what}")


def parts(value: Any, least: int, most: int | None = None) -> list[Any] | tuple[Any, ...]:
    """What is to be taken apart, of so many parts. A guest's range is as long as it says, and costs nothing before."""
    if type(value) not in (list, tuple) or not least <= len(value) <= (least if most is None else most):
        raise malformed("a wrong number of parts")
    return value  # type: ignore[no-any-return]


def total(sizes: int | list[int], count: int) -> int:
    return sizes * count if isinstance(sizes, int) else sum(sizes)


def cut(whole: Any, sizes: int | list[int], watch: Callable[[], None] = lambda: None) -> list[Any]:
    """Pieces of those lengths, which have been checked to add up."""
    start, pieces = 0, []
    if isinstance(sizes, int):
        if sizes == len(whole):
            return [whole]
        for start in range(0, len(whole), sizes * BATCH):
            watch()
            ends = range(start, min(start + sizes * BATCH, len(whole)), sizes)
            pieces += [whole[place : place + sizes] for place in ends]
        return pieces
    for first in range(0, len(sizes), BATCH):
        watch()
        for size in sizes[first : first + BATCH]:
            pieces.append(whole[start : start + size])
            start += size
    return pieces


# Without it a guest could choose strings that all fall together.
RANDOM_HASHES = bool(sys.flags.hash_randomization)
