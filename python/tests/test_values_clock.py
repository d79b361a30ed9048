"""How long a guest's value keeps the host busy: never much longer than what it sent, whatever is in it."""

from __future__ import annotations

import enum
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile_support import text
from pydantic import BaseModel
from values_support import encode, guest

from belljar import ValueRefused, _values
from belljar._values import annotation as known_classes
from belljar._values import objects, reader

# What a test may spend before it is stopped, and the longest piece of work that nobody interrupts.
ALLOWED, PIECE = 0.05, 0.3
LONG = "takes far longer to read"


@dataclass
class Nothing:
    pass


class Pair(NamedTuple):
    left: Any
    right: Any


class Model(BaseModel):
    number: Any = None


class Colour(enum.Enum):
    RED = "r"


@dataclass
class Busy:
    """A class of the caller's own that takes a millisecond for each."""

    number: int

    def __post_init__(self) -> None:
        until = time.thread_time() + 1e-3
        while time.thread_time() < until:
            pass


class Sent(NamedTuple):
    head: bytes
    buffers: list[memoryview]


def forged(count: int, tag: bytes, *columns: list[Any]) -> Sent:
    """A list of so many values that begin with that tag, and what a guest says that they are."""
    encoder = guest["Encoder"](None)
    encoder.out.append(b"l\2" + count.to_bytes(8, "little") + tag)
    for column in columns:
        encoder.column(column)
    return Sent(b"".join(encoder.out), [memoryview(bytearray(part)) for part in encoder.buffers])


def crowd(count: int, *lows: Any) -> Sent:
    """Values of pandas'."""
    return forged(count, b"W", [lows[place % len(lows)] for place in range(count)])


def wrong_members(count: int) -> Sent:
    """Members of an enum whose names are right and whose values are not: each takes an exception."""
    return forged(count, b"e" + text("m\0Colour"), ["RED"] * count, [None] * count)


def kept(count: int) -> Sent:
    sent = Sent(*encode([b""] * count))
    return Sent(sent.head.replace(b"y", b"k", 1), sent.buffers)


def ten(freq: str) -> Any:
    return pd.date_range("2000", periods=10, freq=freq).to_numpy()


ONE = ("R", 0, 1, 1, None)
COLUMN = ("n", np.zeros(1, np.int8))
LABELS = ("I", ("o", ["a"]), None, None)
ZERO = np.zeros(1, np.int8)
MULTI = ("M", [ONE, ONE], [ZERO, ZERO], [None, None])
MOMENT = np.zeros(1, "M8[ns]")

