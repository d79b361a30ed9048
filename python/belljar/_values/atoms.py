"""Columns of values that hold no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belljar._values.reader import Reader, cut, malformed, total

if TYPE_CHECKING:
    from belljar._values.reader import Column


def nones(reader: Reader, count: int) -> Column:
    reader.blob(count)
    reader.charge(8 * count)
    return [None] * count


def booleans(reader: Reader, count: int) -> Column:
    data = reader.blob(count)
    reader.charge(8 * count)
    return list(map(bool, data))


def integers(reader: Reader, count: int) -> Column:
    return reader.numbers(count)


def floats(reader: Reader, count: int) -> Column:
    data = reader.blob(8 * count)
    reader.charge(32 * count)
    return data.cast("d").tolist()


def complexes(reader: Reader, count: int) -> Column:
    data = reader.blob(16 * count)
    reader.charge(96 * count)
    pairs = data.cast("d").tolist()
    return list(map(complex, pairs[::2], pairs[1::2]))


def strings(reader: Reader, count: int) -> Column:
    return reader.texts(count)


def raw(reader: Reader, count: int) -> list[bytes]:
    """Bytes; copied, as they must be their own."""
    if reader.byte() == 1:
        pieces = []
        for _ in range(count):
            data = reader.blob()
            reader.charge(len(data) + 40)
            pieces.append(bytes(data))
        return pieces
    sizes = reader.lengths(count)
    data = reader.blob()
    reader.charge(2 * len(data) + 40 * count)
    if total(sizes, count) != len(data):
        raise malformed("wrong lengths")
    return cut(bytes(data), sizes)


def bytearrays(reader: Reader, count: int) -> Column:
    reader.charge(64 * count)
    return reader.each(bytearray, raw(reader, count))


READERS = {
    ord("N"): nones,
    ord("b"): booleans,
    ord("i"): integers,
    ord("f"): floats,
    ord("c"): complexes,
    ord("s"): strings,
    ord("y"): raw,
    ord("a"): bytearrays,
}
