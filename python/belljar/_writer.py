"""Writing to the agent. No caller ever waits for the agent to read, so a call from an event loop does not block it."""

from __future__ import annotations

import os
import socket
import threading
from array import array
from collections import deque

AT_ONCE = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL


class Writer:
    """Sends whole frames, one after the other, from any thread."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._flushing = False
        self._closed = False

    def send(self, data: bytes, descriptor: int = -1) -> None:
        """Sends a frame; the descriptor is closed. What the socket does not take at once is left to a thread."""
        with self._lock:
            done: list[int] = []
            try:
                if not self._flushing:
                    # A KeyboardInterrupt must not come between the call and the keeping of what it tells, or half
                    # a frame would be sent: `extend` and `map` run without a look at signals.
                    if descriptor < 0:
                        done.extend(map(self._socket.send, (data,), (AT_ONCE,)))
                    else:
                        done.extend(map(self._socket.sendmsg, ((data,),), (ancillary(descriptor),), (AT_ONCE,)))
            except BlockingIOError:
                pass
            finally:
                if descriptor >= 0 or done != [len(data)]:
                    self._keep(data, done[0] if done else 0, descriptor)

    def close(self) -> None:
        """Closes the socket, now or when the thread that still writes has seen its end."""
        with self._lock:
            self._closed = True
            if not self._flushing:
                self._socket.close()

    def _keep(self, data: bytes, done: int, descriptor: int) -> None:
        if done and descriptor >= 0:
            os.close(descriptor)
            descriptor = -1
        if done < len(data):
            self._waiting.append((data[done:], descriptor))
            if not self._flushing:
                self._flushing = True
                threading.Thread(target=self._flush, name="belljar writer", daemon=True).start()

    def _flush(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._flushing = False
                    return
                data, descriptor = self._waiting[0]
            try:
                sent = self._socket.sendmsg((data,), ancillary(descriptor), socket.MSG_NOSIGNAL)
            except OSError:
                # The reader sees the end too and tells everyone who waits.
                with self._lock:
                    self._flushing = False
                    self._waiting.clear()
                    if self._closed:
                        self._socket.close()
                return
            if descriptor >= 0:
                os.close(descriptor)
            with self._lock:
                self._waiting.popleft()
                if sent < len(data):
                    self._waiting.appendleft((data[sent:], -1))


def ancillary(descriptor: int) -> list[tuple[int, int, array[int]]]:
    """What hands a descriptor over."""
    if descriptor < 0:
        return []
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [descriptor]))]
