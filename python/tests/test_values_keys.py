"""Keys that a guest chose to have one hash: how often the host compares them is bounded before it begins."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile_support import blob, refused
from values_support import back, encode, guest, same

from belljar import ValueRefused, _values
from belljar._values.reader import STEPS

MODULUS = sys.hash_info.modulus
SLOW = "chosen to be slow"


def integers(numbers: list[int]) -> bytes:
    pieces = [number.to_bytes((number.bit_length() >> 3) + 1, "little", signed=True) for number in numbers]
    return b"i\0\1" + blob(bytes(map(len, pieces))) + blob(b"".join(pieces))


def members(levels: int, width: int, number: int = 0) -> list[int]:
    """All integers in one of several frozensets that share a hash and all members but one, so deep and so wide."""
    if levels == 0:
        return [(number + 1) * MODULUS]
    numbers = [*range(width - 1), width - 1 + number]
    return [leaf for inner in numbers for leaf in members(levels - 1, width, inner)]


def nested(levels: int, width: int, step: bytes = b"z") -> bytes:
    return (step + b"\2" + width.to_bytes(8, "little")) * levels + integers(members(levels, width))


def test_the_helpers_write_what_a_guest_writes() -> None:
    """The control for what is refused below: the same, less wide."""
    value = _values.decode(b"\1" + nested(2, 4), [])
    assert isinstance(value, frozenset) and len({hash(member) for member in value}) == 1 < len(value)
    assert value == back(value)


def test_nested_sets_with_one_hash() -> None:
    """Each has no more members than fall together without harm; at three levels of 48 the host stood for minutes."""
    for levels, width in (2, 64), (3, 24), (3, 32), (4, 12), (6, 5):
        refused(b"\1" + nested(levels, width), match=SLOW)
        refused(b"\1l\2" + (1).to_bytes(8, "little") + nested(levels, width), match=SLOW)


def test_dicts_and_tuples_hide_them_no_better() -> None:
    width = (24).to_bytes(8, "little")
    refused(b"\1d\2" + width + nested(3, 24)[10:] + b"N" + blob(bytes(24)), match=SLOW)
    # A tuple of one frozenset at each level.
    step = b"z\2" + width + b"t\2" + (1).to_bytes(8, "little")
    refused(b"\1" + step * 3 + integers(members(3, 24)), match=SLOW)


def test_numbers_that_take_long_to_compare() -> None:
    """A Decimal beside a large integer takes the square of its size: two seconds for a million bits."""
    large = 7 + MODULUS * (1 << 4_000_000)
    assert hash(large) == hash(Decimal(7)) == hash(Fraction(7 + MODULUS))
    head, buffers = encode([[Decimal(7), large]])
    assert head.startswith(b"\1l\2" + (1).to_bytes(8, "little") + b"l\2")
    at = head.rindex(b"l\2")
    for tag in b"hz":
        refused(head[:at] + bytes((tag,)) + head[at + 1 :], list(buffers), match=SLOW)
    few = {Decimal(7), 7 + MODULUS, Fraction(7 + 2 * MODULUS), 7 + 3 * MODULUS}
    assert same(back(few), few)


@dataclass(frozen=True)
class Probe:
    """Counts how often it is compared."""

    number: int
    compared = 0

    def __hash__(self) -> int:
        return 5

    def __eq__(self, other: object) -> bool:
        Probe.compared += 1
        return isinstance(other, Probe) and self.number == other.number


def probes(levels: int, width: int, number: int = 0) -> Any:
    """As lists, which nothing compares."""
    if levels == 0:
        return Probe(number)
    return [probes(levels - 1, width, inner) for inner in [*range(width - 1), width - 1 + number]]


@pytest.mark.parametrize(("levels", "width"), [(1, 20), (1, 5000), (2, 6), (2, 60), (3, 4), (3, 30), (5, 6)])
def test_comparisons_are_fewer_than_promised(levels: int, width: int) -> None:
    head, buffers = encode(probes(levels, width))
    size = len(head) + sum(map(len, buffers))
    step = b"l\2" + width.to_bytes(8, "little")
    assert head.startswith(b"\1" + step * levels + b"O")
    head = b"\1" + step.replace(b"l", b"z") * levels + head[1 + len(step) * levels :]
    Probe.compared = 0
    try:
        accepted = len(_values.decode(head, buffers, Probe)) == width
    except ValueRefused as error:
        accepted = False
        assert SLOW in str(error)
    assert accepted is (width <= 20 and levels <= 3)
    assert Probe.compared <= STEPS + size
    if accepted:
        assert Probe.compared >= width * (width - 1) // 2


def test_labels_of_an_index() -> None:
    def index(labels: list[Any]) -> tuple[bytes, list[Any]]:
        encoder = guest["Encoder"](None)
        encoder.out.append(b"W")
        encoder.column([("I", ("o", labels), None, None)])
        return b"".join(encoder.out), encoder.buffers

    def frozen(levels: int, width: int, number: int = 0) -> Any:
        numbers = [*range(width - 1), width - 1 + number]
        if levels == 1:
            return frozenset([(inner + 1) * MODULUS for inner in numbers])
        return frozenset([frozen(levels - 1, width, inner) for inner in numbers])

    few, many = ([frozen(2, width, number) for number in range(width)] for width in (4, 22))
    assert list(_values.decode(*index(few))) == few
    refused(*index(many), match=SLOW)
    # Equal labels are compared once each.
    for labels in [1.5, "x", (1, 2)] * 5000, [np.float64(0.5), None] * 5000, [timedelta(3)] * 9000:
        assert list(_values.decode(*index(labels))) == labels
    assert pd.isna(_values.decode(*index([pd.NA, pd.NaT, pd.NA]))).all()


def test_honest_keys_that_share_hashes() -> None:
    """-1 and -2 have one hash, and so have all points that differ in nothing else; powers of two repeat."""
    for dimensions in 1, 2, 3, 4, 5:
        points = set(itertools.product(range(-3, 3), repeat=dimensions))
        assert same(back(points), points)
        assert same(back([points] * 3), [points] * 3)
    powers = {1 << place: place for place in range(2000)}
    assert same(back(powers), powers)
    sets = {frozenset({-1, number}) for number in range(500)} | {frozenset({-2, number}) for number in range(500)}
    assert back(sets) == sets
    pairs = [{-1: "a", -2: "b"}] * 20_000
    assert same(back(pairs), pairs)
    spans = {timedelta(days, seconds): 0 for days in range(-4, 4) for seconds in range(500)}
    assert same(back(spans), spans)
    floats = {2.0**place for place in range(-1000, 1000)} | {-1, -2, 0.5j, None, True}
    assert same(back(floats), floats)
