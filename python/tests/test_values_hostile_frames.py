"""Arrays, frames and series that a hostile guest made up: no offset, label or type of theirs is believed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hostile_support import CALLED, refused, within
from values_support import back, guest

from belljar import ValueRefused, _values


def lowered(value: Any) -> Any:
    guest["host"]["features"] = 1
    try:
        return guest["part"]("values_arrow")["lower"](value)
    finally:
        guest["host"]["features"] = 0


def arrow(low: Any) -> Any:
    """A polars series of what a guest says are Arrow's buffers."""
    encoder = guest["Encoder"](None)
    encoder.out.append(b"LS")
    encoder.column([("a", "String", "a", low)])
    return _values.decode(b"".join(encoder.out), [memoryview(bytearray(part)) for part in encoder.buffers])


def test_arrow_with_bad_buffers() -> None:
    kind, length, (validity, offsets, data), children = lowered(pa.array(["ab", "c", None], pa.large_string()))
    assert arrow((kind, length, [validity, offsets, data], children)).to_list() == ["ab", "c", None]
    bad = np.array([0, 1 << 40, 3, 3], np.int64).view(np.uint8)
    back_and_forth = np.array([0, 3, 1, 3], np.int64).view(np.uint8)
    negative = np.array([-5, 1, 2, 3], np.int64).view(np.uint8)
    for forged in [
        (kind, length, [validity, bad, data], children),
        (kind, length, [validity, back_and_forth, data], children),
        (kind, length, [validity, negative, data], children),
        (kind, length, [validity, offsets[:8], data], children),
        (kind, length, [validity, None, data], children),
        (kind, length, [validity, offsets, None], children),
        (kind, length, [validity, offsets], children),
        (kind, length, [validity, offsets, np.full(3, 255, np.uint8)], children),
        (kind, 1 << 50, [validity, offsets, data], children),
        (kind, -1, [validity, offsets, data], children),
        (kind, 1000, [None, offsets, data], children),
        ("int64", length, [None, data], []),
        ("int64", length, [None, None], []),
        ("extension", length, [None, data], []),
        (("extension", "arrow.py_extension_type"), length, [None, data], []),
        (("dictionary", False), 1, [], [("int32", 1, [None, np.full(4, 9, np.uint8)], []), (kind, 0, [None] * 3, [])]),
        (("list",), 1, [None, np.full(8, 9, np.uint8)], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("struct", ["a"]), 10, [None], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("fixed_list", 1 << 30), 10, [None], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("decimal", 128, 1, 0), 1, [None, np.full(16, 127, np.uint8)], []),
        (("timestamp", "ns", "../../etc"), 1, [None, np.zeros(8, np.uint8)], []),
    ]:
        with pytest.raises(ValueRefused):
            arrow(forged)


def test_arrow_extension_types_are_never_made() -> None:
    """A host may have registered some; no guest reaches them."""

    class Loud(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "test.loud")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialized: Any) -> Any:
            CALLED.append("extension")
            return cls()

    pa.register_extension_type(Loud())
    try:
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.ExtensionArray.from_storage(Loud(), pa.array([1]))))
        guest["host"]["features"] = 1
        with pytest.raises(TypeError, match="is of Arrow's type extension"):
            back(column)
    finally:
        guest["host"]["features"] = 0
        pa.unregister_extension_type("test.loud")
    assert not CALLED


