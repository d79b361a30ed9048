"""`Sandbox`: one policy with workers of its own, for as long as the caller wants them."""

from __future__ import annotations

import os
from typing import overload

from . import _agent
from . import _frames as frames
from ._callee import Callee
from ._errors import BelljarError
from ._job import GIVEN, Teller, checked
from ._place import PolicyPlace, guest_of, ready
from ._policy import Policy
from ._reader import take
from ._run import Runner, acompleted, completed
from ._wait import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any, ParamSpec, TypeVar

    from typing_extensions import Self, Unpack

    from ._capture.own import Load
    from ._guest import Guest
    from ._keywords import SandboxKeywords, SandboxRunKeywords
    from ._outcome import Outcome
    from ._rooms import Room
    from ._wait import Request
    from ._warm import Warmed

    P = ParamSpec("P")
    R = TypeVar("R")

# Kinds of source files that calls of one sandbox may need at once.
MOST_ROOMS = 32
# What one job may have tighter than its sandbox.
LIMITS = ("timeout", "memory", "cpu_seconds", "pids", "output")


class Sandbox:
    """A policy with warm workers of its own: `with Sandbox(...) as box:` or `async with`. Any thread may use it."""

    def __init__(self, **options: Unpack[SandboxKeywords]) -> None:
        keywords: dict[str, Any] = dict(options)
        # Files of each of its jobs, and how much of what they leave comes back.
        self._given = checked(keywords)
        self.policy = Policy(keywords, GIVEN)
        self._place = PolicyPlace(self.policy)
        # By the source files that calls need; none is the first.
        self._open: tuple[_agent.Agent, dict[str, Room]] | None = None
        self._closed = False

    def place(self, load: Load | None = None) -> tuple[_agent.Agent, Room]:
        """Where its jobs run: opened at first use, and again in a forked child."""
        if self._closed:
            raise BelljarError("the sandbox is closed", "make another, or do it inside the with block")
        agent = _agent.current()
        if self._open is None or self._open[0] is not agent:
            self._open = agent, {}
        rooms, key = self._open[1], load.tree.key if load is not None else ""
        before = room = rooms.pop(key, None)
        if room is None or not room.serves(load):
            # A worker is ready from the start, and as long as it is open.
            head = {**self.policy.head()[1], "pool": {"floor": 1}}
            room = agent.rooms.open(head, load, before)
            if before is not None:
                rooms[f"{key} {before.number}"] = before
        rooms[key] = room
        if len(rooms) > MOST_ROOMS:
            agent.rooms.close(rooms.pop(next(iter(rooms))))
        return agent, room

    def guest(self) -> Guest:
        """What its guests have."""
        return guest_of(self._place, self.place)

    def warm(self, workers: int = 1) -> Warmed:
        """Waits until this many workers are ready. Reports which modules they have imported and which not."""
        from ._warm import warm

        return warm(self, workers)

    async def awarm(self, workers: int = 1) -> Warmed:
        """Async `warm`."""
        from ._warm import awarm

        return await awarm(self, workers)

    def close(self) -> None:
        """Gives up the workers. Jobs that are running finish."""
        self._closed = True
        if self._open is not None:
            agent, rooms = self._open
            for room in rooms.values():
                agent.rooms.close(room)
            self._open = None

    def __enter__(self) -> Self:
        _, room = self.place()
        from queue import SimpleQueue

        answers: SimpleQueue[frames.Frame] = SimpleQueue()
        room.then(answers.put)
        take(answers)
        self._check(room)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        _, room = self.place()
        answers = channel()
        room.then(answers.put)
        await answers.get()
        self._check(room)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _check(self, room: Room) -> None:
        """A policy that cannot be had here is told of at once."""
        error = room.error()
        if error is not None:
            self.close()
            raise error

    @overload
    def call(self, function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Calls a function in a jar, like a decorated function."""
        callee = self._callee(function)
        return callee.result(callee.request(args, kwargs, early=True).wait(callee.teller()))

    @overload
    async def acall(self, function: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    async def acall(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    async def acall(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Async `call`. The function itself may be async or not."""
        callee = self._callee(function)
        await ready(self)
        return callee.result(await callee.request(args, kwargs, early=True).await_(callee.teller()))

    def outcome(self, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Outcome:
        """Calls a function in a jar and returns the whole outcome."""
        callee = self._callee(function)
        request = callee.request(args, kwargs)
        return callee.outcome(request, request.wait(callee.teller()))

    async def aoutcome(self, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Outcome:
        """Async `outcome`. The function itself may be async or not."""
        callee = self._callee(function)
        await ready(self)
        request = callee.request(args, kwargs)
        return callee.outcome(request, await request.await_(callee.teller()))

    def _callee(self, function: Callable[..., Any]) -> Callee:
        from ._guest import plain_of

        return Callee(plain_of(function), self, **self._given)

    def run(self, code: str, **options: Unpack[SandboxRunKeywords]) -> Outcome:
        """Like `belljar.run`. Limits may be tighter than the sandbox's."""
        request, tell = self._started("code", code, dict(options))
        return completed(request, tell)

    def run_file(self, path: str | os.PathLike[str], **options: Unpack[SandboxRunKeywords]) -> Outcome:
        """Like `belljar.run_file`."""
        request, tell = self._started("file", path, dict(options))
        return completed(request, tell)

    def run_command(self, command: Sequence[str | os.PathLike[str]], **options: Unpack[SandboxRunKeywords]) -> Outcome:
        """Like `belljar.run_command`."""
        request, tell = self._started("command", command, dict(options))
        return completed(request, tell)

    async def arun(self, code: str, **options: Unpack[SandboxRunKeywords]) -> Outcome:
        """Like `belljar.arun`."""
        request, tell = self._started("code", code, dict(options))
        return await acompleted(request, tell)

    async def arun_file(self, path: str | os.PathLike[str], **options: Unpack[SandboxRunKeywords]) -> Outcome:
        """Like `belljar.arun_file`."""
        request, tell = self._started("file", path, dict(options))
        return await acompleted(request, tell)

    async def arun_command(
        self, command: Sequence[str | os.PathLike[str]], **options: Unpack[SandboxRunKeywords]
    ) -> Outcome:
        """Like `belljar.arun_command`."""
        request, tell = self._started("command", command, dict(options))
        return await acompleted(request, tell)

    def _started(self, kind: str, what: Any, options: dict[str, Any]) -> tuple[Request, Teller | None]:
        from ._run import OPTIONS

        tell = options.pop("on_output", None)
        own = checked(options)
        files = {**self._given.get("files", {}), **own.get("files", {})}
        more = {**self._given, **own, "files": files, **{key: options.pop(key) for key in OPTIONS if key in options}}
        given = Policy({key: options.pop(key) for key in (*LIMITS, "env") if key in options}, OPTIONS).values
        if options:
            wrong = next(iter(options))
            raise TypeError(f"{wrong!r} is for the whole sandbox; a single run takes {', '.join((*OPTIONS, *LIMITS))}")
        if "env" in given:
            more["env"] = given.pop("env")
        if given:
            more["limits"] = given
        if tell is not None:
            more["stream"] = True
        request: Request = getattr(Runner(self), kind)(what, more)
        return request, Teller(tell) if tell is not None else None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, ({**self.policy.values, **self._given},)

    def __repr__(self) -> str:
        return f"<Sandbox {self.policy!r}{', closed' if self._closed else ''}>"


def _again(values: dict[str, Any]) -> Sandbox:
    return Sandbox(**values)
