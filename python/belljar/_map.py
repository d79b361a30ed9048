"""Many calls at once, in order: lazy, bounded, and cancelled when nobody wants the rest."""

from __future__ import annotations

import os
from collections import deque
from queue import SimpleQueue

from . import _frames as frames
from ._place import ready
from ._wait import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from typing import Any

    from ._callee import Callee
    from ._wait import Channel, Request


def ahead_of(given: int | None) -> int:
    """How many calls are under way at once."""
    if given is None:
        return 2 * (os.cpu_count() or 1)
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise TypeError(f"ahead={given!r}: is how many calls may be under way at once, such as 8")
    return given


def fill(
    window: deque[tuple[Request, Any]],
    callee: Callee,
    rows: Iterator[Iterable[Any]],
    ahead: int,
    outcomes: bool,
    inboxes: Callable[[], Any],
) -> bool:
    """Sends calls until so many are under way; whether any is."""
    early = {} if outcomes else {"early": True}
    # There is room for one at least: the first of the window has just been taken out.
    for row in rows:
        request, inbox = callee.request(tuple(row), {}, **early), inboxes()
        # In the window before it is sent: whatever happens from now on, it is cancelled.
        window.append((request, inbox))
        request.send(inbox.put)
        if len(window) >= ahead:
            break
    return bool(window)


def calls(callee: Callee, rows: Iterable[Iterable[Any]], ahead: int, outcomes: bool) -> Iterator[Any]:
    """The results of calls with these arguments, in order. The first that fails raises when its turn comes."""
    window: deque[tuple[Request, SimpleQueue[frames.Frame]]] = deque()
    source = iter(rows)
    try:
        while fill(window, callee, source, ahead, outcomes, SimpleQueue):
            request, inbox = window[0]
            answer = request.collect(inbox, callee.teller())
            window.popleft()
            yield callee.outcome(request, answer) if outcomes else callee.result(answer)
    finally:
        for request, _ in window:
            request.__exit__()


async def acalls(callee: Callee, rows: Iterable[Iterable[Any]], ahead: int, outcomes: bool) -> AsyncIterator[Any]:
    """The same for a task."""
    await ready(callee.room)
    window: deque[tuple[Request, Channel]] = deque()
    source = iter(rows)
    try:
        while fill(window, callee, source, ahead, outcomes, channel):
            request, inbox = window[0]
            answer = await request.acollect(inbox, callee.teller())
            window.popleft()
            yield callee.outcome(request, answer) if outcomes else callee.result(answer)
    finally:
        for request, _ in window:
            request.__exit__()
