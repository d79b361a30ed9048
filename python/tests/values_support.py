"""Both ends of the encoding in one process: the guest's files as a jar loads them, and the host's package."""

from __future__ import annotations

import builtins
import struct
from collections import deque
from pathlib import Path
from typing import Any

from belljar import _values

GUEST = Path(__file__).parents[2] / "guest"


def load(name: str) -> dict[str, Any]:
    """As boot.py does."""
    scope: dict[str, Any] = {"__name__": f"belljar.{name}", "__builtins__": dict(vars(builtins))}
    exec(compile((GUEST / f"{name}.py").read_bytes(), f"/run/belljar/{name}.py", "exec", dont_inherit=True), scope)
    return scope


guest = load("values")
guest["load"] = load


def encode(value: object) -> tuple[bytes, list[memoryview]]:
    """What a guest sends; the buffers as the host maps them: private and writable."""
    head, buffers = guest["encode"](value)
    return head, [memoryview(bytearray(buffer)) for buffer in buffers]


def back(value: object, annotation: Any = None) -> Any:
    """The value as the host gets it."""
    return _values.decode(*encode(value), annotation)


def same(one: Any, other: Any) -> bool:
    """Equal in type, value, order, sign of zero and NaN; sets by their members."""
    return bool(exact(one) == exact(other))


def exact(value: Any) -> Any:
    """All that there is to a value, in strings and lists."""
    name = type(value).__name__
    if isinstance(value, (str, bytes, bytearray)):
        return name, value
    if isinstance(value, int):
        return name, hex(value)
    if isinstance(value, float):
        return name, struct.pack("<d", value)
    if isinstance(value, complex):
        return name, exact(value.real), exact(value.imag)
    if isinstance(value, dict):
        return name, [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return name, sorted(repr(exact(item)) for item in value)
    if isinstance(value, (list, tuple, deque)):
        return name, [exact(item) for item in value]
    # With zone and fold, and digit by digit.
    return name, repr(value)
