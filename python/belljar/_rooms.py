"""Sandboxes that are open at the agent."""

from __future__ import annotations

import threading

from . import _frames as frames
from ._errors import BelljarError, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._agent import Agent

    Deliver = Callable[[frames.Frame], object]

# Half of what an agent can have open: sandboxes of callers count too.
MOST_OPEN = 128


class Room:
    """A sandbox that is open or being opened. Jobs may name it at once; they wait at the agent."""

    __slots__ = ("_lock", "_then", "answer", "is_open", "number")

    def __init__(self, number: int) -> None:
        self.number = number
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
        self._shared: dict[str, Room] = {}
        # The last of them.
        self._newest: tuple[str, Room] | None = None

    def shared(self, key: str, head: dict[str, Any]) -> Room:
        """The room for this policy, opened when it is first asked for, and again when it could not be opened."""
        newest = self._newest
        if newest is not None and newest[0] is key and newest[1].is_open:
            return newest[1]
        with self._lock:
            # Taken out and put in again: the first is always the one that nobody asked for the longest.
            room = self._shared.pop(key, None)
            fresh = room is None or room.error() is not None
            if room is None or fresh:
                room = Room(self._agent.number())
            self._shared[key] = room
            stale = self._shared.pop(next(iter(self._shared))) if len(self._shared) > MOST_OPEN else None
            if fresh:
                self._agent.request(frames.OPEN, room.number, head, (), room.deliver)
            self._newest = key, room
        if stale is not None:
            self.close(stale)
        return room

    def open(self, head: dict[str, Any]) -> Room:
        """A room for one caller alone."""
        room = Room(self._agent.number())
        self._agent.request(frames.OPEN, room.number, head, (), room.deliver)
        return room

    def close(self, room: Room) -> None:
        """Gives a room back. Jobs that run in it go on."""
        self._agent.tell(frames.CLOSE, self._agent.number(), {"sandbox": room.number})
