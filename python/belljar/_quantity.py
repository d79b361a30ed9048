"""Sizes and durations as people write them, read as the binary reads them."""

from __future__ import annotations

import re

SIZES = {"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20}
SIZES |= {"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}
SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
PIECE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)", re.ASCII)


def size(value: object) -> int | None:
    """Bytes in `512M`, `1G` or a number; None for what is no size."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    found = re.fullmatch(r"([0-9]+)([a-zA-Z]*)", value.strip(), re.ASCII) if isinstance(value, str) else None
    if found is None or found[2].lower() not in SIZES:
        return None
    return int(found[1]) << SIZES[found[2].lower()]


def seconds(value: object) -> float | None:
    """Seconds in `500ms`, `1h30m` or a number; None for what is no duration."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return float(text)
    pieces = PIECE.findall(text)
    if not pieces or "".join(map("".join, pieces)) != text or any(unit not in SECONDS for _, unit in pieces):
        return None
    return sum(float(amount) * SECONDS[unit] for amount, unit in pieces)
