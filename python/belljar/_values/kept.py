"""What a guest kept for another guest."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing import Any

T = TypeVar("T")


class Kept:
    """A token for an object that a guest passed to `belljar.keep`. A later call that gets the token gets the object.

    The host never opens it. It is pickled as a call of `belljar.Kept`, which in a guest opens it.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any) -> None:
        # No view: Python 3.10 crashes when it collects a pickle's buffer over one.
        self._data = bytes(data)

    def __reduce_ex__(self, protocol: Any) -> tuple[type[Kept], tuple[Any]]:
        if protocol >= 5:
            from pickle import PickleBuffer

            return Kept, (PickleBuffer(self._data),)
        return Kept, (self._data,)

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        return self._data == other._data if isinstance(other, Kept) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._data)

    def __repr__(self) -> str:
        return f"<belljar.Kept, {len(self._data)} bytes>"


def keep(value: T) -> T:
    """In a jar, marks a value so that the host gets a token that only a later call can open. Outside, returns it."""
    return value


# Pickled under the names that both sides know.
Kept.__module__ = keep.__module__ = "belljar"