# By tag: the most that this host has to do for a byte of it, and the classes that are asked for.
WORST: dict[str, Callable[[int], Any]] = {
    "N": lambda count: [None] * count,
    "b": lambda count: [True] * count,
    "i": lambda count: [-1, 1 << 70] * (count // 2),
    "f": lambda count: [0.5] * count,
    "c": lambda count: [0.5j] * count,
    "s": lambda count: ["", "\U0001f40d"] * (count // 2),
    "y": lambda count: [b""] * count,
    "a": lambda count: [bytearray() for _ in range(count)],
    "l": lambda count: [[] for _ in range(count)],
    "t": lambda count: [()] * count,
    "h": lambda count: [set() for _ in range(count)],
    "z": lambda count: [frozenset()] * count,
    "d": lambda count: [{} for _ in range(count)],
    "o": lambda count: [OrderedDict() for _ in range(count)],
    "C": lambda count: [Counter() for _ in range(count)],
    "D": lambda count: [defaultdict(list) for _ in range(count)],
    "q": lambda count: [deque() for _ in range(count)],
    "r": lambda count: [{"a": None} for _ in range(count)],
    "R": lambda count: [{str(place % 500): None} for place in range(count)],
    "u": lambda count: [None, 1] * (count // 2),
    "g": lambda count: [range(1)] * count,
    "A": lambda count: [date(2020, 1, 1)] * count,
    "B": lambda count: [datetime(2020, 1, 1, tzinfo=timezone(timedelta(seconds=place % 60))) for place in range(count)],
    "E": lambda count: [datetime(2020, 1, 1, fold=1).time()] * count,
    "G": lambda count: [timedelta(1)] * count,
    "M": lambda count: [Decimal(1)] * count,
    "Q": lambda count: [Fraction(1, 2)] * count,
    "U": lambda count: [UUID(int=1)] * count,
    "P": lambda count: [PurePosixPath("a")] * count,
    "k": kept,
    "e": wrong_members,
    "Od": lambda count: [Nothing() for _ in range(count)],
    "On": lambda count: [Pair(None, None)] * count,
    "Op": lambda count: [Model() for _ in range(count // 4)],
    "Busy": lambda count: busy(count // 500),
    "x": lambda count: [np.datetime64(1, "s")] * count,
    "X": lambda count: [np.zeros(1, [("a", "i1"), ("b", "i1")])] * (count // 4),
    "L": lambda count: [pl.DataFrame({"a": [1], "b": ["x"]})] * (count // 64),
    "Lw": lambda count: pl.DataFrame({str(place): [None] for place in range(count // 8)}),
    "WF": lambda count: crowd(count // 100, ("F", LABELS, MULTI, [COLUMN], None, True)),
    "Ww": lambda count: crowd(1, ("F", ("R", 0, count // 8, 1, None), ONE, [COLUMN] * (count // 8), None, True)),
    "WS": lambda count: crowd(count // 50, ("S", ("c", ZERO, ONE, False), ONE, None, None, True)),
    "WT": lambda count: crowd(count // 4, ("T", np.datetime64(1, "ns"), ("zone", "Europe/Zurich"))),
    "WD": lambda count: crowd(count // 4, ("D", np.timedelta64(1, "ns"))),
    "WP": lambda count: crowd(count // 4, ("P", 1, "M")),
    "WV": lambda count: crowd(count // 4, ("V", 0, 1, "left")),
    "WN": lambda count: crowd(count // 2, ("N",)),
    "WA": lambda count: crowd(count // 2, ("A",)),
    "WM": lambda count: crowd(count // 100, MULTI),
    "WR": lambda count: crowd(count // 8, ONE),
    "WI": lambda count: crowd(count // 100, *[("I", ("n", ten(freq)), None, freq) for freq in ("SME", "QS-FEB", "h")]),
    "WIz": lambda count: crowd(count // 100, ("I", ("z", MOMENT, ("zone", "Asia/Tokyo")), None, None)),
    "WIm": lambda count: crowd(count // 50, ("I", ("m", "Int8", ZERO, np.zeros(1, bool)), None, None)),
    "WIs": lambda count: crowd(count // 50, ("I", ("s", "python", "nan", ["a"]), None, None)),
    "WIp": lambda count: crowd(
        count // 50, *[("I", ("p", np.zeros(1, "i8"), f"{n}M"), None, None) for n in range(1, 999)]
    ),
    "WIv": lambda count: crowd(count // 100, ("I", ("v", COLUMN, COLUMN, "left"), None, None)),
    "WIo": lambda count: crowd(count // 50, ("I", ("o", [None, 1]), None, None)),
}


def busy(count: int) -> list[Any]:
    made = [Busy.__new__(Busy) for _ in range(count)]
    for item in made:
        item.number = 1
    return made


CLASSES = tuple[Nothing, Pair, Model, Colour, Busy]
# Those whose parts are all slow: the clock is looked at many times while one is read.
SLOW = set("WF Ww WM WI P C Od Op Lw Busy".split())


def cost(head: bytes, buffers: list[memoryview]) -> tuple[float, str | None]:
    """Processor seconds of this thread, and why it is refused."""
    before, refused = time.thread_time(), None
    try:
        value = _values.decode(head, buffers, CLASSES)
        # To free it takes time, too, which is not the reader's.
        after = time.thread_time()
        del value
    except ValueRefused as error:
        after, refused = time.thread_time(), str(error)
    return after - before, refused


def test_every_kind_is_tried() -> None:
    from belljar._values.pandas import ARRAYS, VALUES

    assert {chr(tag) for tag in reader.READERS} == {name[0] for name in WORST if name != "Busy"}
    kinds = {name[1] for name in WORST if name[0] == "W"}
    assert kinds - {"w"} == {*VALUES, *"RMI"}
    # Arrow's have no frame of their own to be tried in without pyarrow at both ends; plain ones and categories are above.
    assert {name[2] for name in WORST if name.startswith("WI") and len(name) > 2} == {*ARRAYS} - set("nca")


@pytest.mark.parametrize("kind", WORST)
def test_no_value_takes_much_longer_than_what_was_sent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Packages are loaded before.
    first, made = (WORST[kind](count) for count in (1000, 200_000))
    cost(*(first if isinstance(first, Sent) else encode(first)))
    head, buffers = made if isinstance(made, Sent) else encode(made)
    size = len(head) + sum(map(len, buffers))
    with monkeypatch.context() as off:
        off.setattr(reader, "SECONDS", math.inf)
        free, refused = cost(head, buffers)
        assert refused is None
    monkeypatch.setattr(reader, "SECONDS", ALLOWED)
    monkeypatch.setattr(objects, "SECONDS_AN_OBJECT", 0)
    spent, refused = cost(head, buffers)
    allowed = ALLOWED + reader.SECONDS_A_BYTE * size
    told = f"{free / size * 1e9:.0f} ns a byte, {spent:.3f} s of {allowed:.3f}, {free:.3f} without the clock"
    print(kind, told)
    assert spent < allowed + PIECE, told
    if free > 5 * allowed:
        assert refused is not None and LONG in refused, told
    if refused is None:
        assert spent <= allowed + PIECE / 2, told
    if kind in SLOW:
        # Whatever this machine takes for it, a tenth of that is not enough.
        monkeypatch.setattr(reader, "SECONDS", free / 10)
        monkeypatch.setattr(reader, "SECONDS_A_BYTE", 0)
        spent, refused = cost(head, buffers)
        assert refused is not None and LONG in refused and spent < free, (spent, told)


def test_honest_crowds_are_far_from_it() -> None:
    """More than anybody has, by what a part of them takes; a machine that has too much to do takes three times as long."""
    frame = pd.DataFrame({"a": range(4)}, index=pd.MultiIndex.from_product([[1, 2], ["x", "y"]]))
    for value, times, annotation in [
        ([frame] * 100, 30, None),
        ([pd.DataFrame({"a": range(5), "b": list("abcde")})] * 200, 50, None),
        ([Pair(1, 2)] * 20_000, 100, Pair),
        ([Model(number=1)] * 10_000, 100, Model),
        ([PurePosixPath(f"/home/me/data/file{place}.csv") for place in range(10_000)], 20, None),
        ([UUID(int=place) for place in range(50_000)], 100, None),
    ]:
        head, buffers = encode(value)
        before = time.thread_time()
        assert len(_values.decode(head, buffers, annotation)) == len(value)
        spent = (time.thread_time() - before) * times
        size = (len(head) + sum(map(len, buffers))) * times
        allowed = reader.SECONDS + reader.SECONDS_A_BYTE * size
        allowed += objects.SECONDS_AN_OBJECT * len(value) * times if annotation else 0
        print(f"{type(value[0]).__name__}: {len(value) * times} take {spent:.1f} s of {allowed:.1f}")
        assert spent < allowed


def test_frequencies_that_take_long_to_check() -> None:
    """Those on the list come back; others are left out, as pandas takes 40 us for each value to see that they fit."""
    honest = [
        *(pd.date_range("2020", periods=20_000, freq=freq) for freq in ("ns", "250ms", "s", "15min", "-2h", "D")),
        *(
            pd.date_range("1900", periods=500, freq=freq, name="t")
            for freq in ("B", "W-TUE", "MS", "BQS-FEB", "SME", "2YE")
        ),
        pd.date_range("2020", periods=500, freq="D", tz="Europe/Zurich"),
        pd.timedelta_range("1h", periods=20_000, freq="7min"),
        pd.date_range("2020", periods=1, freq="h"),
        pd.date_range("2020", periods=0, freq="h"),
    ]
    for index in honest:
        head, buffers = encode(index)
        pd.testing.assert_index_equal(_values.decode(head, buffers), index)
        assert _values.decode(head, buffers).freq == index.freq
    slow = pd.date_range("1700", periods=4000, freq="CBME")
    values = slow.to_numpy().copy()
    before = time.thread_time()
    pd.DatetimeIndex(values, freq="CBME")
    free = time.thread_time() - before
    long = np.cumsum(np.arange(20_000) % 7 + 1).astype("M8[D]").astype("M8[s]")
    for index, freq in (values, "CBME"), (long, "B"), (long, "W"), (long, "h"), (long, "D"):
        sent = forged(1, b"W", [("I", ("n", index), None, freq)])
        before = time.thread_time()
        (made,) = _values.decode(*sent)
        assert made.freq is None and (made.to_numpy() == index).all()
        assert time.thread_time() - before < free
    for low in ("n", np.arange(3)), ("p", np.arange(3), "M"), ("o", [1, 2]):
        with pytest.raises(ValueRefused, match="a wrong frequency"):
            _values.decode(*forged(1, b"W", [("I", low, None, "h")]))
    with pytest.raises(ValueRefused, match="does not conform"):
        _values.decode(*forged(1, b"W", [("I", ("n", values[:9]), None, "MS")]))


def test_what_is_never_forgotten_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python keeps every combination of flags, pandas every frequency of a period."""
    make: Any = enum.IntFlag
    many = make("many", [f"f{place}" for place in range(20)])
    sent = forged(300, b"e" + text(f"{many.__module__}\0many"), [None] * 300, list(range(300)))
    monkeypatch.setattr(known_classes, "COMBINATIONS", 200)
    with pytest.raises(ValueRefused, match=r"^result\[\d+\]: many does not take .* 200 combinations"):
        _values.decode(*sent, many)
    assert len(many._value2member_map_) <= 200 + 20
    # What is there already still comes, and so does every member.
    assert _values.decode(*encode([many(3), many.f19]), many) == [many(3), many.f19]
    for wrong in 1 << 5000, -1 << 5000, 1.0:
        with pytest.raises(ValueRefused, match="no such combination"):
            _values.decode(*forged(1, b"e" + text(f"{many.__module__}\0many"), [None], [wrong]), many)
    # Control.
    monkeypatch.setattr(known_classes, "COMBINATIONS", 1 << 16)
    assert len(_values.decode(*sent, many)) == 300 and len(many._value2member_map_) > 220

    lows = [("I", ("p", np.zeros(1, "i8"), f"{number}M"), None, None) for number in range(1, 3000)]
    assert len(_values.decode(*crowd(len(lows), *lows))) == len(lows)
    from belljar._values.pandas import PERIODS

    assert len(pd.PeriodDtype._cache_dtypes) <= PERIODS + 100
