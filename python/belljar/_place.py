"""Where jobs run: a policy, for which the agent keeps a sandbox open, or a sandbox of the caller's own."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from queue import Empty, SimpleQueue

from . import _agent
from . import _frames as frames
from ._errors import SetupError
from ._guest import Guest, guest
from ._policy import AUTO
from ._reader import take
from ._wait import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._capture.own import Load
    from ._job import Place
    from ._policy import Policy
    from ._rooms import Room


# An environment that is there already is found sooner than this.
SOON = 0.5


class PolicyPlace:
    """A policy as a place for jobs. A forked child finds its own rooms."""

    __slots__ = ("_code", "_guest", "_policy")

    def __init__(self, policy: Policy, code: Any = None) -> None:
        """`code` is the function, or the source, that says what the dependencies are where the policy does not."""
        self._policy = policy
        self._code = code if policy.values.get("dependencies") == AUTO else None
        self._guest: Guest | None = None

    @property
    def policy(self) -> Policy:
        if self._code is not None:
            # Not before it is used: by then all that the code names is there.
            self._policy, self._code = with_dependencies(self._policy, self._code), None
        return self._policy

    def place(self, load: Load | None = None) -> tuple[_agent.Agent, Room]:
        agent = _agent.current()
        return agent, agent.rooms.shared(*self.policy.head(), load)

    def guest(self) -> Guest:
        """What the guest has."""
        return guest_of(self, self.place)


def with_dependencies(policy: Policy, code: Any) -> Policy:
    """The policy with the packages in it that the code needs."""
    from ._capture.auto import of_function, of_source

    bare = policy.merged({"dependencies": None})
    needs = (of_source if isinstance(code, (str, bytes)) else of_function)(code, guest(bare, None))
    return policy.merged({"dependencies": needs or None})


def guest_of(kept: PolicyPlace, place: Callable[[], tuple[_agent.Agent, Room]]) -> Guest:
    """What the guests of a place have. Where the interpreter is not the caller's own, the agent is asked, once."""
    if kept._guest is None:
        values, head = kept.policy.values, {}
        needs = kept.policy.needs()
        if needs or ("python" in values and "venv" not in values):
            head = opened(*place(), needs)
        kept._guest = guest(kept.policy, head.get("interpreter"), head.get("environment"))
    return kept._guest


async def ready(place: Place) -> None:
    """For a task: afterwards `guest` need not wait. An environment may take minutes to build."""
    if place.policy.needs():
        _, room = place.place()
        if room.answer is None:
            answers = channel()
            room.then(answers.put)
            await answers.get()


def opened(agent: _agent.Agent, room: Room, dependencies: Sequence[str] = ()) -> dict[str, Any]:
    """What the agent found; waits until the sandbox is open."""
    answers: SimpleQueue[frames.Frame] = SimpleQueue()
    room.then(answers.put)
    frame = told_while(answers, dependencies)
    if frame.kind == frames.ERROR:
        raise (room.error() if agent.ended is None else agent.why()) or SetupError("the sandbox is not open")
    return frame.head()


def told_while(answers: SimpleQueue[frames.Frame], dependencies: Sequence[str]) -> frames.Frame:
    """Waits for an answer. Someone who sits at a terminal is told what takes so long."""
    try:
        return answers.get(timeout=SOON) if dependencies else take(answers)
    except Empty:
        pass
    stream = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
    since = time.monotonic() - SOON
    try:
        while stream is not None:
            took = time.monotonic() - since
            stream.write(f"\rbelljar: building an environment for {', '.join(dependencies)[:60]} ({took:.0f} s)\x1b[K")
            stream.flush()
            with suppress(Empty):
                return answers.get(timeout=0.2)
        return take(answers)
    finally:
        if stream is not None:
            stream.write("\r\x1b[K")
            stream.flush()
