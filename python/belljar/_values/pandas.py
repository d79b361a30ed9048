"""pandas' frames, series, indexes and scalars, put together from columns by public constructors that check them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from belljar._values.keys import check_labels
from belljar._values.reader import Reader, malformed, parts

if TYPE_CHECKING:
    from typing import Any

    from belljar._values.reader import Column

MASKED = re.compile("U?Int(8|16|32|64)|Float(32|64)|boolean")
FREQUENCY = re.compile(r"-?\d{0,9}[A-Za-z]{1,8}(-[A-Za-z]{1,8})?")
# Of an index. pandas checks that every value fits: at once where all have one distance, otherwise by a step of its own
# for each, of up to 40 us. So the second list is short, and so is what it is used for. Before 2.2 other names are used.
EVEN = re.compile(r"-?\d{0,9}(ns|us|ms|s|min|h|[NULSTH]|D)")
UNEVEN = re.compile(r"-?\d{0,9}(D|B|W|SM[ES]?|B?(M|Q|HY|Y|A)[ES]?)(-[A-Z]{3}|-\d{1,2})?")
UNEVEN_MOST = 10_000
# Seconds that a frame takes for each of its columns.
COLUMN = 20e-6
# pandas keeps every frequency of a period that it has ever seen.
PERIODS = 1 << 10
periods: set[str] = set()
LABELS = 1 << 11
LEVELS = 1 << 10
# What a column without a class of its own may be of.
KINDS = "biufcmM"
STORAGES = ("python", "pyarrow")
CLOSED = ("left", "right", "both", "neither")
VALUES = {
    "F": "frame",
    "S": "series",
    "T": "timestamp",
    "D": "timedelta",
    "P": "one_period",
    "V": "one_interval",
    "N": "missing_time",
    "A": "missing",
}
ARRAYS = {
    "n": "plain",
    "o": "objects",
    "z": "zoned",
    "c": "categorical",
    "m": "masked",
    "s": "strings",
    "p": "period",
    "v": "interval",
    "a": "arrow",
}


def values(reader: Reader, count: int) -> Column:
    pandas = reader.module("pandas", "return to_dict('list') of it")
    if reader.next_byte() == ord("W"):
        # Nothing that pandas holds is written as pandas' own twice in a row.
        raise malformed("a frame that is none")
    raiser = Raiser(reader, pandas)
    return raiser.values(reader.column(count, None))


class Raiser:
    """Makes pandas' objects of plain data; every method takes what the guest's function of the same name gave."""

    def __init__(self, reader: Reader, pandas: Any) -> None:
        self.reader, self.pandas = reader, pandas

    def values(self, lowered: Column) -> Column:
        made: Column = []
        for low in self.reader.watched(lowered, 1):
            self.reader.row = len(made)
            made.append(self.value(*parts(low, 1, 6)))
        self.reader.row = 0
        return made

    def value(self, kind: str, *rest: Any) -> Any:
        if kind in "RMI":
            return self.index((kind, *rest))
        return getattr(self, VALUES[kind])(*rest)

    def frame(self, columns: Any, index: Any, body: Any, attrs: Any, doubles: Any) -> Any:
        names, rows = self.index(columns), self.index(index)
        self.reader.charge(64 * len(names))
        if type(body) is list:
            if len(body) != len(names):
                raise malformed("a wrong number of columns")
            arrays = [self.array(column) for column in self.reader.watched(body)]
            if any(len(array) != len(rows) for array in arrays):
                raise malformed("a column of a wrong length")
            self.reader.watch(COLUMN * len(arrays))
            made = self.pandas.DataFrame(dict(enumerate(arrays)), index=rows, copy=False)
            made.columns = names
        else:
            # Anything but a table of that shape would be repeated until it has it.
            if self.numbers(body, 2).shape != (len(rows), len(names)):
                raise malformed("a table of a wrong shape")
            made = self.pandas.DataFrame(body, index=rows, columns=names, copy=False)
        return self.marked(made, attrs, doubles)

    def series(self, values: Any, index: Any, name: Any, attrs: Any, doubles: Any) -> Any:
        array, rows = self.array(values), self.index(index)
        if len(array) != len(rows):
            raise malformed("a column of a wrong length")
        made = self.pandas.Series(array, index=rows, copy=False)
        made.name = name
        return self.marked(made, attrs, doubles)

    def marked(self, made: Any, attrs: Any, doubles: Any) -> Any:
        if type(attrs) not in (dict, type(None)):
            raise malformed("wrong attributes")
        made.attrs.update(attrs or {})
        if doubles is not True:
            # Raises where a label is there twice.
            made.flags.allows_duplicate_labels = False
        return made

    def index(self, lowered: Any) -> Any:
        kind, *rest = parts(lowered, 4, 5)
        if kind == "R":
            start, stop, step, name = rest
            if {type(start), type(stop), type(step)} != {int}:
                raise malformed("a wrong range")
            return self.pandas.RangeIndex(start, stop, step, name=name)
        if kind == "M":
            return self.levels(*rest)
        if kind != "I":
            raise malformed("an unknown index")
        values, name, freq = rest
        array = self.array(values)
        dtype = array.dtype if values[0] != "o" else object
        made = self.pandas.Index(array, dtype=dtype, name=name, copy=False)
        self.check_labels(made)
        if freq is None:
            return made
        if type(freq) is not str or not hasattr(type(made), "inferred_freq"):
            raise malformed("a wrong frequency")
        return type(made)(made, freq=freq, name=name) if self.is_quick(made, freq) else made

    def is_quick(self, made: Any, freq: str) -> bool:
        """Whether pandas soon knows if an index has that frequency; what it could not check is left out."""
        import numpy

        if len(made) <= UNEVEN_MOST and UNEVEN.fullmatch(freq):
            return True
        steps = numpy.diff(made.asi8)
        return EVEN.fullmatch(freq) is not None and (len(steps) < 2 or bool((steps == steps[0]).all()))

    def levels(self, levels: Any, codes: Any, names: Any) -> Any:
        count = len(parts(levels, 1, LEVELS))
        made = [self.labels(level) for level in self.reader.watched(levels, 1)]
        places = [self.numbers(each) for each in parts(codes, count)]
        if {each.dtype.kind for each in places} - set("iu") or len(set(map(len, places))) != 1:
            raise malformed("a wrong index")
        # They may become eight bytes each.
        self.reader.charge(8 * count * len(places[0]))
        check_labels(self.reader, parts(names, count))
        return self.pandas.MultiIndex(levels=made, codes=places, names=names, verify_integrity=True)

    def labels(self, lowered: Any) -> Any:
        """An index that others point into, which is written out where it is a range."""
        made = self.index(lowered)
        self.reader.charge(8 * len(made))
        return made

    def check_labels(self, made: Any) -> None:
        """Refuses labels that were chosen to fall together in pandas' tables, now or when they are first used."""
        if made.dtype == object:
            check_labels(self.reader, made.tolist())
            return
        import numpy

        plain = isinstance(made.dtype, numpy.dtype) and made.dtype.kind in "iu"
        bits = made.to_numpy() if plain else getattr(made, "asi8", None)
        if bits is None or bits.dtype.itemsize != 8 or len(made) < LABELS:
            return
        whole = numpy.ascontiguousarray(bits).view(numpy.uint64)
        # Many in one place of a small table may be chance, or one label many times; many with one hash are neither.
        if numpy.bincount(table_hash(numpy, whole) & 0xFFFF).max() > LABELS + 64 * (len(made) >> 16):
            hashes = table_hash(numpy, numpy.unique(whole))
            if numpy.unique(hashes, return_counts=True)[1].max() > LABELS:
                raise malformed("labels that were chosen to be slow")

    def array(self, lowered: Any) -> Any:
        kind, *rest = parts(lowered, 2, 4)
        return getattr(self, ARRAYS[kind])(*rest)

    def plain(self, values: Any) -> Any:
        return self.numbers(values)

    def numbers(self, values: Any, dimensions: int = 1) -> Any:
        """An array as pandas keeps it itself; any other is made into objects."""
        import numpy

        if type(values) is not numpy.ndarray or values.ndim != dimensions or values.dtype.kind not in KINDS:
            raise malformed("a column that is none")
        return values

    def objects(self, values: Any) -> Any:
        import numpy

        if type(values) is not list:
            raise malformed("a column that is none")
        self.reader.charge(8 * len(values))
        made = numpy.empty(len(values), object)
        # One by one: lists of one length would be taken for a table.
        for place, value in enumerate(values):
            made[place] = value
        return made

    def zoned(self, values: Any, described: Any) -> Any:
        moments = self.pandas.DatetimeIndex(self.plain(values)).tz_localize("UTC").tz_convert(self.zone(described))
        return moments.array

    def zone(self, described: Any) -> Any:
        from belljar._values.standard import NAME, zone

        kind, name, *more = parts(described, 2, 3)
        if more and type(more[0]) is not int:
            raise malformed("a wrong zone")
        if kind != "pytz":
            return zone(self.reader, name)
        try:
            import pytz
        except ImportError:
            # Both have the same zones; only the class differs.
            from datetime import timedelta, timezone

            return zone(self.reader, name) if name else timezone(timedelta(minutes=more[0]))
        if name is None:
            return pytz.FixedOffset(more[0])
        if type(name) is not str or not NAME.fullmatch(name):
            raise malformed("a wrong zone")
        return pytz.timezone(name)

    def categorical(self, codes: Any, categories: Any, ordered: Any) -> Any:
        made = self.labels(categories)
        return self.pandas.Categorical.from_codes(self.plain(codes), made, ordered=ordered is True)

    def masked(self, name: str, data: Any, mask: Any) -> Any:
        arrays = self.pandas.arrays
        if type(name) is not str or not MASKED.fullmatch(name):
            raise malformed("an unknown type of column")
        kind = {"b": arrays.BooleanArray, "F": arrays.FloatingArray}.get(name[0], arrays.IntegerArray)
        made = kind(self.plain(data), self.plain(mask))
        if made.dtype.name != name:
            raise malformed("a column of another type")
        return made

    def strings(self, storage: str, na: str, values: Any) -> Any:
        import math

        if storage not in STORAGES or na not in ("NA", "nan") or type(values) is not list:
            raise malformed("a column that is none")
        if not {type(value) for value in values} <= {str, type(None)}:
            raise malformed("a string that is none")
        missing = self.pandas.NA if na == "NA" else math.nan
        try:
            dtype = self.pandas.StringDtype(storage, na_value=missing)
        except (ImportError, TypeError):
            # Without pyarrow the same strings are kept in another way.
            dtype = self.pandas.StringDtype("python")
        return self.pandas.array(values, dtype=dtype)

    def period(self, ordinals: Any, freq: Any) -> Any:
        if type(freq) is not str or not FREQUENCY.fullmatch(freq):
            raise malformed("a wrong frequency")
        made = self.pandas.PeriodIndex.from_ordinals(self.plain(ordinals), freq=freq).array
        periods.add(freq)
        if len(periods) > PERIODS:
            self.pandas.PeriodDtype.reset_cache()
            periods.clear()
        return made

    def interval(self, left: Any, right: Any, closed: Any) -> Any:
        if closed not in CLOSED:
            raise malformed("a wrong interval")
        ends = [self.pandas.Index(self.array(end)) for end in (left, right)]
        for end in ends:
            self.check_labels(end)
        return self.pandas.arrays.IntervalArray.from_arrays(*ends, closed=closed)

    def arrow(self, lowered: Any) -> Any:
        from belljar._values.arrow import array

        return self.pandas.arrays.ArrowExtensionArray(array(self.reader, lowered))

    def timestamp(self, moment: Any, described: Any) -> Any:
        if type(moment).__name__ != "datetime64":
            raise malformed("a wrong moment")
        made = self.pandas.Timestamp(moment)
        return made if described is None else made.tz_localize("UTC").tz_convert(self.zone(described))

    def timedelta(self, span: Any) -> Any:
        if type(span).__name__ != "timedelta64":
            raise malformed("a wrong span")
        return self.pandas.Timedelta(span)

    def one_period(self, ordinal: Any, freq: Any) -> Any:
        if type(ordinal) is not int or type(freq) is not str or not FREQUENCY.fullmatch(freq):
            raise malformed("a wrong period")
        return self.pandas.Period(ordinal=ordinal, freq=freq)

    def one_interval(self, left: Any, right: Any, closed: Any) -> Any:
        if closed not in CLOSED:
            raise malformed("a wrong interval")
        return self.pandas.Interval(left, right, closed=closed)

    def missing_time(self) -> Any:
        return self.pandas.NaT

    def missing(self) -> Any:
        return self.pandas.NA


def table_hash(numpy: Any, bits: Any) -> Any:
    """How pandas' own tables place 64-bit numbers."""
    return ((bits >> numpy.uint64(33)) ^ bits ^ (bits << numpy.uint64(11))).astype(numpy.uint32)


READERS = {ord("W"): values}
