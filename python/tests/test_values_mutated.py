"""Valid values with bytes changed, and bytes that never were a value: what is not refused can be used."""

from __future__ import annotations

import gc
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_values import EXAMPLES
from test_values_classes import LINE, Line, Pair, User
from values_support import encode, guest

from belljar import ValueRefused, _values


def corpus() -> list[tuple[bytes, list[memoryview]]]:
    """A valid encoding of everything."""
    frames = [
        pd.DataFrame(
            {"a": [1, 2], "b": ["x", None], "c": pd.Categorical(["a", "b"]), "d": pd.array([1, None], "Int64")}
        ),
        pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [[1], [2, 3]]}),
        [np.arange(6).reshape(2, 3), np.float64(1), np.array(["a"]), np.array([True])],
        [LINE, Pair(1, 2), User(name="a")],
        [{"a": index, "b": str(index), "c": None if index % 2 else 1.5} for index in range(100)],
        b"x" * 70_000,
    ]
    guest["host"]["features"] = 1
    made = [encode(value) for value in [*EXAMPLES, *frames]]
    guest["host"]["features"] = 0
    return made


CORPUS = corpus()


def survives(head: bytes, buffers: list[Any]) -> None:
    try:
        value = _values.decode(head, [memoryview(bytearray(buffer)) for buffer in buffers], tuple[Line, Pair, User])
    except ValueRefused:
        return
    # What is accepted can be used.
    if not isinstance(value, int):
        try:
            repr(value)
        except (ValueError, OverflowError, ArithmeticError):
            pass


@pytest.mark.parametrize("seed", range(8))
def test_mutated_values(seed: int) -> None:
    """Bytes changed, cut, doubled and swapped: a refusal or a value, and never anything else."""
    chance = random.Random(seed)
    for _ in range(1500):
        head, buffers = chance.choice(CORPUS)
        data = bytearray(head)
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            at = chance.randrange(len(data))
            what = chance.randrange(6)
            if what == 0:
                data[at] = chance.randrange(256)
            elif what == 1:
                data[at] ^= 1 << chance.randrange(8)
            elif what == 2:
                del data[at : at + chance.randrange(1, 9)]
            elif what == 3:
                data[at:at] = data[at : at + chance.randrange(1, 17)]
            elif what == 4:
                data[at : at + 8] = chance.choice((b"\xff" * 8, bytes(8), (1 << 62).to_bytes(8, "little")))
            else:
                other = chance.choice(CORPUS)[0]
                data[at : at + 8] = other[chance.randrange(len(other)) :][:24]
            if not data:
                data = bytearray(b"\1")
        changed = [bytes(buffer) for buffer in buffers]
        if changed and chance.random() < 0.5:
            changed[0] = changed[0][: chance.randrange(len(changed[0]))]
        survives(bytes(data), changed)
    gc.collect()


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300), st.lists(st.binary(max_size=50), max_size=3))
@example(b"", [])
def test_any_bytes(head: bytes, buffers: list[bytes]) -> None:
    survives(head, buffers)
    survives(b"\1" + head, buffers)
