"""Helpers and classes beside decorated functions."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from belljar import sandbox

RATE = 3
# Cannot be sent, and is not needed.
GUARD = threading.Lock()


@dataclass
class Point:
    x: int
    y: int

    def scaled(self, by: int) -> Point:
        return Point(self.x * by, self.y * by)


def triple(number: int) -> int:
    return number * RATE


def chain(number: int) -> int:
    return triple(number) + 1


@sandbox
def sent(number: int) -> int:
    return chain(number)


@sandbox
def moved(point: Point, by: int) -> Point:
    return Point(point.x + by, point.y + by).scaled(2)


@sandbox
def whole_module(number: int) -> int:
    from types import ModuleType

    assert isinstance(me, ModuleType)
    return me.chain(number)


from . import helpers as me  # noqa: E402, PLW0406
