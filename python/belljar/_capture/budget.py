"""What a pickle is written to: it may not grow or last without end, and an interrupt is heard meanwhile."""

from __future__ import annotations

from time import monotonic

from .._errors import ValueRefused

#: Seconds that it may take to put a call together.
SECONDS = 30.0
#: Most bytes of it.
MOST = 1 << 30


class TooMuch(ValueRefused):
    """A budget is used up; which object did it is looked for by whoever asked."""


class Sink:
    """A file for a pickler. The pickler comes here with every 64 KiB, and this is no C code: signals are handled."""

    def __init__(self, seconds: float | None = None, most: int | None = None) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.seconds = SECONDS if seconds is None else seconds
        self._until = monotonic() + self.seconds
        self._most = MOST if most is None else most

    def write(self, data: bytes | memoryview) -> int:
        self.check(len(data))
        self._parts.append(bytes(data))
        return len(data)

    def check(self, size: int = 0) -> None:
        """Counts so many bytes more."""
        self._size += size
        if self._size > self._most:
            raise TooMuch(
                f"it takes more than {self._most / (1 << 20):g} MiB",
                "send less, or show the guest a folder with mount=",
            )
        if monotonic() > self._until:
            raise TooMuch(f"it takes longer than {self.seconds:g} s to be sent", "send less, or plain data")

    def value(self) -> bytes:
        return b"".join(self._parts)
