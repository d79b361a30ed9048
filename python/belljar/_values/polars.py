"""polars' frames and series, from Arrow's buffers, numpy's arrays or lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belljar._values.reader import Reader, malformed, parts

if TYPE_CHECKING:
    from typing import Any

    from belljar._values.reader import Column

LEVELS = 32
# Columns of a frame, fields of a struct; and bytes that an item of a column may take.
WIDTH, ITEM = 1 << 20, 16
# Seconds that a frame takes for each.
COLUMN = 5e-6
SIMPLE = (
    "Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 UInt128 Float16 Float32 Float64 Boolean String"
    " Binary Date Time Null Categorical"
).split()
TIMES = ("Date", "Time", "Datetime", "Duration")
CHOICES = ("Categorical", "Enum")
UNITS = ("ms", "us", "ns")
LEAVES = set("NoneType bool int float str bytes Decimal date time datetime timedelta".split())


def values(reader: Reader, count: int) -> Column:
    polars = reader.module("polars", "return to_dict(as_series=False) of it")
    mode = reader.byte()
    lowered = reader.column(count, None)
    try:
        heights = reader.numbers(count) if mode != ord("S") else [None] * count
        made: Column = []
        for low, height in zip(lowered, heights, strict=True):
            reader.row = len(made)
            made.append(series(reader, polars, low) if height is None else frame(reader, polars, low, height))
        reader.row = 0
        return made
    except (KeyboardInterrupt, SystemExit):
        raise
    except Exception:
        raise
    except BaseException as error:
        # What polars throws when it panics is no Exception.
        raise malformed(f"polars does not take it: {type(error).__name__}") from None


def frame(reader: Reader, polars: Any, lowered: Any, height: int) -> Any:
    columns = [series(reader, polars, low) for low in parts(lowered, 0, WIDTH)]
    if any(len(column) != height for column in columns):
        # Those of one row would be repeated.
        raise malformed("a column of a wrong length")
    reader.watch(COLUMN * len(columns))
    made = polars.DataFrame({column.name: column for column in columns})
    if made.width != len(columns):
        raise malformed("a wrong number of columns")
    return made


def series(reader: Reader, polars: Any, lowered: Any) -> Any:
    reader.watch()
    name, described, kind, content, mask = (*parts(lowered, 4, 5), None)[:5]
    if type(described) is str and described in SIMPLE and not hasattr(polars, described):
        raise reader.lacking(
            f"has a column of {described}, which polars has not here", "cast it, or install a newer polars"
        )
    dtype = data_type(polars, described, LEVELS)
    if type(name) is not str:
        raise malformed("a wrong name")
    if kind == "a":
        from belljar._values.arrow import array, names_texts_only

        held = array(reader, content)
        if not names_texts_only(held.type):
            raise malformed("a column of another type")
        made = polars.from_arrow(held).rename(name)
        if not alike(polars, made.dtype, dtype):
            raise malformed("a column of another type")
    elif kind == "n":
        made = numbers(reader, polars, name, content, mask)
        if dtype.is_nested():
            raise malformed("a column of another type")
    elif kind == "l" and type(content) is list:
        check_items(reader, described, content)
        if mentions(described, TIMES) and not mentions(described, CHOICES):
            # They come as numbers, which are made into what they are below.
            made = polars.Series(name, content, dtype=as_numbers(polars, described), strict=True)
        else:
            made = polars.Series(name, content, dtype=dtype, strict=True)
    else:
        raise malformed("a column that is none")
    if made.dtype != dtype:
        made = made.cast(dtype, strict=True)
    return made


def numbers(reader: Reader, polars: Any, name: str, content: Any, mask: Any) -> Any:
    numpy = reader.module("numpy", "return to_dict(as_series=False) of it")
    for array, kinds in (content, "iuf"), (mask, "b"):
        if array is not None and (type(array) is not numpy.ndarray or array.ndim != 1 or array.dtype.kind not in kinds):
            raise malformed("a column that is none")
    made = polars.Series(name, content)
    if mask is None:
        return made
    if len(mask) != len(content):
        raise malformed("a column of a wrong length")
    return polars.select(polars.when(polars.Series(~mask)).then(made).otherwise(None).alias(name)).to_series()


def mentions(described: Any, names: tuple[str, ...]) -> bool:
    """Whether a type is one of those, or holds one."""
    if type(described) is str:
        return described in names
    # It has been made already, so its parts are what they should be.
    name, *more = described
    if name in ("List", "Array"):
        return mentions(more[0], names)
    if name == "Struct":
        return any(mentions(inner, names) for _, inner in more[0])
    return name in names


def data_type(polars: Any, described: Any, levels: int) -> Any:
    """From a closed list of types."""
    if type(described) is str and described in SIMPLE:
        return getattr(polars, described)()
    name, *more = parts(described, 2, 3)
    if levels == 0 or type(name) is not str:
        raise malformed("a wrong type of column")
    if name == "Datetime":
        unit, zone = more
        from belljar._values.standard import NAME

        if unit not in UNITS or not (zone is None or (type(zone) is str and NAME.fullmatch(zone.replace(":", "")))):
            raise malformed("a wrong type of column")
        return polars.Datetime(unit, zone)
    if name == "Duration" and more[0] in UNITS:
        return polars.Duration(more[0])
    if name == "Decimal" and {type(number) for number in more} <= {int, type(None)}:
        return polars.Decimal(*more)
    if name == "Enum" and type(more[0]) is list and {type(word) for word in more[0]} <= {str}:
        return polars.Enum(more[0])
    if name == "List":
        return polars.List(data_type(polars, more[0], levels - 1))
    if name == "Array" and type(more[1]) is int and 0 <= more[1] < 1 << 31:
        return polars.Array(data_type(polars, more[0], levels - 1), more[1])
    if name == "Struct":
        pairs = [parts(pair, 2) for pair in parts(more[0], 0, WIDTH)]
        if {type(field) for field, _ in pairs} <= {str}:
            return polars.Struct({field: data_type(polars, inner, levels - 1) for field, inner in pairs})
    raise malformed("an unknown type of column")


def check_items(reader: Reader, described: Any, items: list[Any]) -> None:
    """Whether a list holds what a column of that type may, and what it becomes where something is missing."""
    kinds = set(map(type, items))
    name = described if type(described) is str else described[0]
    if name == "Struct":
        if not kinds <= {dict, type(None)}:
            raise malformed("a column of another type")
        rows = [item for item in items if item is not None]
        fields = dict(described[1])
        if any(row.keys() != fields.keys() for row in rows):
            raise malformed("a column of another type")
        reader.charge((len(items) - len(rows)) * row_size(described))
        for field, inner in fields.items():
            check_items(reader, inner, [row[field] for row in rows])
    elif name in ("List", "Array"):
        if not kinds <= {list, type(None)}:
            raise malformed("a column of another type")
        inner = [part for item in items if item is not None for part in item]
        reader.charge(8 * len(inner))
        if name == "Array":
            reader.charge(len(items) * row_size(described))
        check_items(reader, described[1], inner)
    elif not {kind.__name__ for kind in kinds} <= LEAVES:
        raise malformed("a column of another type")


def row_size(described: Any) -> int:
    """What an item takes that is missing: an array has room for all of its own."""
    name = described if type(described) is str else described[0]
    if name == "Array":
        return int(described[2]) * row_size(described[1])
    return sum([row_size(inner) for _, inner in described[1]], ITEM) if name == "Struct" else ITEM


def alike(polars: Any, made: Any, wanted: Any) -> bool:
    """Whether one may be cast to the other without becoming much larger. What is all null, or names texts by number,
    could be written out as anything."""
    if wanted.is_nested():
        if made.base_type() is not wanted.base_type():
            return False
        if isinstance(wanted, polars.Struct):
            pairs = zip(made.fields, wanted.fields, strict=True)
            return all(alike(polars, one.dtype, other.dtype) for one, other in pairs)
        return alike(polars, made.inner, wanted.inner)
    if made.is_nested() or made == polars.Null:
        return False
    choices = polars.Categorical, polars.Enum
    return isinstance(wanted, choices) if isinstance(made, choices) else True


def as_numbers(polars: Any, described: Any) -> Any:
    """What polars itself keeps such a column as."""
    if described == "Date":
        return polars.Int32()
    if described == "Time" or (type(described) is not str and described[0] in ("Datetime", "Duration")):
        return polars.Int64()
    if type(described) is str:
        return data_type(polars, described, LEVELS)
    name, *more = described
    if name == "List":
        return polars.List(as_numbers(polars, more[0]))
    if name == "Array":
        return polars.Array(as_numbers(polars, more[0]), more[1])
    if name == "Struct":
        return polars.Struct({field: as_numbers(polars, inner) for field, inner in more[0]})
    return data_type(polars, described, LEVELS)


READERS = {ord("L"): values}
