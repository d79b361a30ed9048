"""What is too large to be sent: told before anything runs, with a figure and a way out."""

from __future__ import annotations

import math
import sys
from itertools import islice

from . import _frames as frames
from ._errors import ValueRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SHOWN = "show it with mount="
HINT = "write it to a file and show that with mount=, or send it piece by piece with files="
RAW = (str, bytes, bytearray)
# So many items of a container are looked at to guess how much all of them take.
SAMPLE = 1000


def figure(size: int) -> str:
    """A size for people. Rounded up, so that what is over a bound is told as more."""
    for shift, unit in (30, "GiB"), (20, "MiB"), (10, "KiB"):
        if size >> shift:
            return f"{math.ceil(size * 100 / (1 << shift)) / 100:g} {unit}"
    return f"{size} bytes"


def refused(parts: Sequence[frames.Buffer], named: Mapping[str, Any], hint: str = HINT) -> ValueRefused:
    """Why parts do not fit into one frame; `named` is what they are made of, by the names that the caller knows."""
    size = frames.body_size(parts)
    if size > frames.MOST_BODY:
        return too_large(size, named, hint)
    told = f"cannot send {len(parts):,} arrays, files and other parts at once: a call takes {frames.MOST_PARTS:,}"
    return ValueRefused(told, "put them together into fewer")


def too_large(size: int, named: Mapping[str, Any], hint: str = HINT) -> ValueRefused:
    """Names the one that takes most."""
    name = max(named, key=lambda name: weight(named[name]))
    together = " in all" if weight(named[name]) < size * 0.9 and len(named) > 1 else ""
    told = f"cannot send {name} ({type(named[name]).__name__}): {figure(size)}{together}"
    return ValueRefused(f"{told}, and a call takes {figure(frames.MOST_BODY)}", hint)


def weight(value: Any, depth: int = 4) -> float:
    """About how many bytes a value takes."""
    size = getattr(value, "nbytes", None)
    if type(size) is int:
        return size
    if isinstance(value, RAW):
        return len(value)
    if not depth or not value or not isinstance(value, (list, tuple, set, frozenset, dict)):
        return sys.getsizeof(value)
    some = [weight(item, depth - 1) for item in islice(value.values() if type(value) is dict else value, SAMPLE)]
    return sum(some) * len(value) / len(some)
