"""Many calls at once, in order: lazy, bounded, and cancelled when nobody wants the rest."""

from __future__ import annotations

import os
from collections import deque
from queue import SimpleQueue

from . import _frames as frames
from ._chunk import aresults, chunks, results
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


def requests(
    callee: Callee, rows: Iterable[Iterable[Any]], outcomes: bool, chunksize: int
) -> Iterator[tuple[Request, int]]:
    """One for each of the rows, or for so many of them, and how many it is for; made when it is asked for."""
    if chunksize > 1:
        for first, some in chunks(rows, chunksize):
            yield callee.several(some, first, outcomes), len(some)
        return
    early = {} if outcomes else {"early": True}
    for row in rows:
        yield callee.request(tuple(row), {}, **early), 1


def fill(
    window: deque[tuple[Request, int, Any]],
    source: Iterator[tuple[Request, int]],
    ahead: int,
    inboxes: Callable[[], Any],
) -> bool:
    """Sends requests until so many are under way; whether any is."""
    # There is room for one at least: the first of the window has just been taken out.
    for request, count in source:
        inbox = inboxes()
        # In the window before it is sent: whatever happens from now on, it is cancelled.
        window.append((request, count, inbox))
        request.send(inbox.put)
        if len(window) >= ahead:
            break
    return bool(window)


def calls(callee: Callee, rows: Iterable[Iterable[Any]], ahead: int, outcomes: bool, chunksize: int) -> Iterator[Any]:
    """The results of calls with these arguments, in order. The first that fails raises when its turn comes."""
    window: deque[tuple[Request, int, SimpleQueue[frames.Frame]]] = deque()
    source = requests(callee, rows, outcomes, chunksize)
    try:
        while fill(window, source, ahead, SimpleQueue):
            request, count, inbox = window[0]
            if chunksize > 1:
                yield from results(callee, request, inbox, count, outcomes)
                window.popleft()
                continue
            answer = request.collect(inbox, callee.teller())
            window.popleft()
            yield callee.outcome(request, answer) if outcomes else callee.result(answer)
    finally:
        for request, _, _ in window:
            request.__exit__()


async def acalls(
    callee: Callee, rows: Iterable[Iterable[Any]], ahead: int, outcomes: bool, chunksize: int
) -> AsyncIterator[Any]:
    """The same for a task."""
    await ready(callee.room)
    window: deque[tuple[Request, int, Channel]] = deque()
    source = requests(callee, rows, outcomes, chunksize)
    try:
        while fill(window, source, ahead, channel):
            request, count, inbox = window[0]
            if chunksize > 1:
                async for result in aresults(callee, request, inbox, count, outcomes):
                    yield result
                window.popleft()
                continue
            answer = await request.acollect(inbox, callee.teller())
            window.popleft()
            yield callee.outcome(request, answer) if outcomes else callee.result(answer)
    finally:
        for request, _, _ in window:
            request.__exit__()
