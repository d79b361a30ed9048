"""numpy, pandas and polars come back as they are, with pyarrow on both ends and without."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra import numpy as arrays_of
from pandas import testing as pandas_testing
from polars import testing as polars_testing
from values_support import back, encode, guest

ZONE = "Europe/Zurich"
ARRAYS: list[Any] = [
    np.arange(10),
    np.zeros((3, 4), order="F"),
    np.arange(60.0).reshape(6, 10)[::2, ::3],
    np.array(3.5),
    np.zeros((0, 4)),
    np.array(["a", "bcd\U0001f600"]),
    np.array([b"x"]),
    np.array([True, False]),
    np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
    np.array([1], dtype="m8[3s]"),
    np.arange(4, dtype=">i4"),
    np.zeros(3, np.longdouble),
    np.array([1j, complex(-0.0, np.nan)]),
    np.array([(1, "ab", (1.5, 2.5), (True,))], [("a", "i4"), ("b", "U3"), ("c", "f8", (2,)), ("d", [("e", "?")])]),
    np.arange(100_000.0),
    np.arange(120_000.0).reshape(300, 400).T,
]
SCALARS: list[Any] = [
    np.float64(-0.0),
    np.float32(2),
    np.int8(-1),
    np.uint64(2**63),
    np.bool_(True),
    np.str_("é\0"),
    np.bytes_(b"x"),
    np.datetime64("2020-01-01"),
    np.datetime64("2020-01-01T00:00", "ns"),
    np.timedelta64(3, "h"),
    np.complex64(1j),
    np.float16(1),
]


@pytest.fixture(params=[0, 1], ids=["without pyarrow", "with pyarrow"])
def arrow(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the host said with the job that it has."""
    guest["host"]["features"] = request.param
    yield
    guest["host"]["features"] = 0


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype}{value.shape}")
def test_array(value: Any) -> None:
    made = back({"a": [value]})["a"][0]
    assert type(made) is np.ndarray and made.dtype == value.dtype and made.shape == value.shape
    assert made.tobytes() == value.tobytes()
    assert made.flags.writeable and made.flags.aligned
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        assert made.flags.f_contiguous


def test_large_arrays_are_not_copied() -> None:
    value = np.arange(100_000.0)
    head, buffers = guest["encode"](value)
    assert len(head) < 200 and np.shares_memory(np.frombuffer(buffers[0], np.uint8), value)
    from belljar import _values

    room = memoryview(bytearray(buffers[0]))
    made = _values.decode(head, [room])
    made[0] = 7
    assert bytes(room[:8]) == np.float64(7).tobytes()


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    arrays_of.arrays(
        dtype=arrays_of.scalar_dtypes().filter(lambda dtype: dtype.itemsize > 0),
        shape=arrays_of.array_shapes(min_dims=0, min_side=0, max_dims=4, max_side=5),
    )
)
def test_any_array(value: Any) -> None:
    made = back(value)
    assert made.dtype == value.dtype and made.shape == value.shape and made.tobytes() == value.tobytes()


def test_scalars() -> None:
    for value in SCALARS:
        made = back(value)
        assert type(made) is type(value) and made.dtype == value.dtype and made.tobytes() == value.tobytes()
    assert [type(value) for value in back(SCALARS * 9)] == [type(value) for value in SCALARS * 9]
    assert back({np.int64(1): 1, np.float64(1.5): 2}) == {1: 1, 1.5: 2}


