"""Sandboxes that are open at the agent."""

from __future__ import annotations

import threading

from . import _frames as frames
from ._errors import BelljarError, fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ._agent import Agent
    from ._capture.own import Load

    Deliver = Callable[[frames.Frame], object]

# Half of what an agent can have open: sandboxes of callers count too. And bytes of the source files in all of them.
MOST_OPEN, MOST_BYTES = 128, 512 << 20


class Room:
    """A sandbox that is open or being opened. Jobs may name it at once; they wait at the agent."""

    __slots__ = ("_lock", "_then", "answer", "is_open", "number", "roots", "size")

    def __init__(self, number: int, roots: frozenset[str] = frozenset(), size: int = 0) -> None:
        self.number = number
        #: Modules of the caller's own that its workers have imported, and the bytes of all their source.
        self.roots, self.size = roots, size
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
        self._shared: dict[tuple[str, ...], Room] = {}
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
            before = room = self._shared.pop(whole, None)
            if room is None or not room.serves(load):
                room = self.open(head, load, before)
                if before is not None and before.error() is None:
                    # Somebody may be about to use it: it goes with those that nobody uses, as the first.
                    self._shared = {(*whole, str(before.number)): before, **self._shared}
            self._shared[whole] = room
            stale = list(self._stale())
            self._newest = key, load, room
        for one in stale:
            self.close(one)
        return room

    def _stale(self) -> Iterator[Room]:
        """Takes out what is too much, by number or by size; never the last."""
        size = sum(room.size for room in self._shared.values())
        while len(self._shared) > MOST_OPEN or (size > MOST_BYTES and len(self._shared) > 1):
            room = self._shared.pop(next(iter(self._shared)))
            size -= room.size
            yield room

    def open(self, head: dict[str, Any], load: Load | None = None, before: Room | None = None) -> Room:
        """A room. One that takes the place of another with the same source files serves everybody: its workers have all
        modules imported that the host has."""
        parts: Sequence[frames.Buffer] = ()
        roots: frozenset[str] = frozenset()
        if load is not None:
            roots = load.roots | before.roots | load.tree.loaded if before is not None else load.roots
            parts = load.tree.parts
            head = {**head, "own": sorted(roots), "parts": [len(part) for part in parts]}
        room = Room(self._agent.number(), roots, load.tree.size if load is not None else 0)
        self._agent.request(frames.OPEN, room.number, head, parts, room.deliver)
        return room

    def close(self, room: Room) -> None:
        """Gives a room back. Jobs that run in it go on."""
        self._agent.tell(frames.CLOSE, self._agent.number(), {"sandbox": room.number})
