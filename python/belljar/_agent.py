"""The agent of this process: `belljar agent`, started on first use, one for each process, gone with it."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import threading
from contextlib import suppress
from itertools import count
from queue import SimpleQueue

from . import _frames as frames
from ._errors import BelljarError, SetupError, fault
from ._find import find
from ._hints import in_python
from ._reader import Reader, take
from ._rooms import Rooms
from ._version import VERSION
from ._writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Deliver = Callable[[frames.Frame], object]


class Agent:
    """One process and the socket to it. Methods may be called from any thread; only `answered` waits for the agent."""

    def __init__(self) -> None:
        self.binary = find()
        self.pid = os.getpid()
        self._numbers = count(1)
        self.rooms = Rooms(self)
        self.ended: BelljarError | None = None
        # What the agent said last, if it said why it ends.
        self._ending: BelljarError | None = None
        self._socket, theirs = socket.socketpair()
        self.reader = Reader(self._socket, self._told, self.abandon)
        self._lock = self.reader.lock
        try:
            with theirs:
                self.child = start(self.binary, theirs.fileno())
            self._writer = Writer(self._socket)
            hello = {"protocol": 1, "version": VERSION, "pid": self.pid}
            with suppress(OSError):
                # A binary that ends at once: the reader sees it, and whoever asks for something is told.
                self._writer.send(*frames.encode(frames.HELLO, 0, hello))
            self._thread = threading.Thread(target=self._read, name="belljar reader", daemon=True)
            self._thread.start()
        except BaseException:
            self._socket.close()
            self.reader.close()
            raise

    def why(self) -> BelljarError:
        """Why it ended; a new object each time, because many threads may raise it."""
        ended = self.ended or lost(self.binary)
        return type(ended)(ended.message, ended.hint)

    def number(self) -> int:
        """An id for a request."""
        return next(self._numbers)

    def tell(self, kind: int, number: int, header: dict[str, Any]) -> None:
        """A request whose answer nobody waits for. Nothing happens if the agent has ended or is another process's."""
        if self.ended is None and self.pid == os.getpid():
            try:
                self._writer.send(*frames.encode(kind, number, header))
            except OSError:
                pass

    def request(
        self, kind: int, number: int, header: dict[str, Any], parts: Sequence[frames.Buffer], deliver: Deliver
    ) -> None:
        """A request whose answers are given to `deliver`, on any thread."""
        self.ask(number, *frames.encode(kind, number, header, parts), deliver)

    def ask(self, number: int, data: bytes, descriptor: int, deliver: Deliver, reads: bool = False) -> None:
        """The same with a frame that is there already. `reads` who will ask `reader` for the answers."""
        with self._lock:
            if self.ended is not None:
                if descriptor >= 0:
                    os.close(descriptor)
                raise self.why()
            self.reader.waiting[number] = deliver
        try:
            self._writer.send(data, descriptor)
            if not reads:
                self.reader.ring()
        except OSError as error:
            self._end(None)
            raise self.why() from error

    def answered(self, kind: int, parts: Sequence[frames.Buffer] = ()) -> frames.Frame:
        """The one answer to a request that names no sandbox; waits for it, and raises what the agent says is wrong."""
        answers: SimpleQueue[frames.Frame] = SimpleQueue()
        self.request(kind, self.number(), {}, parts, answers.put)
        frame = take(answers)
        if frame.kind == frames.ERROR:
            raise fault(frame.head()) if self.ended is None else self.why()
        return frame

    def abandon(self, number: int) -> None:
        """Nobody waits for this job any more: it is cancelled, and its answer is dropped."""
        if number not in self.reader.waiting or self.pid != os.getpid():
            return
        with self._lock:
            if number not in self.reader.waiting:
                return
            self.reader.waiting[number] = dropped
        self.tell(frames.CANCEL, number, {})
        self.reader.ring()

    def _read(self) -> None:
        why: BelljarError | None = None
        try:
            self.reader.serve()
        except (OSError, frames.FrameError) as error:
            why = lost(self.binary, str(error))
        finally:
            self._end(self._ending or why)
            self._writer.close()
            self.reader.end()

    def _told(self, frame: frames.Frame) -> None:
        if frame.kind == frames.ERROR:
            self._ending = self._refused(frame.head())

    def _refused(self, head: dict[str, Any]) -> BelljarError:
        if head.get("code") == "version":
            hint = f"{self.binary} and the package must be of one version; install again, or unset BELLJAR_BIN"
            return SetupError(f"package {VERSION}: {head.get('message')}", hint)
        return SetupError(f"{self.binary}: {head.get('message')}", in_python(head.get("hint")))

    def _end(self, why: BelljarError | None) -> None:
        with self._lock:
            if self.ended is None:
                self.ended = why or lost(self.binary)
            waiting = dict(self.reader.waiting)
            self.reader.waiting.clear()
        try:
            # Nobody else waits for it; a program that reaps all its children may have been faster.
            os.waitpid(self.child, os.WNOHANG)
        except ChildProcessError:
            pass
        text = json.dumps({"code": "ended", "message": "", "hint": None}).encode()
        for deliver in waiting.values():
            try:
                deliver(frames.Frame(frames.ERROR, text, b""))
            except Exception:
                continue

    def stop(self, why: BelljarError) -> None:
        """Ends the agent and all its jobs."""
        with self._lock:
            if self.ended is None:
                self.ended = why
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._thread is not threading.current_thread():
            self._thread.join(1)

    def forget(self) -> None:
        """In a forked child: closes the copy of the parent's socket, and touches nothing else."""
        try:
            os.close(self._socket.detach())
        except OSError:
            pass
        self.reader.close()


