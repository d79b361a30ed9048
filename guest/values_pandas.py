"""Writers for pandas: frames as their columns, columns as numpy's arrays and what else there is to know of them."""

import sys

MASKED = ("IntegerArray", "FloatingArray", "BooleanArray")
ARROW = 1
Bad, host = Exception, {}


def part(name):
    return {}


def install(scope):
    """Takes what it needs from values.py."""
    globals().update({name: scope[name] for name in ("Bad", "part", "host")})


def writer(kind, example):
    pandas = sys.modules["pandas"]
    lower = {
        pandas.DataFrame: frame,
        pandas.Series: series,
        pandas.Timestamp: timestamp,
        pandas.Timedelta: lambda value: ("D", value.asm8),
        pandas.Period: lambda value: ("P", value.ordinal, value.freqstr),
        pandas.Interval: lambda value: ("V", value.left, value.right, value.closed),
        type(pandas.NaT): lambda value: ("N",),
        type(pandas.NA): lambda value: ("A",),
    }.get(kind)
    if lower is None and issubclass(kind, pandas.Index):
        lower = index
    if lower is None and issubclass(kind, pandas.api.extensions.ExtensionArray):
        fix = "return to_dense() of it" if kind.__name__ == "SparseArray" else "return pandas.Series(...) of it"
        raise Bad(example, f"is a {kind.__qualname__}", fix)
    if lower is None and issubclass(kind, (pandas.DataFrame, pandas.Series)):
        raise Bad(example, f"is a {kind.__qualname__}, not plain pandas", "return pandas.DataFrame(...) of it")
    if lower is None:
        return None

    def write(encoder, values):
        encoder.out.append(b"W")
        lowered = []
        for value in values:
            try:
                lowered.append(lower(value))
            except Bad as bad:
                raise Bad(value, bad.reason, bad.fix) from None
        try:
            encoder.column(lowered)
        except Bad as bad:
            # It is inside a frame, where no path leads.
            reason = f"holds something that {bad.reason}" if bad.item is not None else bad.reason
            held = next((value for value, low in zip(values, lowered, strict=True) if inside(low, bad.item)), values[0])
            raise Bad(held, reason, bad.fix) from None

    return write


def inside(low, item):
    """Whether it is anywhere in what a frame was made into."""
    if low is item:
        return True
    return type(low) in (list, tuple) and any(inside(each, item) for each in low)


def frame(value):
    pandas = sys.modules["pandas"]
    numpy = sys.modules["numpy"]
    attrs = dict(value.attrs) or None
    kinds = set(value.dtypes)
    if len(kinds) == 1 and value.shape[1] > 1 and isinstance(kind := kinds.pop(), numpy.dtype) and kind.kind != "O":
        # One block, which is written as it lies.
        body = value.to_numpy()
    else:
        columns = [value.iloc[:, place] for place in range(value.shape[1])]
        body = [named(pandas, column, value.columns[place]) for place, column in enumerate(columns)]
    return "F", index(value.columns), index(value.index), body, attrs, value.flags.allows_duplicate_labels


def named(pandas, column, name):
    try:
        return array(column.array)
    except Bad as bad:
        raise Bad(None, f"has a column {str(name)[:60]!r} that {bad.reason}", bad.fix) from None


def series(value):
    attrs = dict(value.attrs) or None
    return "S", array(value.array), index(value.index), value.name, attrs, value.flags.allows_duplicate_labels


def index(value):
    pandas = sys.modules["pandas"]
    if type(value) is pandas.RangeIndex:
        return "R", value.start, value.stop, value.step, value.name
    if type(value) is pandas.MultiIndex:
        levels = [index(level) for level in value.levels]
        return "M", levels, [content(codes) for codes in value.codes], list(value.names)
    if type(value).__module__.partition(".")[0] != "pandas":
        raise Bad(None, f"has an index of type {type(value).__qualname__}", "reset_index() it")
    freq = getattr(value, "freqstr", None) if type(value) in (pandas.DatetimeIndex, pandas.TimedeltaIndex) else None
    return "I", array(value.array), value.name, freq


def content(values):
    """A plain array that is not a view of something that may change its type."""
    return sys.modules["numpy"].asarray(values)


def array(values):
    """One column, by the class that holds it."""
    pandas = sys.modules["pandas"]
    kind, dtype = type(values).__name__, values.dtype
    if kind in ("NumpyExtensionArray", "PandasArray"):
        plain = values.to_numpy()
        return ("o", plain.tolist()) if plain.dtype.kind == "O" else ("n", plain)
    if kind in ("DatetimeArray", "TimedeltaArray"):
        zone = getattr(dtype, "tz", None)
        if zone is None:
            return "n", values.to_numpy()
        return "z", values.tz_convert(None).to_numpy(), tz(zone)
    if kind == "Categorical":
        return "c", content(values.codes), index(values.categories), bool(values.ordered)
    if kind in MASKED:
        return "m", dtype.name, content(values._data), content(values._mask)
    if isinstance(dtype, pandas.StringDtype):
        missing = values.isna()
        texts = [None if gone else text for text, gone in zip(values.tolist(), missing.tolist(), strict=True)]
        na = "NA" if getattr(dtype, "na_value", pandas.NA) is pandas.NA else "nan"
        return "s", dtype.storage, na, texts
    if kind == "PeriodArray":
        return "p", values.asi8, dtype.name[len("period[") : -1]
    if kind == "IntervalArray":
        return "v", array(values.left.array), array(values.right.array), values.closed
    if kind == "SparseArray":
        raise Bad(None, f"is of {dtype}, which leaves out most of its values", "return sparse.to_dense() of the column")
    if kind == "ArrowExtensionArray":
        if not host["features"] & ARROW:
            fix = "install pyarrow on the host, or convert_dtypes(dtype_backend='numpy_nullable')"
            raise Bad(None, f"is of {dtype}, and the host has no pyarrow", fix)
        return "a", part("values_arrow")["lower"](values.__arrow_array__())
    raise Bad(None, f"is of {dtype}", "use astype(object) or another type")


def tz(zone):
    """The database's name of it, or a fixed offset; pytz has classes of its own."""
    kind = type(zone)
    package = kind.__module__.partition(".")[0]
    if package == "pytz":
        if getattr(zone, "zone", None):
            return "pytz", zone.zone
        return "pytz", None, zone._minutes
    if kind.__module__ == "datetime":
        from datetime import timedelta

        offset, *name = zone.__getinitargs__()
        return "fixed", (offset // timedelta(microseconds=1), *name)
    if package == "zoneinfo" and zone.key is not None:
        return "zone", zone.key
    raise Bad(None, f"has a zone of type {kind.__module__}.{kind.__qualname__}", "tz_convert() it to a named zone")


def timestamp(value):
    return "T", value.asm8, None if value.tzinfo is None else tz(value.tzinfo)
