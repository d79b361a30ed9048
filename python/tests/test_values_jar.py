"""Values through real jars, both ways: what the other files test of the encoding holds for the whole way."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_values import EXAMPLES
from values_support import same

import belljar
from belljar import keep, sandbox


@dataclass
class Point:
    x: int
    y: float


@sandbox
def same_again(value: Any) -> Any:
    return value


@sandbox(venv=sys.prefix, memory="1G")
def with_packages(value: Any) -> Any:
    return value


@sandbox
def points(count: int) -> dict[str, list[Point]]:
    return {"points": [Point(index, index / 2) for index in range(count)]}


@sandbox
def fitted(numbers: list[int]) -> dict[str, Any]:
    return {"model": keep({"sum": sum(numbers)}), "score": 1.0}


@sandbox
def predicted(model: Any, number: int) -> Any:
    return model["sum"] + number


@sandbox
def hopeless() -> Any:
    return {"a": [0, 1, 2, object()]}


def test_examples() -> None:
    assert same(EXAMPLES, same_again(EXAMPLES))
    large = [b"a" * 300_000, "é" * 300_000, list(range(100_000))]
    assert same(large, same_again(large))


def test_arrays_and_frames() -> None:
    array = np.arange(1_000_000.0).reshape(1000, 1000).T
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": pd.date_range("2020", periods=2, tz="Europe/Zurich")})
    made = with_packages([array, frame, pl.DataFrame({"a": [1, None], "b": [["x"], []]})])
    assert np.array_equal(made[0], array) and made[0].flags.f_contiguous and made[0].flags.writeable
    pd.testing.assert_frame_equal(made[1], frame)
    assert made[2].equals(pl.DataFrame({"a": [1, None], "b": [["x"], []]}))


def test_classes_and_tokens() -> None:
    assert points(2) == {"points": [Point(0, 0.0), Point(1, 0.5)]}
    model = fitted([1, 2, 3])["model"]
    assert isinstance(model, belljar.Kept) and predicted(model, 4) == 10


def test_refused() -> None:
    with pytest.raises(belljar.ValueRefused) as caught:
        hopeless()
    assert caught.value.message.startswith("result['a'][3] is of type builtins.object")
    assert caught.value.hint is not None and caught.value.hint.startswith("return plain data")
