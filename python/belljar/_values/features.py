"""What this host can take from a guest."""

from __future__ import annotations

import sys

PYARROW = 1
known: list[int] = []


def features() -> int:
    """A set of bits that goes with each job."""
    if not known:
        known.append(PYARROW if installed("pyarrow") else 0)
    return known[0]


def installed(name: str) -> bool:
    """Asks the finders: to import it takes a second, and to ask for its version 20 ms."""
    if name in sys.modules:
        return sys.modules[name] is not None
    return any(finder.find_spec(name, None) is not None for finder in sys.meta_path if hasattr(finder, "find_spec"))
