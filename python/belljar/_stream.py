"""Generators: items come one by one, and the guest waits when the host does not take them."""

from __future__ import annotations

from queue import SimpleQueue

from . import _frames as frames
from ._place import ready
from ._reader import take
from ._run import decoded
from ._wait import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping
    from typing import Any

    from ._callee import Callee

# How many items a guest may send ahead.
CREDIT = 16


class Credit:
    """Gives the guest leave to send more, half of the credit at a time."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken = 0

    def took(self, request: Any) -> None:
        self._taken += 1
        if self._taken == CREDIT // 2:
            request.agent.tell(frames.MORE, request.number, {"count": self._taken})
            self._taken = 0


def items(callee: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Generator[Any, None, Any]:
    """The items of a generator in a guest. Leaving early ends the guest."""
    request = callee.request(args, kwargs, early=True, items=CREDIT)
    inbox: SimpleQueue[frames.Frame] = SimpleQueue()
    teller, credit = callee.teller(), Credit()
    with request:
        request.send(inbox.put)
        while True:
            frame = request.checked(take(inbox))
            if frame.kind == frames.OUTPUT:
                teller(frame)
            elif frame.kind == frames.ITEM:
                item = decoded(frame, callee.classes())
                credit.took(request)
                yield item
            elif frame.kind == frames.VALUE:
                return callee.result((frame, None))
            else:
                return callee.result((None, frame))


async def aitems(callee: Callee, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> AsyncIterator[Any]:
    """The same for a task."""
    await ready(callee.room)
    request = callee.request(args, kwargs, early=True, items=CREDIT)
    inbox = channel()
    teller, credit = callee.teller(), Credit()
    with request:
        request.send(inbox.put)
        while True:
            frame = request.checked(await inbox.get())
            if frame.kind == frames.OUTPUT:
                told = teller(frame)
                if hasattr(told, "__await__"):
                    await told
            elif frame.kind == frames.ITEM:
                item = decoded(frame, callee.classes())
                credit.took(request)
                yield item
            else:
                callee.result((frame, None) if frame.kind == frames.VALUE else (None, frame))
                return
