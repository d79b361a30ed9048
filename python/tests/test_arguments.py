"""What cannot be sent is refused before anything runs, and named: which argument, which row, which field."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import belljar
from belljar import sandbox

LOCK = threading.Lock()


@dataclass
class Row:
    x: object


class Pair(NamedTuple):
    left: object
    right: object


@sandbox
def takes(*args: Any, **kwargs: Any) -> int:
    return len(args) + len(kwargs)


def rows(bad: int | None) -> list[dict[str, object]]:
    return [{"x": LOCK if place == bad else place, "y": "text"} for place in range(30)]


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ((rows(17),), "args[0][17]['x']"),
        ((1, rows(29)), "args[1][29]['x']"),
        (([Row(1), Row(LOCK)],), "args[0][1].x"),
        ((Row(rows(3)),), "args[0].x[3]['x']"),
        (([(1, 2), (1, LOCK)],), "args[0][1][1]"),
        (([Pair(1, 2), Pair(1, LOCK)],), "args[0][1].right"),
        ((deque([1, LOCK]),), "args[0][1]"),
        (({"a": {"b": [1, LOCK]}},), "args[0]['a']['b'][1]"),
        (({1: {LOCK}},), f"args[0][1]{{{LOCK!r}}}"),
        (({LOCK: 1},), f"args[0].key({LOCK!r})"),
    ],
    ids=range(10),
)
def test_the_path_of_what_cannot_be_sent(args: tuple[Any, ...], path: str) -> None:
    with pytest.raises(belljar.ValueRefused) as caught:
        takes(*args)
    assert caught.value.message.startswith(f"cannot send {path} (lock): ") and caught.value.hint
    with pytest.raises(belljar.ValueRefused) as caught:
        takes(named=args[-1])
    assert f"arguments['named']{path.partition(']')[2]} (lock)" in caught.value.message


def test_the_same_without_the_lock_is_sent() -> None:
    """The control: all those shapes can go."""
    assert takes(rows(None), [Row(1)], Row(rows(None)), [Pair(1, 2)], deque([1]), {1: {2}}) == 6


def test_inputs_have_paths_too() -> None:
    with pytest.raises(belljar.ValueRefused, match=r"cannot send inputs\['a'\]\[17\]\['x'\] \(lock\)"):
        belljar.run("a", inputs={"a": rows(17)})
    assert belljar.run("len(a)", inputs={"a": rows(None)}).value == 30
