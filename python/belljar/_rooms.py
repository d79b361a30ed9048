"""Sandboxes that are open at the agent."""

from __future__ import annotations

import threading

from . import _frames as frames
from ._errors import BelljarError, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._agent import Agent
    from ._capture.own import Load

    Deliver = Callable[[frames.Frame], object]

# Half of what an agent can have open: sandboxes of callers count too.
MOST_OPEN = 128


class Room:
    """A sandbox that is open or being opened. Jobs may name it at once; they wait at the agent."""

    __slots__ = ("_lock", "_then", "answer", "is_open", "number", "roots")

    def __init__(self, number: int, roots: frozenset[str] = frozenset()) -> None:
        self.number = number
        #: Modules of the caller's own that its workers have imported.
        self.roots = roots
        self.answer: frames.Frame | None = None
        self.is_open = False
        self._then: list[Deliver] = []
        self._lock = threading.Lock()

    def deliver(self, frame: frames.Frame) -> None:
        """The agent's answer."""
        with self._lock:
            self.answer = frame
            self.is_open = frame.kind == frames.OPENED
            then, self._then = self._then, []
        for deliver in then:
            deliver(frame)

    def then(self, deliver: Deliver) -> None:
        """Calls with the answer, now or when it is there."""
        with self._lock:
            if self.answer is None:
                self._then.append(deliver)
                return
        deliver(self.answer)

    def serves(self, load: Load | None) -> bool:
        """Whether it can be used, or may yet be, for calls that need these modules."""
        return self.error() is None and (load is None or load.roots <= self.roots)

    def error(self) -> BelljarError | None:
        """Why it could not be opened."""
        if self.answer is None or self.answer.kind != frames.ERROR:
            return None
        return fault(self.answer.head())


class Rooms:
    """All rooms of one agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._lock = threading.Lock()
        self._shared: dict[tuple[str, str], Room] = {}
        # The last of them.
        self._newest: tuple[str, Load | None, Room] | None = None

    def shared(self, key: str, head: dict[str, Any], load: Load | None = None) -> Room:
        """The room for this policy and these source files, opened when it is first asked for, and again when it could
        not be opened."""
        newest = self._newest
        if newest is not None and newest[0] is key and newest[1] is load and newest[2].is_open:
            return newest[2]
        whole = key, load.tree.key if load is not None else ""
        with self._lock:
            # Taken out and put in again: the first is always the one that nobody asked for the longest.
            room = self._shared.pop(whole, None)
            if room is None or not room.serves(load):
                room = self.open(head, load, room)
            self._shared[whole] = room
            stale = self._shared.pop(next(iter(self._shared))) if len(self._shared) > MOST_OPEN else None
            self._newest = key, load, room
        if stale is not None:
            self.close(stale)
        return room

    def open(self, head: dict[str, Any], load: Load | None = None, before: Room | None = None) -> Room:
        """A room. It serves those, too, whom the one before it with the same source files has served."""
        parts: Sequence[frames.Buffer] = ()
        roots: frozenset[str] = frozenset()
        if load is not None:
            roots = load.roots | before.roots if before is not None else load.roots
            parts = load.tree.parts
            head = {**head, "own": sorted(roots), "parts": [len(part) for part in parts]}
        room = Room(self._agent.number(), roots)
        self._agent.request(frames.OPEN, room.number, head, parts, room.deliver)
        return room

    def close(self, room: Room) -> None:
        """Gives a room back. Jobs that run in it go on."""
        self._agent.tell(frames.CLOSE, self._agent.number(), {"sandbox": room.number})
