"""polars' frames and series, from Arrow's buffers, numpy's arrays or lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belljar._values.reader import Reader, malformed

if TYPE_CHECKING:
    from typing import Any

    from belljar._values.reader import Column

LEVELS = 32
SIMPLE = (
    "Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 UInt128 Float16 Float32 Float64 Boolean String"
    " Binary Date Time Null Categorical"
).split()
TIMES = ("Date", "Time", "Datetime", "Duration")
CHOICES = ("Categorical", "Enum")
UNITS = ("ms", "us", "ns")


def values(reader: Reader, count: int) -> Column:
    polars = reader.module("polars", "return to_dict(as_series=False) of it")
    mode = reader.byte()
    lowered = reader.column(count, None)
    try:
        heights = reader.numbers(count) if mode != ord("S") else [None] * count
        made: Column = []
        for low, height in zip(lowered, heights, strict=True):
            reader.row = len(made)
            made.append(series(reader, polars, *low) if height is None else frame(reader, polars, low, height))
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
    columns = [series(reader, polars, *low) for low in lowered]
    made = polars.DataFrame({column.name: column for column in columns})
    if (made.height != height and columns) or made.width != len(columns):
        raise malformed("a wrong number of columns")
    return made


def series(reader: Reader, polars: Any, name: str, described: Any, kind: str, content: Any, mask: Any = None) -> Any:
    if type(described) is str and described in SIMPLE and not hasattr(polars, described):
        raise reader.lacking(
            f"has a column of {described}, which polars has not here", "cast it, or install a newer polars"
        )
    dtype = data_type(polars, described, LEVELS)
    if type(name) is not str:
        raise malformed("a wrong name")
    if kind == "a":
        from belljar._values.arrow import array

        made = polars.from_arrow(array(reader, content)).rename(name)
    elif kind == "n":
        made = numbers(reader, polars, name, content, mask)
    elif kind == "l" and type(content) is list:
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
    name, *more = described
    if levels == 0 or type(name) is not str:
        raise malformed("a wrong type of column")
    if name == "Datetime":
        unit, zone = more
        from belljar._values.standard import NAME

        if unit not in UNITS or (zone is not None and not NAME.fullmatch(zone.replace(":", ""))):
            raise malformed("a wrong type of column")
        return polars.Datetime(unit, zone)
    if name == "Duration" and more[0] in UNITS:
        return polars.Duration(more[0])
    if name == "Decimal":
        return polars.Decimal(*more)
    if name == "Enum":
        return polars.Enum(more[0])
    if name == "List":
        return polars.List(data_type(polars, more[0], levels - 1))
    if name == "Array":
        return polars.Array(data_type(polars, more[0], levels - 1), more[1])
    if name == "Struct":
        return polars.Struct({field: data_type(polars, inner, levels - 1) for field, inner in more[0]})
    raise malformed("an unknown type of column")


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
