"""Several calls that share a process: what comes of each of them."""

from __future__ import annotations

import json
from copy import copy

from . import _frames as frames
from ._errors import ValueRefused
from ._run import decoded
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from queue import SimpleQueue
    from typing import Any

    from ._callee import Callee
    from ._outcome import Outcome
    from ._wait import Answer, Channel

# As many results as leave can be given for at once.
MOST = 4096
# As much as is read of what a guest says of an exception.
MOST_TOLD = 1 << 20


def chunksize_of(given: int) -> int:
    """How many calls share a process."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST:
        kind = TypeError if isinstance(given, bool) or not isinstance(given, int) else ValueError
        raise kind(f"chunksize={given!r}: is how many items share one process, from 1 to {MOST}")
    return given


def chunks(rows: Iterable[Iterable[Any]], size: int) -> Iterator[tuple[int, tuple[tuple[Any, ...], ...]]]:
    """So many rows at a time, with the number of the first."""
    from itertools import count, islice

    source = map(tuple, rows)
    for first in count(0, size):
        some = tuple(islice(source, size))
        if not some:
            return
        yield first, some


class Chunk:
    """The answers to one such request."""

    def __init__(self, callee: Callee, request: Request, count: int, outcomes: bool) -> None:
        self.callee, self.request, self.teller = callee, request, callee.teller()
        #: Items that have no result yet, and the results of the others if their outcomes are wanted.
        self.left = count
        self.found: list[Result] | None = [] if outcomes else None

    def values(self, frame: frames.Frame) -> list[Any]:
        """The values in a frame; none if the outcomes are waited for."""
        try:
            results = self._results(decoded(frame, self.callee.classes()))
        except ValueRefused as error:
            if self.found is None:
                raise
            # Where a class of the host's may refuse a value, it comes alone.
            count = self.left if self.callee.classes() is None else min(self.left, 1)
            results = [Result(refused=str(error))] * count
        self.left -= len(results)
        if self.found is None:
            return [result.value for result in results]
        self.found += results
        return []

    def _results(self, sent: Any) -> list[Result]:
        """What a guest sends is data of any shape."""
        if type(sent) is tuple and len(sent) == 2:
            values, errors = sent
            if type(values) is list and type(errors) is dict and len(values) <= self.left:
                return [Result(value, report(errors.get(place))) for place, value in enumerate(values)]
        raise ValueRefused("the guest sent something else than the results of several calls")

    def check(self) -> None:
        """At the end, where nothing went wrong."""
        if self.left:
            raise ValueRefused(f"the guest came to its end and gave no result for {self.left} items")

    def reports(self) -> Iterator[tuple[Result, Request]]:
        """Results that are exceptions, each with a request for the agent to read it: it has the caps, and the hints."""
        agent, room = self.request.agent, self.request.room
        for result in self.found or ():
            if result.report is not None:
                yield result, Request(agent, room, frames.PARSE, {"sandbox": room.number}, (result.report,))

    def ended(self, frame: frames.Frame) -> Iterator[Outcome]:
        """The outcomes; or what ended the process before all were done, raised."""
        if self.found is None:
            if self.left:
                self.callee.result((None, frame))
            return
        whole = self.callee.outcome(self.request, (None, frame))
        if self.left and whole.ok:
            self.found += [Result(refused="the guest came to its end and gave no result for it")] * self.left
            self.left = 0
        for result in self.found:
            yield self.callee.with_known(result.outcome(whole))
        for _ in range(self.left):
            yield whole


class Result:
    """What came of one of several calls."""

    __slots__ = ("refused", "report", "told", "value")

    def __init__(self, value: Any = None, report: bytes | None = None, refused: str | None = None) -> None:
        self.value = value
        #: What the guest says was raised instead, and what the agent has read of it.
        self.report = report
        self.told: dict[str, Any] | None = None
        #: Why there is a value that could not come.
        self.refused = refused

    def read(self, answer: Answer) -> None:
        """Takes what the agent has read."""
        frame = answer[1]
        assert frame is not None, "only the answer to a job can be a value alone"
        told = json.loads(bytes(frame.parts(frame.head()["parts"])[0]))
        self.told = told and {**told, "type": told["type_name"]}

    def outcome(self, whole: Outcome) -> Outcome:
        """That of the process, but for how this call ended."""
        own = copy(whole)
        raised = self.report is not None
        own.status, own.exit_code, own.signal = ("raised", 1, None) if raised else ("returned", 0, None)
        own.limit = whole.limit if whole.ok else None
        own.value, own.refused, own._exception = self.value, self.refused, self.told
        return own


def report(told: Any) -> bytes | None:
    """A report that is one; what is none says that something was raised, and no more."""
    return told if told is None or (type(told) is bytes and len(told) <= MOST_TOLD) else b""


def results(
    callee: Callee, request: Request, inbox: SimpleQueue[frames.Frame], count: int, outcomes: bool
) -> Iterator[Any]:
    """The values of a chunk, of which the first that fails raises; or all outcomes, when it has ended."""
    chunk, reader = Chunk(callee, request, count, outcomes), request.agent.reader
    while (frame := request.checked(reader.next(request.number, inbox))).kind != frames.OUTCOME:
        if frame.kind == frames.OUTPUT:
            chunk.teller(frame)
        elif frame.kind == frames.ITEM:
            yield from chunk.values(frame)
        elif frame.is_last():
            return chunk.check()
    for result, reading in chunk.reports():
        result.read(reading.wait())
    yield from chunk.ended(frame)


async def aresults(callee: Callee, request: Request, inbox: Channel, count: int, outcomes: bool) -> AsyncIterator[Any]:
    """The same for a task."""
    chunk = Chunk(callee, request, count, outcomes)
    while (frame := request.checked(await inbox.get())).kind != frames.OUTCOME:
        if frame.kind == frames.OUTPUT:
            told = chunk.teller(frame)
            if hasattr(told, "__await__"):
                await told
        elif frame.kind == frames.ITEM:
            for value in chunk.values(frame):
                yield value
        elif frame.is_last():
            chunk.check()
            return
    for result, reading in chunk.reports():
        result.read(await reading.await_())
    for outcome in chunk.ended(frame):
        yield outcome
