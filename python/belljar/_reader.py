"""Who reads what the agent says: the caller that waits for it, if it is the only one, and otherwise a thread for all.

Between a caller and its answer there is no other thread then; to wake one up takes a third of a short call.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from array import array
from queue import Empty

from . import _frames as frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from typing import Any, TypeVar

    T = TypeVar("T")
    Deliver = Callable[[frames.Frame], object]

SIZE, ROOM = 1 << 16, 1024
FLAGS = socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
# Between two looks at a socket that has ended while somebody else reads.
PAUSE = 0.001
# How long one who waits sleeps at a time, in seconds. A signal that came just before it fell asleep, or that the kernel
# gave to another thread, wakes nobody up: Python looks for it when this is over.
NAP = 0.25


def take(inbox: SimpleQueue[T]) -> T:
    """The next of an inbox, however long that takes; a KeyboardInterrupt does not wait for it."""
    while True:
        try:
            return inbox.get(timeout=NAP)
        except Empty:
            continue


class Reader:
    """The reading end of an agent's socket.

    One thread at a time reads; `holder` gives its number. A caller has it only while it waits for its next frame, never
    while code of others runs. Whoever gives it back sees to it that the thread reads on for those who still wait.
    """

    def __init__(
        self, sock: socket.socket, told: Callable[[frames.Frame], object], unheard: Callable[[int], object]
    ) -> None:
        #: Who waits for which number.
        self.waiting: dict[int, Deliver] = {}
        #: Guards `waiting` where it is looked at before it is changed.
        self.lock = threading.Lock()
        self._socket = sock
        # Called with what is for nobody in particular, and with the number of one who cannot be told.
        self._told, self._unheard = told, unheard
        self._decoder = frames.Decoder()
        # Read, and not yet cut. An error of the kernel is the last.
        self._raw: list[Any] = []
        # Taken and left by single steps of C, so that an interrupt finds it taken or not, and nothing locked.
        self._role: dict[str, int] = {}
        self._readable = select.poll()
        self._readable.register(sock, select.POLLIN)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def close(self) -> None:
        """Closes what is its own; not the socket."""
        if self._bell >= 0:
            os.close(self._bell)
            self._bell = -1

    def __del__(self) -> None:
        # Not sooner: a bell that is rung a moment too late would be another file by then.
        self.close()

    def holder(self) -> int:
        """The thread that reads now, or 0."""
        return self._role.get("reads", 0)

    def ring(self) -> None:
        """Somebody waits who does not read: has the thread read, unless somebody else does."""
        if not self._role:
            os.eventfd_write(self._bell, 1)

    def next(self, number: int, inbox: SimpleQueue[frames.Frame]) -> frames.Frame:
        """The next frame for this number. What comes for others is left to the thread."""
        me, frame, left = threading.get_ident(), None, False
        try:
            try:
                if self._take(me) and not self._raw and self._decoder.is_between() and inbox.empty():
                    frame = self._own(number, inbox)
            finally:
                self._leave(me, number)
                left = True
        finally:
            # A KeyboardInterrupt may have come in between, and nobody would ever read again.
            if not left:
                self._leave(me, number)
        if frame is not None:
            return frame
        self.ring()
        return take(inbox)

    def _take(self, me: int) -> bool:
        return self._role.setdefault("reads", me) == me

    def _leave(self, me: int, number: int) -> None:
        if self._role.get("reads") == me:
            self._role.clear()
        if self._raw or len(self.waiting) > (number in self.waiting):
            self.ring()

    def _own(self, number: int, inbox: SimpleQueue[frames.Frame]) -> frames.Frame | None:
        """Reads once. What is not for this number alone stays where it is, and nothing comes of it here.

        A KeyboardInterrupt may come after every step. `extend` and `map` run without a look at signals, so what was
        read is kept; and as long as it is kept, the thread deals with it.
        """
        try:
            while not self._readable.poll(NAP * 1000):
                pass
            self._raw.extend(map(self._socket.recvmsg, (SIZE,), (ROOM,), (FLAGS,)))
        except BlockingIOError:
            return None
        except OSError as error:
            self._raw.append(error)
            return None
        data, descriptors, _, _ = self._raw[0]
        found = None if descriptors else frames.own(data, number)
        if not found:
            return None
        if found[-1].is_last():
            self.waiting.pop(number, None)
        self._raw.clear()
        for frame in found[1:]:
            inbox.put(frame)
        return found[0]

    def serve(self) -> None:
        """The life of the thread: it sleeps, reads for those who wait, and returns or raises when the socket has ended.

        Nobody takes its place after that: it stays the one who reads.
        """
        me, asleep = threading.get_ident(), select.poll()
        # No event is asked for: of the socket only its end is told.
        asleep.register(self._socket, 0)
        asleep.register(self._bell, select.POLLIN)
        while True:
            ended = any(fd != self._bell for fd, _ in asleep.poll())
            if not ended:
                os.eventfd_read(self._bell)
            if not self._take(me):
                if ended:
                    time.sleep(PAUSE)
                continue
            while ended or self._raw or self.waiting:
                if not self._raw:
                    self._readable.poll()
                    try:
                        self._raw.append(self._socket.recvmsg(SIZE, ROOM, FLAGS))
                    except BlockingIOError:
                        continue
                if not self._cut():
                    return
            self._role.clear()
            if self.waiting:
                # One that came after the last look, and saw that somebody reads.
                self.ring()

    def _cut(self) -> bool:
        """Delivers what was read; false at the end."""
        for item in self._raw:
            if isinstance(item, OSError):
                raise item
            data, messages, _, _ = item
            if not data:
                return False
            descriptors: list[int] = []
            for _, _, numbers in messages:
                descriptors += array("i", numbers)
            for number, frame in self._decoder.push(data, descriptors):
                if number:
                    self._deliver(number, frame)
                else:
                    self._told(frame)
        self._raw.clear()
        return True

    def _deliver(self, number: int, frame: frames.Frame) -> None:
        if frame.is_last():
            with self.lock:
                deliver = self.waiting.pop(number, None)
        else:
            deliver = self.waiting.get(number)
        if deliver is None:
            return
        try:
            deliver(frame)
        except Exception:
            # An event loop that is closed: nobody can be told.
            self._unheard(number)

    def end(self) -> None:
        """Closes what came and was not asked for."""
        self._decoder.close()
