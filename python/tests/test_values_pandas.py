"""What pandas has beside numbers: categories, periods, intervals, flags. Each comes back as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas import testing
from values_support import back

MOMENTS = pd.date_range("2020", periods=4, tz="Europe/Zurich")
LETTERS = pd.Categorical(["a", "b", None], categories=["b", "a", "c"], ordered=True)
COLUMNS: dict[str, Any] = {
    "categories": LETTERS,
    "categories of numbers": pd.Categorical([2, 1, 2]),
    "categories of moments": pd.Categorical(MOMENTS[:3]),
    "periods": pd.PeriodIndex(["2020-01", None, "2021-07"], freq="M"),
    "periods of two weeks": pd.period_range("2020-01", periods=3, freq="2W-SUN"),
    "intervals": pd.interval_range(0, 3, closed="left"),
    "intervals of floats": pd.arrays.IntervalArray.from_tuples([(0.5, 1.5), np.nan, (2, 2)], closed="both"),
    "intervals of moments": pd.IntervalIndex.from_breaks(MOMENTS, closed="neither"),
    "bins": pd.cut(pd.Series([1, 5, 9]), 3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_and_an_index(name: str) -> None:
    series = pd.Series(COLUMNS[name], name=name)
    testing.assert_series_equal(back([series])[0], series, check_exact=True)
    frame = pd.DataFrame({"a": series, "b": [1, 2, 3]})
    testing.assert_frame_equal(back(frame), frame, check_exact=True)
    index = pd.Index(COLUMNS[name], name="x")
    made = back({"k": index})["k"]
    assert type(made) is type(index)
    testing.assert_index_equal(made, index, exact=True)
    counted = series.groupby(series, observed=False).count()
    testing.assert_series_equal(back(counted), counted)


@pytest.mark.parametrize(
    "value",
    [
        pd.Period("2020-01", "M"),
        pd.Period("2020-01-06", "2W-SUN"),
        pd.Interval(1, 2, closed="left"),
        pd.Interval(-0.5, 0.5, closed="neither"),
        pd.Interval(MOMENTS[0], MOMENTS[1]),
        pd.Interval(pd.Timedelta(1, "s"), pd.Timedelta(1, "h"), closed="both"),
    ],
    ids=repr,
)
def test_a_scalar(value: Any) -> None:
    for made in (back([value])[0], back({value: 1}).popitem()[0], back(pd.Series([value, "x"], dtype=object))[0]):
        assert type(made) is type(value) and made == value and repr(made) == repr(value)


def test_flags_and_attributes() -> None:
    frame = pd.DataFrame({"a": [1, 2]}).set_flags(allows_duplicate_labels=False)
    frame.attrs["unit"] = {"a": "m"}
    for value in frame, frame["a"]:
        made = back(value)
        assert made.flags.allows_duplicate_labels is False and made.attrs == {"unit": {"a": "m"}}
    assert back(pd.DataFrame({"a": [1]})).flags.allows_duplicate_labels is True