def pandas_frames() -> list[Any]:
    mixed = {
        "a": [1, 2, 3],
        "b": [1.5, np.nan, -0.0],
        "c": ["x", None, "é"],
        "d": pd.date_range("2020", periods=3),
        "e": pd.date_range("2020", periods=3, tz=ZONE),
        "f": pd.Categorical(["a", "b", "a"], ordered=True),
        "g": pd.array([1, None, 3], dtype="Int64"),
        "h": pd.array([True, None, False], dtype="boolean"),
        "i": pd.array(["a", None, "c"], dtype="string"),
        "j": pd.to_timedelta([1, 2, 3], unit="s"),
        "k": pd.period_range("2020-01", periods=3, freq="M"),
        "l": [[1], {"a": 2}, (3,)],
        "m": pd.date_range("2020", periods=3, tz=dt.timezone(dt.timedelta(hours=1))),
    }
    return [
        pd.DataFrame(mixed),
        pd.DataFrame(np.arange(50.0).reshape(10, 5)),
        pd.DataFrame(),
        pd.DataFrame({"a": []}),
        pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"]),
        pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_product([["u"], [1, 2]], names=["p", None])),
        pd.DataFrame(np.zeros((50_000, 3)), columns=list("abc")),
        pd.DataFrame({"a": range(4)}, index=pd.date_range("2024", periods=4, freq="h", tz="UTC", name="t")),
        pd.DataFrame([[1, 2]], columns=[0, "b"]),
        pd.DataFrame(index=[1, 2, 3]),
        pd.DataFrame({"l": [[1, 2], [3, 4]], "t": [(1, 2), (3, 4)]}),
    ]


@pytest.mark.parametrize("place", range(11))
def test_pandas_frame(place: int, arrow: None) -> None:
    value = pandas_frames()[place]
    made = back([value])[0]
    pandas_testing.assert_frame_equal(value, made, check_exact=True)
    assert list(map(str, made.dtypes)) == list(map(str, value.dtypes))
    assert type(made.index) is type(value.index) and type(made.columns) is type(value.columns)
    pandas_testing.assert_index_equal(value.index, back(value.index), exact=True)
    for column in range(value.shape[1]):
        series = value.iloc[:, column]
        pandas_testing.assert_series_equal(series, back(series), check_exact=True)


def test_pandas_scalars() -> None:
    moment = pd.Timestamp("2024-10-27 01:30", tz="UTC").tz_convert(ZONE)
    for value in [moment, pd.Timestamp(5, unit="s"), pd.NaT, pd.NA, pd.Timedelta(5, "s")]:
        made = back([value])[0]
        assert type(made) is type(value) and repr(made) == repr(value)


def test_pandas_with_arrow_types() -> None:
    columns: list[tuple[Any, list[Any]]] = [
        (pa.int64(), [1, None, 3]),
        (pa.bool_(), [True, None]),
        (pa.large_string(), ["a", None]),
        (pa.timestamp("ns", "UTC"), [pd.Timestamp("2020", tz="UTC"), None]),
        (pa.list_(pa.string()), [["a"], None, ["b", "c"]]),
        (pa.struct([("a", pa.int64()), ("b", pa.string())]), [{"a": 1, "b": "x"}, None]),
        (pa.decimal128(10, 2), [Decimal("1.20"), None]),
        (pa.dictionary(pa.int32(), pa.string()), ["a", "b", "a"]),
        (pa.null(), [None]),
        (pa.duration("s"), [dt.timedelta(5)]),
    ]
    for kind, values in columns:
        whole = pd.Series(values, dtype=pd.ArrowDtype(kind))
        for series in whole, whole[1:], whole[:0]:
            guest["host"]["features"] = 1
            made = back(series)
            guest["host"]["features"] = 0
            assert str(made.dtype) == str(series.dtype)
            assert made.array.__arrow_array__().equals(series.array.__arrow_array__())
    with pytest.raises(TypeError, match=r"result\[0\] is of int64\[pyarrow\], and the host has no pyarrow"):
        back([pd.Series([1], dtype="int64[pyarrow]")])


