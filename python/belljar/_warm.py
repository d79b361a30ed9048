"""`warm`: workers that are ready before the first call, and what they have imported. `statistics`: what they do."""

from __future__ import annotations

import json

from . import _agent
from . import _frames as frames
from ._place import opened, ready
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._capture.own import Load
    from ._job import Place


class Warmed:
    """The result of `warm`."""

    __slots__ = ("cold", "left_out", "preloaded", "ready")

    def __init__(self, told: dict[str, Any]) -> None:
        modules = told["modules"]
        #: How many workers are ready now.
        self.ready: int = told["ready"]
        #: Why jobs run cold instead, or None.
        self.cold: str | None = told["cold"]
        #: Modules that workers have already imported, with the seconds that each import took.
        self.preloaded: dict[str, float] = {each["name"]: each["seconds"] for each in modules if each["error"] is None}
        #: Modules that workers have not imported, with the reason. Jobs import them.
        self.left_out: dict[str, str] = {each["name"]: each["error"] for each in modules if each["error"] is not None}

    def __repr__(self) -> str:
        told = f"{self.ready} ready" if self.cold is None else f"cold: {self.cold}"
        return f"<Warmed {told}, preloaded {list(self.preloaded)}, left out {list(self.left_out)}>"


class Statistics:
    """What the workers of this process do and have done."""

    __slots__ = (
        "busy", "cold", "failed", "forks", "jobs", "memory", "queued", "ready", "reasons", "refused", "rotations",
        "sandboxes", "templates", "waits",
    )  # fmt: skip

    def __init__(self, told: dict[str, Any]) -> None:
        pool = told["pool"]
        #: Open sandboxes. `templates` counts the templates that run for them.
        self.sandboxes: int = told["sandboxes"]
        self.templates: int = pool["cabinets"]
        #: Parked workers. `busy` counts running jobs, `queued` jobs that wait for a worker.
        self.ready: int = pool["ready"]
        self.busy: int = pool["busy"]
        self.queued: int = pool["queued"]
        #: Estimated bytes of workers and templates.
        self.memory: int = pool["memory"]
        #: Jobs given to workers since the first call. Also since then: `forks` and `failed` count workers that were
        #: made and that could not be made, `rotations` templates that were replaced, `waits` jobs that had to wait,
        #: `refused` jobs that were refused because too many waited, and `cold` jobs that ran cold.
        self.jobs: int = pool["jobs"]
        self.forks: int = pool["forks"]
        self.failed: int = pool["failed"]
        self.rotations: int = pool["rotations"]
        self.waits: int = pool["waits"]
        self.refused: int = pool["refused"]
        self.cold: int = pool["cold"]
        #: Why jobs ran cold, with a count for each reason.
        self.reasons: dict[str, int] = pool["reasons"]

    def __repr__(self) -> str:
        return f"<Statistics {', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)}>"


def statistics() -> Statistics:
    """Figures of all sandboxes of this process. A forked child has its own."""
    return Statistics(_agent.current().answered(frames.STATS).head())


def warm(place: Place, workers: int, load: Load | None = None) -> Warmed:
    """Waits until so many workers of a place are ready, or it is clear that they will not be."""
    request = asked(place, workers, load)
    if place.policy.needs():
        # Someone at a terminal sees that an environment is being built.
        opened(request.agent, request.room, place.policy.needs())
    return of(request.wait()[1])


async def awarm(place: Place, workers: int, load: Load | None = None) -> Warmed:
    """The same for a task."""
    request = asked(place, workers, load)
    await ready(place)
    return of((await request.await_())[1])


def asked(place: Place, workers: int, load: Load | None) -> Request:
    if isinstance(workers, bool) or not isinstance(workers, int):
        raise TypeError(f"warm({workers!r}): it takes a number of workers")
    if not 1 <= workers <= 1 << 16:
        raise ValueError(f"warm({workers}): it takes a number of workers from 1")
    agent, room = place.place(load)
    return Request(agent, room, frames.WARM, {"sandbox": room.number, "workers": workers})


def of(frame: frames.Frame | None) -> Warmed:
    assert frame is not None, "only the answer to a job can be a value alone"
    return Warmed(json.loads(bytes(frame.parts(frame.head()["parts"])[0])))
