"""Short values that would become long: nothing is taken apart, repeated or filled up before it is charged."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile_support import blob, number, refused, text
from test_values_classes import User
from values_support import back, encode, guest

from belljar import _values

# As a list it takes 200 MB.
LONG = range(1000, 5_001_000)
ROWS = ("R", 0, 5_000_000, 1, None)


@contextmanager
def little() -> Iterator[None]:
    """All that Python and numpy allocate meanwhile is little; packages are loaded before."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def column(*values: Any) -> bytes:
    """A column, without what a value begins with."""
    encoder = guest["Encoder"](None)
    encoder.column(list(values))
    assert not encoder.buffers
    return b"".join(encoder.out[1:])


def frame(low: Any) -> bytes:
    return b"\1W" + column(low)


def series(*low: Any) -> bytes:
    return b"\1LS" + column(low)


NAMES = ("I", ("o", ["a", "b"]), None, None)
TWO = ("R", 0, 2, 1, None)
TABLE = np.zeros((2, 2))


def test_the_helpers_write_what_a_guest_writes() -> None:
    for low, shape in (("F", NAMES, TWO, TABLE, None, True), (2, 2)), (("S", ("o", [1, 2]), TWO, 0, None, True), (2,)):
        assert _values.decode(frame(low), []).shape == shape
    assert _values.decode(series("a", ("Array", "Int8", 2), "l", [[1, 2], None]), []).to_list() == [[1, 2], None]
    assert list(_values.decode(frame(("M", [TWO], [np.array([1, 0], np.int8)], [None])), [])) == [(1,), (0,)]


def test_ranges_are_no_lists() -> None:
    """To unpack one, or to call with it, would write it out."""
    zone = b"\1B\1" + text("2020-01-01") + (1).to_bytes(4, "little") + column(LONG) + b"\1" + blob(b"\0") + blob(b"\0")
    record = column([LONG])
    model = b"\1Op" + text("m\0User") + (1).to_bytes(4, "little") + text("name") + column("x")
    plain = column(None)
    assert _values.decode(model + column(["name"]) + plain, [], User) == User(name="x")
    heads = [
        zone,
        b"\1X" + record + column((1,)) + b"C" + blob(b"\0"),
        model + column(LONG) + plain,
        model + column(["name"]) + column(LONG),
        model + column(["name"]) + column([("a", 1)]),
        model + column(["name"]) + column({1: 2}),
        frame(LONG),
        frame(("F", LONG, TWO, TABLE, None, True)),
        frame(("F", NAMES, LONG, TABLE, None, True)),
        frame(("F", NAMES, TWO, [LONG, LONG], None, True)),
        frame(("F", NAMES, TWO, TABLE, LONG, True)),
        frame(("S", LONG, TWO, 0, None, True)),
        frame(("S", ("z", np.zeros(2, "M8[ns]"), LONG), TWO, 0, None, True)),
        frame(("S", ("z", np.zeros(2, "M8[ns]"), ("fixed", LONG)), TWO, 0, None, True)),
        frame(("S", ("v", LONG, LONG, "left"), TWO, 0, None, True)),
        frame(("S", ("c", np.zeros(2, np.int8), LONG, False), TWO, 0, None, True)),
        frame(("M", LONG, LONG, LONG)),
        frame(("M", [TWO], LONG, [None])),
        frame(("M", [TWO], [LONG], [None])),
        frame(("M", [TWO], [np.zeros(1, np.int8)], LONG)),
        frame(("R", LONG, 1, 1, None)),
        frame(("T", np.datetime64(1, "ns"), LONG)),
        b"\1LS" + column(LONG),
        b"\1LF" + column(LONG) + number(1),
        series("a", LONG, "l", []),
        series("a", ("Struct", LONG), "l", []),
        series("a", ("Struct", [LONG]), "l", []),
        series("a", ("Enum", LONG), "l", []),
        series("a", ("List", LONG), "l", []),
        series("a", ("Decimal", LONG, 1), "l", []),
        series("a", ("List", "Int64"), "l", [LONG]),
        series("a", "Int64", "l", [LONG]),
        series("a", "Int8", "a", LONG),
        series("a", "Int8", "a", (LONG, 1, [], [])),
        series("a", "Int8", "a", ("int8", 1, LONG, [])),
        series("a", "Int8", "a", ("int8", 1, [], LONG)),
        series("a", "Int8", "a", (("struct", LONG), 1, [None], [])),
    ]
    for head in heads:
        with little():
            refused(head, annotation=User, match="malformed: (a|an|wrong|TypeError|unhashable)")


@pytest.mark.parametrize("body", [0, None, 1.5, "x", {0: 0, 1: 1}, {"a": [1]}, LONG, (1, 2), TABLE[:1], TABLE[0]])
def test_frames_are_not_filled_up(body: Any) -> None:
    with little():
        refused(frame(("F", NAMES, ROWS, body, None, True)), match="malformed: a (column|table)")