def polars_series() -> list[Any]:
    return [
        pl.Series("a", [1, 2, None]),
        pl.Series("a", [1.5, float("nan"), None]),
        pl.Series("b", ["x", None, "é"]),
        pl.Series("c", [True, None]),
        pl.Series("d", [dt.date(2020, 1, 1), None]),
        pl.Series("e", [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), None]).dt.convert_time_zone(ZONE),
        pl.Series("e", [1, 2, None], dtype=pl.Datetime("ns")),
        pl.Series("f", [dt.timedelta(1), None]),
        pl.Series("g", [dt.time(1, 2), None]),
        pl.Series("h", [Decimal("1.20"), None]),
        pl.Series("i", ["a", "b", "a"], dtype=pl.Categorical),
        pl.Series("j", ["a", "b", None], dtype=pl.Enum(["a", "b"])),
        pl.Series("k", [[1, 2], None, []]),
        pl.Series("l", [[dt.datetime(2020, 1, 1)], None]),
        pl.Series("m", [{"Date": 1, "b": "x"}, {"Date": None, "b": "y"}]),
        pl.Series("n", [[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
        pl.Series("o", [b"x", None]),
        pl.Series("p", [None, None]),
        pl.Series("q", [], dtype=pl.UInt8),
        pl.Series("", [1], dtype=pl.Int128),
        *(pl.Series("r", [1, None], dtype=getattr(pl, name)) for name in ("UInt128", "Float16") if hasattr(pl, name)),
        pl.Series("s", [[{"a": [1]}], []]),
    ]


def test_polars(arrow: None) -> None:
    for series in polars_series():
        for value in series, series[1:]:
            made = back(value)
            polars_testing.assert_series_equal(value, made, check_exact=True)
            assert made.dtype == value.dtype
            polars_testing.assert_frame_equal(value.to_frame(), back([value.to_frame()])[0], check_exact=True)
    polars_testing.assert_frame_equal(pl.DataFrame(), back(pl.DataFrame()))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([object()]), r"result\['a'\]\[0\] is an array of object, .*; return tolist"),
        (np.ma.zeros(3), r"result\['a'\]\[0\] is a MaskedArray, not a plain array; return numpy.asarray"),
        (np.zeros(1, [("a", "i4")])[0], r"result\['a'\]\[0\] is of type numpy.void; return item"),
        (pd.DataFrame({"x": [object()]}), r"result\['a'\]\[0\] holds something that is of type builtins.object"),
        (
            pd.DataFrame({"x": pd.arrays.SparseArray([0, 1])}),
            r"result\['a'\]\[0\] has a column 'x' that is of Sparse.*; return sparse.to_dense\(\) of the column",
        ),
        (pd.arrays.SparseArray([0, 1]), r"result\['a'\]\[0\] is a SparseArray; return to_dense\(\) of it"),
        (pd.Categorical(["a"]), r"result\['a'\]\[0\] is a Categorical; return pandas.Series\(...\) of it"),
        (pl.DataFrame({"x": [1]}).lazy(), r"result\['a'\]\[0\] is a LazyFrame, .*; return collect"),
        (
            pl.Series("x", [object()]),
            r"result\['a'\]\[0\] has a column 'x' that is of Object, .*; .* return its to_list",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused_with_path_and_fix(value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        back({"a": [value]})


def test_a_host_without_the_packages(tmp_path: Path) -> None:
    """The value is refused with its path and the fix, and nothing else happens."""
    for name, value in [("numpy", np.arange(3)), ("pandas", pd.Series([1])), ("polars", pl.Series([1]))]:
        # Also where all rows together are columns, it is one row's.
        head, buffers = encode({"a": [{"b": place} for place in range(17)] + [{"b": value}, {"b": value}]})
        path = tmp_path / "value"
        path.write_bytes(head)
        package = str(Path(sys.modules["belljar"].__file__ or "").parents[1])
        program = (
            f"import sys; sys.path.insert(0, {package!r}); sys.modules[{name!r}] = None\n"
            "from belljar import _values\n"
            f"_values.decode(open({str(path)!r}, 'rb').read(), [])\n"
        )
        assert not buffers
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100)
        last = "\n".join(told.stderr.splitlines()[-2:])
        assert f"result['a'][17]['b'] is of {name}, which is not installed here" in last
        assert f"hint: install {name}, or return to" in last
