"""Columns of records that had a class, of enum members and of kept objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belljar._errors import ValueRefused
from belljar._values.atoms import raw
from belljar._values.kept import Kept
from belljar._values.keys import check_keys
from belljar._values.reader import RANDOM_HASHES, Reader, malformed, parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from belljar._values.reader import Column

WIDTH = 1 << 12
# More processor time for each object of such a class.
SECONDS_AN_OBJECT = 20e-6
# Few enough that a class of the caller's own, which may take milliseconds, is stopped soon.
BATCH = 64


def wanted(reader: Reader, flavour: str) -> Any:
    """The class of the host's annotation that has this name, or None."""
    module, name = reader.texts(2)
    return reader.classes.find(flavour, module, name) if reader.classes is not None else None


def enums(reader: Reader, count: int) -> Column:
    kind = wanted(reader, "e")
    names, values = reader.column(count), reader.column(count)
    if kind is None:
        return values
    from belljar._values.annotation import member

    return build(reader, lambda name, value: member(kind, name, value), names, values)


def objects(reader: Reader, count: int) -> Column:
    flavour = chr(reader.byte())
    kind = wanted(reader, flavour)
    width = reader.word()
    if width > WIDTH or flavour not in "dnp":
        raise malformed("a wrong record")
    reader.charge((64 + 64 * width) * count)
    names: list[str] = []
    rows: list[Any]
    if width:
        names = reader.texts(width)
        if not RANDOM_HASHES:
            check_keys(reader, names)
        if len(set(names)) != width:
            raise malformed("equal fields in a record")
        rows = list(zip(*[reader.column(count, field_step(name)) for name in names], strict=True))
    else:
        reader.blob(count)
        rows = [()] * count
    if flavour == "n":
        return rows if kind is None else records(reader, kind, flavour, names, rows)
    made = [dict(zip(names, row, strict=True)) for row in reader.watched(rows)]
    if flavour == "d":
        return made if kind is None else records(reader, kind, flavour, names, made)
    chosen, more = reader.column(count), [{} if extra is None else extra for extra in reader.column(count)]
    for row, fields, extra in reader.watched(zip(made, chosen, more, strict=True)):
        if type(extra) is not dict or {type(name) for name in (*extra, *parts(fields, 0, WIDTH))} - {str}:
            raise malformed("a wrong record")
        reader.charge(160 * (len(extra) + len(fields)))
        row.update(extra)
    if kind is None:
        return made
    sets = [{*fields, *extra} for fields, extra in zip(chosen, more, strict=True)]
    return records(reader, kind, flavour, names, list(zip(made, sets, strict=True)))


def field_step(name: str) -> str:
    """How a field is reached. A guest may call it anything."""
    return f".{name}" if name.isidentifier() and len(name) <= 60 else f".{name[:60]!r}"


def records(reader: Reader, kind: Any, flavour: str, names: list[str], rows: Column) -> Column:
    from belljar._values.annotation import BUILDERS

    builder = BUILDERS[flavour]
    return build(reader, lambda row: builder(kind, names, row), rows)


def build(reader: Reader, make: Callable[..., Any], *columns: Column) -> Column:
    """Objects of a class that the caller's annotation names; a refusal of one says where that is."""
    made: Column = []
    # Whoever names a class wants it called for each, and it may check what it is given.
    reader.until += SECONDS_AN_OBJECT * len(columns[0])
    for row in reader.watched(zip(*columns, strict=True), BATCH):
        try:
            made.append(make(*row))
        except ValueRefused as error:
            raise ValueRefused(f"{reader.path(len(made))}: {error.message}", error.hint) from error.__cause__
    return made


def kept(reader: Reader, count: int) -> Column:
    return reader.each(Kept, raw(reader, count))


READERS = {ord("e"): enums, ord("O"): objects, ord("k"): kept}
