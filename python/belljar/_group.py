"""A group of exceptions of a guest, for Python 3.11 and later."""

from __future__ import annotations

from builtins import ExceptionGroup  # type: ignore[attr-defined,unused-ignore]

from ._errors import GuestError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class GuestExceptionGroup(GuestError, ExceptionGroup):  # type: ignore[misc,type-arg,unused-ignore]
    """What a guest raised as a group: `except*` finds its members, and `except GuestError` the whole."""

    __module__ = "belljar"

    def __new__(cls, message: str, members: Sequence[Exception], state: dict[str, Any]) -> GuestExceptionGroup:
        # Parts of it, which Python makes for `except*`, print the message as it is.
        return ExceptionGroup.__new__(cls, printable(message), members)  # type: ignore[no-any-return,unused-ignore]

    def __init__(self, message: str, members: Sequence[Exception], state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    __str__ = ExceptionGroup.__str__

    def derive(self, members: Sequence[Exception]) -> GuestExceptionGroup:
        """A part of it; the outcome is that of the whole."""
        return GuestExceptionGroup(self.message, members, self.__dict__)

    def __reduce__(self) -> tuple[Any, ...]:
        return again, (self.message, self.exceptions, dict(self.__dict__))


def again(message: str, members: Sequence[Exception], state: dict[str, Any]) -> GuestExceptionGroup:
    """From a pickle."""
    return GuestExceptionGroup(message, members, state)
