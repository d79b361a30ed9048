"""What this host can take from a guest."""

from __future__ import annotations

PYARROW = 1
# The first that does not unpickle what it reads.
LEAST = (14, 0, 1)
known: list[int] = []


def features() -> int:
    """A set of bits that goes with each job."""
    if not known:
        known.append(PYARROW if recent("pyarrow") else 0)
    return known[0]


def recent(name: str) -> bool:
    """Asks the files on disk: to import it takes a second."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        numbers = [int(number) for number in version(name).split(".")[:3]]
    except (PackageNotFoundError, ValueError):
        return False
    return tuple(numbers) >= LEAST