def test_frames_that_are_none() -> None:
    def frame(*low: Any) -> Any:
        encoder = guest["Encoder"](None)
        encoder.out.append(b"W")
        encoder.column([low])
        return _values.decode(b"".join(encoder.out), [memoryview(bytearray(part)) for part in encoder.buffers])

    index = ("R", 0, 2, 1, None)
    names = ("I", ("o", ["a"]), None, None)
    column = ("n", np.arange(2))
    assert frame("F", names, index, [column], None, True).shape == (2, 1)
    assert str(frame("P", 600, "M")) == "2020-01" and 1 in frame("V", 0, 1, "right")
    assert len(frame("I", ("v", column, ("n", np.arange(2) + 1), "left"), None, None)) == 2
    for low in [
        ("F", names, index, [("n", np.arange(3))], None, True),
        ("F", names, index, [column, column], None, True),
        ("F", names, index, [("n", [1, 2])], None, True),
        ("F", names, ("R", 0, 2, 0, None), [column], None, True),
        ("F", names, ("M", [index], [np.array([5, 6])], ["x"]), [column], None, True),
        ("F", names, index, [("c", np.array([5, 6]), index, False)], None, True),
        ("F", names, index, [("m", "Int64", np.arange(2), np.zeros(3, bool))], None, True),
        ("F", names, index, [("m", "object", np.arange(2), np.zeros(2, bool))], None, True),
        ("F", names, index, [("z", np.arange(2).view("M8[ns]"), ("zone", "../x"))], None, True),
        ("F", names, index, [("z", np.arange(2).view("M8[ns]"), ("pytz", "../x"))], None, True),
        ("F", names, index, [("s", "pickle", "NA", ["a", "b"])], None, True),
        ("F", names, index, [("s", "python", "NA", ["a", 2])], None, True),
        ("F", names, index, [("p", np.arange(2), "__import__('os')")], None, True),
        ("F", names, index, [("v", column, column[::-1], "right")], None, True),
        ("F", names, index, [("v", column, ("n", np.arange(2) - 1), "right")], None, True),
        ("F", names, index, [("v", column, ("n", np.arange(3)), "right")], None, True),
        ("F", names, index, [("v", column, column, "__class__")], None, True),
        ("F", names, index, [("v", ("o", [{}, {}]), ("o", [{}, {}]), "right")], None, True),
        ("F", ("I", ("o", ["a", "a"]), None, None), index, [column, column], None, False),
        ("P", 1 << 80, "M"),
        ("P", "2020", "M"),
        ("P", 1, "__import__('os')"),
        ("V", 2, 1, "right"),
        ("V", "a", "b", "right"),
        ("V", 1, 2, "up"),
        ("__class__", "x"),
        ("F",),
        ("T", "2020", None),
    ]:
        try:
            pytest.fail(f"{low} is accepted as {frame(*low)}")
        except ValueRefused:
            pass


def test_labels_that_fall_together() -> None:
    """pandas' tables have no secret: numbers with one hash make it take time with the square of their number."""
    low = np.arange(1, 400_000, dtype=np.uint64)
    high = (low ^ (low << np.uint64(11))) & np.uint64(0xFFFFFFFF)
    bad = ((high << np.uint64(33)) | low).view(np.int64)
    together = [index * sys.hash_info.modulus for index in range(1, 60_001)]
    for index in [
        pd.Index(bad),
        pd.Index(bad[::-1].view("M8[ns]")),
        pd.MultiIndex(levels=[pd.Index(bad), [1]], codes=[[0], [0]], verify_integrity=False),
        pd.Index(together, dtype=object),
    ]:
        low_level = guest["part"]("values_pandas")["index"](index)
        encoder = guest["Encoder"](None)
        encoder.out.append(b"W")
        encoder.column([low_level])
        with within(20):
            refused(b"".join([b"\1", *encoder.out[1:]]), [bytes(part) for part in encoder.buffers], match="to be slow")
    for honest in [
        pd.Index(np.arange(400_000) << 20),
        pd.Index(np.zeros(400_000, np.int64)),
        pd.Index(np.random.default_rng(0).integers(0, 1 << 62, 400_000)),
        pd.date_range("2020", periods=400_000, freq="s", tz="UTC"),
        pd.Index([(index, str(index)) for index in range(10_000)], tupleize_cols=False),
    ]:
        with within(20):
            pd.testing.assert_index_equal(back(honest), honest)
