"""What a hostile guest would write, and what the host must do with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from belljar import ValueRefused, _values

CALLED: list[object] = []


class Boom:
    """What would tell on itself if anything unpickled it."""

    def __reduce__(self) -> Any:
        return CALLED.append, ("boom",)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """By this thread's own clock: the machine may be busy."""
    before = time.thread_time()
    yield
    assert time.thread_time() - before < seconds


def refused(
    head: bytes, buffers: list[Any] | None = None, annotation: Any = None, match: str = "the guest|result"
) -> None:
    with pytest.raises(ValueRefused, match=match) as caught:
        _values.decode(head, [memoryview(buffer) for buffer in buffers or []], annotation)
    # Refused before anything was allocated, not because it could not be.
    assert "does not fit into memory" not in str(caught.value)


def blob(data: bytes) -> bytes:
    return (len(data) << 1).to_bytes(4, "little") + data


def number(value: int) -> bytes:
    return b"\x08" + blob(value.to_bytes(8, "little", signed=True))


def text(value: str) -> bytes:
    return b"\0" + blob(value.encode())
