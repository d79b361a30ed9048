"""Where jobs run: a policy, for which the agent keeps a sandbox open, or a sandbox of the caller's own."""

from __future__ import annotations

from queue import SimpleQueue

from . import _agent
from . import _frames as frames
from ._errors import SetupError
from ._guest import Guest, guest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._policy import Policy
    from ._rooms import Room


class PolicyPlace:
    """A policy as a place for jobs. A forked child finds its own rooms."""

    __slots__ = ("_guest", "policy")

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._guest: Guest | None = None

    def place(self) -> tuple[_agent.Agent, Room]:
        agent = _agent.current()
        return agent, agent.rooms.shared(*self.policy.head())

    def guest(self) -> Guest:
        """What the guest has."""
        return guest_of(self, self.place)


def guest_of(kept: PolicyPlace, place: Callable[[], tuple[_agent.Agent, Room]]) -> Guest:
    """What the guests of a place have. Where the interpreter is not the caller's own, the agent is asked, once."""
    if kept._guest is None:
        values, interpreter = kept.policy.values, None
        if "python" in values and "venv" not in values:
            interpreter = interpreter_of(*place())
        kept._guest = guest(kept.policy, interpreter)
    return kept._guest


def interpreter_of(agent: _agent.Agent, room: Room) -> str:
    """The interpreter that the agent found; waits until the sandbox is open."""
    answers: SimpleQueue[frames.Frame] = SimpleQueue()
    room.then(answers.put)
    frame = answers.get()
    if frame.kind == frames.ERROR:
        raise (room.error() if agent.ended is None else agent.why()) or SetupError("the sandbox is not open")
    return str(frame.head()["interpreter"])
