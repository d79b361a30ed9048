"""Columns of the standard library's types, made by their public constructors, which check what they are given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from belljar._values.reader import Reader, cut, malformed, parts

if TYPE_CHECKING:
    from datetime import tzinfo
    from typing import Any

    from belljar._values.reader import Column

FRACTION_BITS = 1 << 14
# Nothing that could lead out of the time zone database, nor to another module than its own.
NAME = re.compile(r"[A-Za-z0-9_+-]{1,64}(/[A-Za-z0-9_+-]{1,64}){0,4}")
PATHS = ("PosixPath", "PurePosixPath", "PureWindowsPath")


def dates(reader: Reader, count: int) -> Column:
    from datetime import date

    reader.charge(32 * count)
    return reader.each(date.fromisoformat, reader.texts(count))


def datetimes(reader: Reader, count: int) -> Column:
    from datetime import datetime

    return moments(reader, count, datetime.fromisoformat)


def times(reader: Reader, count: int) -> Column:
    from datetime import time

    return moments(reader, count, time.fromisoformat)


def moments(reader: Reader, count: int, parse: Any) -> Column:
    aware = reader.byte()
    reader.charge(96 * count)
    values = reader.each(parse, reader.texts(count))
    if aware:
        size = reader.word()
        if not 0 < size <= count:
            raise malformed("a wrong number of zones")
        described, which = reader.column(size, None), reader.numbers(count)
        if min(which) < 0 or max(which) >= size:
            raise malformed("a wrong zone")
        # Which value each is needed for first, to be told where it is not known.
        first = dict(zip(reversed(which), reversed(range(count)), strict=True)) if size > 1 else {}
        table: list[tzinfo | None] = []
        for each in described:
            reader.watch()
            reader.row = first.get(len(table), 0)
            table.append(zone(reader, each))
        reader.row = 0
        pairs = zip(values, which, strict=True)
        values = [value.replace(tzinfo=table[index]) for value, index in pairs]
    folds = reader.blob(count)
    if any(folds):
        values = [value.replace(fold=fold) for value, fold in zip(values, folds, strict=True)]
    return values


def zone(reader: Reader, described: Any) -> tzinfo | None:
    """A name of the time zone database, or an offset in microseconds with a name or without."""
    if described is None:
        return None
    if type(described) is str:
        return named_zone(reader, described)
    from datetime import timedelta, timezone

    offset, *name = parts(described, 1, 2)
    if type(offset) is not int:
        raise malformed("a wrong zone")
    if offset == 0 and not name:
        return timezone.utc
    return timezone(timedelta(microseconds=offset), *name)


def named_zone(reader: Reader, name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    if not NAME.fullmatch(name):
        raise malformed("a wrong zone")
    try:
        return ZoneInfo(name)
    except Exception:
        fix = "install tzdata, or return it in UTC"
        raise reader.lacking(f"has the time zone {name}, which is not known here", fix) from None


def timedeltas(reader: Reader, count: int) -> Column:
    from datetime import timedelta

    reader.charge(40 * count)
    return reader.each(timedelta, reader.numbers(count), reader.numbers(count), reader.numbers(count))


def decimals(reader: Reader, count: int) -> Column:
    from decimal import Decimal

    reader.charge(104 * count)
    return reader.each(Decimal, reader.texts(count))


def fractions(reader: Reader, count: int) -> Column:
    from fractions import Fraction

    tops, bottoms = reader.numbers(count), reader.numbers(count)
    # To reduce one takes time with the square of its size.
    if max(number.bit_length() for numbers in (tops, bottoms) for number in numbers) > FRACTION_BITS:
        raise malformed("too large a fraction")
    reader.charge(64 * count)
    return reader.each(Fraction, tops, bottoms)


def uuids(reader: Reader, count: int) -> Column:
    from uuid import UUID

    data = bytes(reader.blob(16 * count))
    reader.charge(128 * count)
    return reader.each(lambda piece: UUID(bytes=piece), cut(data, 16))


def paths(reader: Reader, count: int) -> Column:
    import pathlib

    name = reader.texts(1)[0]
    if name not in PATHS:
        raise malformed("an unknown path")
    texts = reader.texts(count)
    # Each may be cut at every slash, now or later.
    reader.charge(400 * count + 64 * sum(text.count("/") + text.count("\\") for text in texts))
    return reader.each(getattr(pathlib, name), texts)


def ranges(reader: Reader, count: int) -> Column:
    reader.charge(48 * count)
    return reader.each(range, reader.numbers(count), reader.numbers(count), reader.numbers(count))


READERS = {
    ord("A"): dates,
    ord("B"): datetimes,
    ord("E"): times,
    ord("G"): timedeltas,
    ord("M"): decimals,
    ord("Q"): fractions,
    ord("U"): uuids,
    ord("P"): paths,
    ord("g"): ranges,
}