def start(binary: str, descriptor: int) -> int:
    """Starts the agent with this socket as its standard input; it closes everything else that it inherits."""
    defaults = [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD]
    moved = [(os.POSIX_SPAWN_DUP2, descriptor, 0)]
    try:
        return os.posix_spawn(
            binary, [binary, "agent"], os.environ, file_actions=moved, setsigmask=[], setsigdef=defaults
        )
    except OSError as error:
        raise SetupError(f"cannot start {binary}: {error.strerror}", "install the package again") from error


def dropped(_: frames.Frame) -> None:
    """Takes what comes for one who does not wait any more."""


def lost(binary: str, detail: str = "") -> BelljarError:
    """The agent is gone, and what ran in it."""
    told = f": {detail}" if detail else ""
    return SetupError(
        f"belljar's agent ended while a job waited{told}; the job may have run and is not run again",
        f"if it happens again, look at what {binary} logs with BELLJAR_LOG=debug",
    )


_agent: Agent | None = None
_guard = threading.Lock()
_finished = False


def current() -> Agent:
    """The agent of this process."""
    agent = _agent
    if agent is not None and agent.ended is None:
        return agent
    return _start()


def _start() -> Agent:
    global _agent  # noqa: PLW0603 - one for each process
    with _guard:
        if _agent is not None and _agent.ended is None:
            return _agent
        if _finished:
            raise closing()
        try:
            _agent = Agent()
        except RuntimeError as error:
            # "can't start new thread": the interpreter does that only when it is about to end.
            raise closing() from error
        return _agent


def closing() -> BelljarError:
    """A call that comes too late."""
    return SetupError(
        "the interpreter is shutting down, and belljar's agent is gone",
        "call before the program ends, not from an atexit handler or a daemon thread",
    )


def _finish() -> None:
    global _finished  # noqa: PLW0603 - one for each process
    with _guard:
        _finished = True
        if _agent is not None:
            _agent.stop(closing())


def _forked() -> None:
    global _agent, _guard  # noqa: PLW0603 - one for each process
    _guard = threading.Lock()
    if _agent is not None:
        _agent.forget()
        _agent = None


os.register_at_fork(after_in_child=_forked)
atexit.register(_finish)