def test_indexes_are_not_written_out() -> None:
    huge = ("R", 0, 1 << 40, 1, None)
    zero = np.zeros(1, np.int8)
    # On its own it is three numbers.
    assert len(_values.decode(frame(huge), [])) == 1 << 40
    with little():
        refused(frame(("M", [huge], [zero], [None])), match="far more memory")
        refused(frame(("S", ("c", zero, huge, False), TWO, 0, None, True)), match="far more memory")
        refused(frame(("F", huge, ("R", 0, 0, 1, None), np.zeros((0, 1 << 40)), None, True)), match="far more memory")
        refused(frame(("S", ("o", [1]), ROWS, None, None, True)), match="a wrong length")
        refused(frame(("M", [TWO, TWO], [zero, np.zeros(2, np.int8)], [None] * 2)), match="a wrong index")
        refused(frame(("M", [TWO], [np.zeros(1)], [None])), match="a wrong index")


def test_missing_items_of_wide_types() -> None:
    """Each that is missing has room for all: polars would take a terabyte for a hundred bytes."""
    wide = ("Array", "Int8", 2_000_000_000)
    twice = ("Array", ("Array", "Int8", 100_000), 100_000)
    struct = ("Struct", [("x", wide)])
    for kind, content in [
        (wide, [None]),
        (wide, [None, None]),
        (twice, [None]),
        (("List", wide), [[None]]),
        (("List", ("List", twice)), [[[None], None]]),
        (struct, [None]),
        (struct, [{"x": None}]),
        (("Array", struct, 1), [[{"x": None}]]),
    ]:
        refused(series("a", kind, "l", content), match="far more memory")
    for width in -1, 1 << 31, 1.5, None:
        refused(series("a", ("Array", "Int8", width), "l", [None]), match="unknown type")
    refused(series("a", ("Struct", [("x", "Int8"), ("y", "Int8")]), "l", [{"x": 1}]), match="another type")
    for value in [
        pl.Series("a", [[1, 2], None], dtype=pl.Array(pl.Int8, 2)),
        pl.Series("a", [[[1, 2], None], None], dtype=pl.List(pl.Array(pl.Int8, 2))),
        pl.Series("a", [{"x": [1], "y": None}, None], dtype=pl.Struct({"x": pl.Array(pl.Int8, 1), "y": pl.String})),
        pl.Series("a", [], dtype=pl.Array(pl.Int8, 1_000_000)),
    ]:
        assert back(value).equals(value, check_dtypes=True)


def test_columns_are_not_cast_to_something_larger() -> None:
    """A text that is named a million times by its number, and nulls that take no buffer at all."""
    lower = guest["part"]("values_arrow")["lower"]

    def arrow(kind: Any, value: Any) -> tuple[bytes, list[Any]]:
        encoder = guest["Encoder"](None)
        encoder.out.append(b"LS")
        encoder.column([("a", kind, "a", lower(value))])
        return b"".join(encoder.out), encoder.buffers

    texts = pa.array(["x" * 1000, "y"]).dictionary_encode()
    assert _values.decode(*arrow("Categorical", texts)).dtype == pl.Categorical
    nested = pa.array([["x"], ["y"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    places = pa.array(np.zeros(2000, np.int8))
    lists, structs = pa.array([list(range(9000))]), pa.array([{"x": "y" * 9000}])
    named = [pa.DictionaryArray.from_arrays(places, values) for values in (lists, structs, pa.array([b"z" * 9000]))]
    within = pa.StructArray.from_arrays([named[0]], ["f"])
    for kind, value in [
        (("List", "Int64"), named[0]),
        (("Struct", [("x", "String")]), named[1]),
        ("Binary", named[2]),
        (("Struct", [("f", ("List", "Int64"))]), within),
        ("String", texts),
        ("Binary", texts),
        (("List", "String"), nested),
        ("String", pa.nulls(1000)),
        (("Array", "Int8", 1000), pa.nulls(1000)),
        (("Array", "Int8", 1000), pa.array([1, 2])),
        (("List", "Int8"), pa.array([1, 2])),
    ]:
        refused(*arrow(kind, value), match="another type")
    numbers = np.zeros(2, np.int8)
    refused(series("a", ("Array", "Int8", 1000), "n", numbers, None), match="another type")
    frames = column([("a", "Int8", "l", [1]), ("b", "Int8", "l", [1, 2])])
    refused(b"\1LF" + frames + number(2), match="a wrong length")


def test_arrays_of_nothing() -> None:
    """One item is allocated also for none."""
    none = column((0,))
    assert _values.decode(b"\1X" + column("<U9") + none + b"C" + blob(b""), []).shape == (0,)
    with little():
        for kind in "<U400000000", [("a", "<f8", (250_000_000,))]:
            refused(b"\1X" + column(kind) + none + b"C" + blob(b""), match="far more memory")
        large = 1 << 10_000
        refused(b"\1X" + column("<f8") + column((large,) * 32) + b"C" + blob(b""), match="a wrong shape")


def test_what_is_honest_still_comes_back() -> None:
    for value in [
        pd.DataFrame(index=pd.RangeIndex(1000)),
        pd.DataFrame(np.zeros((3, 2), "M8[ns]"), columns=["a", "b"]),
        pd.DataFrame(np.zeros((0, 5))),
        pd.DataFrame({"a": [1]}, index=pd.MultiIndex.from_product([[1], ["x"]], names=["n", None])),
    ]:
        pd.testing.assert_frame_equal(back(value), value)
    head, buffers = encode(pl.DataFrame({"a": [1], "b": ["x"]}))
    assert _values.decode(head, buffers).rows() == [(1, "x")]
