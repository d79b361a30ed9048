"""What a guest returns is what the host gets: equal in type, value, order, sign of zero and NaN."""

from __future__ import annotations

import datetime as dt
import math
import pathlib
import random
import struct
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from values_support import back, same

ZURICH = ZoneInfo("Europe/Zurich")
EXAMPLES: list[Any] = [
    None,
    True,
    0,
    -1,
    255,
    256,
    -(2**63),
    2**63,
    -(2**200),
    10**5000,
    0.0,
    -0.0,
    math.nan,
    -math.nan,
    math.inf,
    5e-324,
    complex(-0.0, math.nan),
    "",
    "\0",
    "a\0b",
    "\ud800\udc00",
    "\U00010000",
    "\udcff x",
    b"",
    b"\0" * 3,
    bytearray(b"ab"),
    [],
    (),
    {},
    set(),
    frozenset(),
    [[]],
    [[], [1]],
    ((), ((),)),
    {"a": {}, "b": {"c": [{}]}},
    {1: "a", "1": "b", (1, 2): "c", None: "d", 1.5: "e", b"x": "f", frozenset([1]): "g"},
    [1, True, 1.0, None, "1", b"1", (1,), [1]],
    [{"a": 1}, {"b": 2}, {"a": 1, "b": 2}, {}] * 8,
    [{"a": 1}, {"a": None}, {"a": "x"}] * 40,
    [{"b": 1, "a": 2}, {"a": 2, "b": 1}] * 20,
    dt.date(1, 1, 1),
    dt.datetime.max,
    dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZURICH),
    dt.datetime(2024, 10, 27, 2, 30, 0, 1, tzinfo=dt.timezone.utc),
    dt.datetime(2024, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=-1, microseconds=7), "odd")),
    [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, tzinfo=ZURICH), dt.datetime(2024, 1, 1, fold=1)],
    dt.time(1, 2, 3, 4, fold=1),
    dt.time(1, 2, tzinfo=ZURICH),
    dt.timedelta.min,
    dt.timedelta(microseconds=-1),
    Decimal("-0E+7"),
    Decimal("sNaN12"),
    Decimal("1.10"),
    Decimal("9" * 1000),
    Fraction(-7, 3),
    uuid.UUID(int=2**127),
    pathlib.Path("/a/../b"),
    pathlib.PurePosixPath("x"),
    pathlib.PureWindowsPath("C:/x"),
    range(5, 2**80, 3),
    deque([1, 2], maxlen=2),
    deque([[]]),
    OrderedDict([("b", 1), ("a", 2)]),
    Counter({"a": 2, "b": -1}),
    defaultdict(list, {"a": [1]}),
    [defaultdict(None, {1: 2}), defaultdict(int), {}],
]


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_example(value: Any) -> None:
    assert same(value, back(value))


def test_all_examples_at_once() -> None:
    assert same(EXAMPLES, back(EXAMPLES))
    assert same({"x": tuple(EXAMPLES)}, back({"x": tuple(EXAMPLES)}))


def test_defaults_and_limits_stay() -> None:
    made = back(defaultdict(list, {"a": [1]}))
    made["new"].append(2)
    assert made == {"a": [1], "new": [2]}
    assert back(deque([1, 2], maxlen=2)).maxlen == 2 and back(deque([1])).maxlen is None
    moved = OrderedDict.fromkeys("abc")
    moved.move_to_end("a")
    assert list(back(moved)) == ["b", "c", "a"]


def test_zone_and_fold_stay() -> None:
    value = dt.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZURICH)
    made = back(value)
    assert made.fold == 1 and made.tzinfo is ZURICH and made.utcoffset() == dt.timedelta(hours=1)
    assert back(value.replace(fold=0)).utcoffset() == dt.timedelta(hours=2)
    assert back(dt.timezone(dt.timedelta(hours=1), "X").tzname(None)) == "X"


def test_payload_of_nan_stays() -> None:
    odd = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
    assert struct.pack("<d", back(odd)) == struct.pack("<d", odd)
    assert struct.pack("<d", back([odd] * 100)[99]) == struct.pack("<d", odd)


def test_many_rows() -> None:
    random.seed(0)
    rows = [
        {
            "id": index,
            "name": f"name {index}",
            "score": random.random(),
            "flag": index % 2 == 0,
            "maybe": None if index % 3 else "é",
            "tags": ["x"] * (index % 4),
            "at": dt.datetime(2024, 1, 1) + dt.timedelta(minutes=index),
            "more": {"k": (index, -index)},
        }
        for index in range(2000)
    ]
    assert same(rows, back(rows))


def test_large_parts_travel_apart() -> None:
    from values_support import encode

    value = [b"a" * 100_000, bytearray(b"b" * 100_000), "c" * 100_000, [0.5] * 100_000, list(range(100_000))]
    head, buffers = encode(value)
    assert len(head) < 1000 and len(buffers) >= 5
    assert same(value, back(value))


ZONES = [st.none(), st.just(ZURICH), st.just(dt.timezone.utc), st.just(dt.timezone(dt.timedelta(minutes=-90), "n"))]
atoms: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
    st.dates(),
    st.datetimes(timezones=st.one_of(ZONES)),
    st.times(),
    st.timedeltas(),
    st.decimals(),
    st.fractions(),
    st.uuids(),
    st.builds(range, st.integers(), st.integers(), st.integers().filter(bool)),
)
keys: Any = st.recursive(
    atoms.filter(lambda value: not (isinstance(value, Decimal) and value.is_snan())),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
values: Any = st.recursive(
    atoms | st.binary().map(bytearray),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.lists(inner, max_size=6).map(tuple),
        st.lists(inner, max_size=6).map(deque),
        st.dictionaries(keys, inner, max_size=5),
        st.dictionaries(st.text(max_size=3), inner, max_size=5),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(OrderedDict),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
        st.lists(st.fixed_dictionaries({"a": inner, "b": atoms}), max_size=5),
    ),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(values)
def test_any_value(value: Any) -> None:
    assert same(value, back(value))
