"""Columns of values that hold others: their lengths, then one column of all that they hold."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from belljar._values.keys import FEW, check_keys, fair, light, watched_steps
from belljar._values.reader import RANDOM_HASHES, Reader, cut, malformed, total

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from belljar._values.reader import Column, Step

WIDTH = 256
MANY = 64
makers: dict[int, Callable[..., Callable[..., dict[str, Any]]]] = {}


def children(reader: Reader, count: int, cost: int) -> tuple[Column, int | list[int]]:
    """What all of them hold, and how many each."""
    sizes = reader.lengths(count)
    size = total(sizes, count)
    reader.charge(cost * count + 16 * size)
    return reader.column(size, numbered(sizes)) if size else [], sizes


def numbered(sizes: int | list[int], text: Callable[[int, int], str] = lambda _, place: f"[{place}]") -> Step:
    """How items of lists are reached; `text` takes the number among all items and the one in the list."""

    def step(index: int) -> tuple[int, str]:
        if isinstance(sizes, int):
            return index // sizes, text(index, index % sizes)
        holder, place = 0, index
        while place >= sizes[holder]:
            place, holder = place - sizes[holder], holder + 1
        return holder, text(index, place)

    return step


def short(key: object) -> str:
    """A key that a guest chose, in a message."""
    if type(key) not in (str, int, bytes, bool, type(None)) or (type(key) is int and key.bit_length() > 64):
        return "..."
    written = repr(key[:60] if isinstance(key, (str, bytes)) else key)
    return written if len(written) <= 60 else f"{written[:57]}..."


def lists(reader: Reader, count: int) -> Column:
    return cut(*children(reader, count, 64), reader.watch)


def tuples(reader: Reader, count: int) -> Column:
    flat, sizes = children(reader, count, 56)
    if isinstance(sizes, int) and sizes <= 64:
        return list(zip(*[iter(flat)] * sizes, strict=True))
    return reader.each(tuple, cut(flat, sizes, reader.watch))


def sets(reader: Reader, count: int) -> Column:
    return hashed(reader, count, set)


def frozensets(reader: Reader, count: int) -> Column:
    return hashed(reader, count, frozenset)


def hashed(reader: Reader, count: int, kind: type) -> Column:
    sizes = reader.lengths(count)
    size = total(sizes, count)
    reader.charge(232 * count + 64 * size)
    watched = not fair(reader)
    weighed = watched and not light(reader)
    flat = reader.column(size, numbered(sizes, lambda *_: "{...}")) if size else []
    result: list[Any] = []
    for piece in reader.watched(cut(flat, sizes, reader.watch)):
        if weighed:
            check_keys(reader, piece)
        if watched and len(piece) > FEW:
            made: set[Any] = set()
            for step in watched_steps(reader, len(piece)):
                made.update(piece[step])
            result.append(made if kind is set else kind(made))
        else:
            result.append(kind(piece))
    if sum(map(len, result)) != size:
        raise malformed("equal items in a set")
    return result


def dicts(reader: Reader, count: int) -> Column:
    return mappings(reader, count, dict)


def mappings(reader: Reader, count: int, make: Callable[[], Any]) -> Column:
    """Dicts and their like, with keys of any type."""
    sizes = reader.lengths(count)
    size = total(sizes, count)
    reader.charge(64 * count + 160 * size)
    watched = not fair(reader)
    weighed = watched and not light(reader)
    keys = reader.column(size, numbered(sizes, lambda *_: ".key(...)")) if size else []
    values = reader.column(size, numbered(sizes, lambda index, _: f"[{short(keys[index])}]")) if size else []
    result = []
    pairs = zip(cut(keys, sizes, reader.watch), cut(values, sizes, reader.watch), strict=True)
    for names, items in reader.watched(pairs):
        made = make()
        if weighed:
            check_keys(reader, names)
        if watched and len(names) > FEW:
            for step in watched_steps(reader, len(names)):
                fill(made, names[step], items[step])
        else:
            fill(made, names, items)
        if len(made) != len(names):
            raise malformed("equal keys in a dict")
        result.append(made)
    return result


def fill(made: Any, names: Column, items: Column) -> None:
    """Not by `update`, as a Counter would add up; and an OrderedDict knows the order only of what goes through it."""
    if type(made) is dict:
        made.update(zip(names, items, strict=True))
    else:
        for name, item in zip(names, items, strict=True):
            made[name] = item


def records(reader: Reader, count: int) -> Column:
    width = reader.word()
    if not 0 < width <= WIDTH:
        raise malformed("a wrong width")
    names = reader.texts(width)
    if not RANDOM_HASHES:
        check_keys(reader, names)
    if len(set(names)) != width:
        raise malformed("equal keys in a dict")
    reader.charge((64 + 64 * width) * count)
    columns = [reader.column(count, f"[{short(name)}]") for name in names]
    if count < MANY:
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return list(map(maker(width)(*names), *columns))


def maker(width: int) -> Callable[..., Callable[..., dict[str, Any]]]:
    """A function that makes a dict of that many values in one go: half the time of `dict(zip(...))`.

    Its text has numbers in it and nothing of the guest's: the keys are arguments.
    """
    if width not in makers:
        keys, values = (", ".join(f"{letter}{index}" for index in range(width)) for letter in "kv")
        items = ", ".join(f"k{index}: v{index}" for index in range(width))
        makers[width] = eval(f"lambda {keys}: lambda {values}: {{{items}}}")
    return makers[width]


def shapes(reader: Reader, count: int) -> Column:
    sorts = reader.word()
    return spread(reader, count, sorts, True)


def union(reader: Reader, count: int) -> Column:
    return spread(reader, count, reader.word(), False)


def spread(reader: Reader, count: int, sorts: int, only_records: bool) -> Column:
    """Which sort each value is of, then the values of each sort."""
    which = reader.numbers(count)
    if not 0 < sorts <= count or min(which) < 0 or max(which) >= sorts:
        raise malformed("a wrong sort")
    counts = [0] * sorts
    for sort in which:
        counts[sort] += 1
    if 0 in counts:
        raise malformed("a sort without values")
    columns = []
    for sort, size in enumerate(counts):
        if only_records and reader.next_byte() != ord("r"):
            raise malformed("a sort that is no record")
        columns.append(reader.column(size, nth(which, sort)))
    reader.charge(8 * count)
    take = [iter(column).__next__ for column in columns]
    return [take[sort]() for sort in which]


def nth(which: list[int], sort: int) -> Step:
    """How values of one sort are reached: by their number among all."""

    def step(index: int) -> tuple[int, str]:
        places = (place for place, its in enumerate(which) if its == sort)
        return next(islice(places, index, None)), ""

    return step


def deques(reader: Reader, count: int) -> Column:
    from collections import deque

    most = reader.column(count)
    flat, sizes = children(reader, count, 800)
    pieces = cut(flat, sizes, reader.watch)
    for piece, limit in zip(pieces, most, strict=True):
        if limit is not None and (type(limit) is not int or limit < len(piece)):
            raise malformed("a wrong deque")
    return reader.each(deque, pieces, most)


def ordered_dicts(reader: Reader, count: int) -> Column:
    from collections import OrderedDict

    reader.charge(400 * count)
    return mappings(reader, count, OrderedDict)


def counters(reader: Reader, count: int) -> Column:
    from collections import Counter

    reader.charge(200 * count)
    return mappings(reader, count, Counter)


def default_dicts(reader: Reader, count: int) -> Column:
    from collections import defaultdict

    factories = {
        "": None,
        **{kind.__name__: kind for kind in (list, dict, set, int, float, str, bool, tuple, bytes, frozenset, complex)},
    }
    names = reader.texts(count)
    if not factories.keys() >= set(names):
        raise malformed("an unknown default")
    reader.charge(200 * count)
    take = iter(names).__next__
    return mappings(reader, count, lambda: defaultdict(factories[take()]))


READERS = {
    ord("l"): lists,
    ord("t"): tuples,
    ord("h"): sets,
    ord("z"): frozensets,
    ord("d"): dicts,
    ord("r"): records,
    ord("R"): shapes,
    ord("u"): union,
    ord("q"): deques,
    ord("o"): ordered_dicts,
    ord("C"): counters,
    ord("D"): default_dicts,
}
