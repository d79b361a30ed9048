"""Writers for polars: a frame as its series, a series as Arrow's buffers, as a numpy array or as a list."""

import sys

SIMPLE = (
    "Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 UInt128 Float16 Float32 Float64 Boolean String"
    " Binary Date Time Null Categorical"
).split()
TIMES = ("Date", "Time", "Datetime", "Duration")
CHOICES = ("Categorical", "Enum")
ARROW = 1
Bad, host = Exception, {}


def part(name):
    return {}


def install(scope):
    """Takes what it needs from values.py."""
    globals().update({name: scope[name] for name in ("Bad", "part", "host")})


def writer(kind, example):
    polars = sys.modules["polars"]
    if kind is polars.DataFrame:
        return frames
    if kind is polars.Series:
        return serieses
    if kind is polars.LazyFrame:
        raise Bad(example, "is a LazyFrame, which has no rows yet", "return collect() of it")
    return None


def frames(encoder, values):
    encoder.out.append(b"LF")
    encoder.column([[lower(series, value) for series in value.get_columns()] for value in values])
    encoder.numbers([value.height for value in values])


def serieses(encoder, values):
    encoder.out.append(b"LS")
    encoder.column([lower(value, value) for value in values])


def lower(series, owner):
    try:
        dtype = described(series.dtype)
        return series.name, dtype, *content(series, dtype)
    except Bad as bad:
        raise Bad(owner, f"has a column {series.name[:60]!r} that {bad.reason}", bad.fix) from None


def content(series, dtype):
    # Arrow's decimals and 128-bit integers are not polars' own.
    wide = mentions(dtype, ("Decimal", "Int128", "UInt128", "Null"))
    if host["features"] & ARROW and not wide and module("pyarrow") is not None:
        return "a", part("values_arrow")["lower"](series.to_arrow())
    if mentions(dtype, TIMES) and not mentions(dtype, CHOICES):
        # As the numbers that they are: Python's own dates are too coarse for some.
        series = series.to_physical()
    numbers = series.dtype.is_numeric() and dtype not in ("Int128", "UInt128") and not series.dtype.is_decimal()
    if numbers and module("numpy") is not None:
        missing = series.is_null()
        if not missing.any():
            return "n", series.to_numpy(), None
        return "n", series.fill_null(0).to_numpy(), missing.to_numpy()
    return "l", series.to_list()


def mentions(described, names):
    """Whether a type is one of those, or holds one."""
    if type(described) is str:
        return described in names
    name, *more = described
    if name in ("List", "Array"):
        return mentions(more[0], names)
    if name == "Struct":
        return any(mentions(inner, names) for _, inner in more[0])
    return name in names


def module(name):
    try:
        return __import__(name)
    except ImportError:
        return None


def described(dtype):
    name = dtype.base_type().__name__
    if name in SIMPLE:
        return name
    if name == "Datetime":
        return name, dtype.time_unit, dtype.time_zone
    if name == "Duration":
        return name, dtype.time_unit
    if name == "Decimal":
        return name, dtype.precision, dtype.scale
    if name == "Enum":
        return name, dtype.categories.to_list()
    if name == "List":
        return name, described(dtype.inner)
    if name == "Array":
        return name, described(dtype.inner), dtype.size
    if name == "Struct":
        return name, [(field.name, described(field.dtype)) for field in dtype.fields]
    if name == "Object":
        raise Bad(
            None, "is of Object, which may hold anything", "make it a column of another type, or return its to_list()"
        )
    raise Bad(None, f"is of {dtype}", "cast it to another type")
