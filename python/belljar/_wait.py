"""Waiting for the answers of one job: in a thread, in an asyncio loop, or in trio."""

from __future__ import annotations

import sys
from collections import deque
from queue import SimpleQueue

from . import _frames as frames
from ._errors import BelljarError, ValueRefused, fault
from ._hints import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from ._agent import Agent, Deliver
    from ._apply import Draft
    from ._rooms import Room

    OnOutput = Callable[[frames.Frame], Any]
    # The value if there is one, and the outcome unless the value was all that was asked for.
    Answer = tuple[frames.Frame | None, frames.Frame | None]

    class Channel(Protocol):
        """Where frames arrive for a task."""

        def put(self, frame: frames.Frame) -> None: ...
        async def get(self) -> frames.Frame: ...


class Request:
    """One request to the agent, ready to be sent."""

    __slots__ = ("agent", "data", "draft", "header", "kind", "number", "parts", "room")

    def __init__(
        self,
        agent: Agent,
        room: Room,
        kind: int,
        header: dict[str, Any] | None = None,
        parts: Sequence[frames.Buffer] = (),
    ) -> None:
        self.agent = agent
        self.room = room
        #: Where changes may be written afterwards.
        self.draft: Draft | None = None
        self.kind = kind
        self.header = header or {}
        self.parts = parts
        #: All of it as bytes, if somebody has put it together already.
        self.data: bytes | None = None
        self.number = agent.number()

    def __enter__(self) -> Request:
        return self

    def __exit__(self, *_: object) -> None:
        """However waiting ends: a job that has no answer yet is cancelled."""
        self.agent.abandon(self.number)

    def send(self, deliver: Deliver, reads: bool = False) -> None:
        """Sends it; its frames are given to `deliver` on another thread. `reads` who will ask for them."""
        chosen = deliver if self.room.answer is not None else self._later(deliver)
        data, descriptor = (self.data, -1) if self.data is not None else self._encoded()
        self.agent.ask(self.number, data, descriptor, chosen, reads)

    def _encoded(self) -> tuple[bytes, int]:
        try:
            return frames.encode(self.kind, self.number, self.header, self.parts)
        except frames.TooLarge as error:
            from ._bounds import figure

            told = f"args=, env= and the names of files= take {figure(error.args[0])}, and a job takes 1 MiB of them"
            raise ValueRefused(told, "give fewer, or show a folder with mount=") from None

    def _later(self, deliver: Deliver) -> Deliver:
        """A room that cannot be opened may be unknown to the job before its own answer is here, which tells why."""

        def later(frame: frames.Frame) -> None:
            if frame.kind == frames.ERROR and self.room.answer is None:
                self.room.then(lambda _: deliver(frame))
            else:
                deliver(frame)

        return later

    def checked(self, frame: frames.Frame) -> frames.Frame:
        """A frame that is no error."""
        if frame.kind != frames.ERROR:
            return frame
        head = frame.head()
        if head["code"] == "ended":
            raise self.agent.why()
        if head["code"] == "large":
            raise ValueRefused(head["message"], in_python(head["hint"]))
        # A room that could not be opened is unknown to a job that comes after that.
        raise (self.room.error() if head["code"] == "unknown" else None) or fault(head)

    def wait(self, on_output: OnOutput | None = None) -> Answer:
        """The answer. Output is told of as it comes."""
        inbox: SimpleQueue[frames.Frame] = SimpleQueue()
        with self:
            self.send(inbox.put, True)
            return self.collect(inbox, on_output)

    def collect(self, inbox: SimpleQueue[frames.Frame], on_output: OnOutput | None) -> Answer:
        """The answer of a request whose frames go to `inbox`."""
        value: frames.Frame | None = None
        reader = self.agent.reader
        while True:
            frame = self.checked(reader.next(self.number, inbox))
            if frame.kind == frames.OUTPUT:
                if on_output is not None:
                    on_output(frame)
            elif frame.kind == frames.VALUE:
                value = frame
                if frame.is_last():
                    return value, None
            else:
                return value, frame

    async def await_(self, on_output: OnOutput | None = None) -> Answer:
        """The same for a task; its cancellation cancels the job."""
        inbox = channel()
        with self:
            self.send(inbox.put)
            return await self.acollect(inbox, on_output)

    async def acollect(self, inbox: Channel, on_output: OnOutput | None) -> Answer:
        """The same for a task that has sent the request."""
        value: frames.Frame | None = None
        while True:
            frame = self.checked(await inbox.get())
            if frame.kind == frames.OUTPUT:
                told: Any = on_output(frame) if on_output is not None else None
                if hasattr(told, "__await__"):
                    await told
            elif frame.kind == frames.VALUE:
                value = frame
                if frame.is_last():
                    return value, None
            else:
                return value, frame


class AsyncioChannel:
    """Frames for a task of an asyncio loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._frames: deque[frames.Frame] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, frame: frames.Frame) -> None:
        self._loop.call_soon_threadsafe(self._arrived, frame)

    def _arrived(self, frame: frames.Frame) -> None:
        self._frames.append(frame)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> frames.Frame:
        while not self._frames:
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._frames.popleft()


class TrioChannel:
    """Frames for a task of trio."""

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()
        self._frames: deque[frames.Frame] = deque()
        self._event = trio.Event()

    def put(self, frame: frames.Frame) -> None:
        self._token.run_sync_soon(self._arrived, frame)

    def _arrived(self, frame: frames.Frame) -> None:
        self._frames.append(frame)
        self._event.set()

    async def get(self) -> frames.Frame:
        while not self._frames:
            self._event = self._trio.Event()
            await self._event.wait()
        return self._frames.popleft()


def channel() -> Channel:
    """A channel for the loop that runs in this thread."""
    if "asyncio" in sys.modules:
        import asyncio

        try:
            return AsyncioChannel(asyncio.get_running_loop())
        except RuntimeError:
            pass
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return TrioChannel(trio)
    raise BelljarError("no event loop of asyncio or trio runs in this thread", "call the function that is not async")
