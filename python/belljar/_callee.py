"""A function that runs in jars: what is sent for a call, and what is made of the answer."""

from __future__ import annotations

from . import _agent
from . import _frames as frames
from ._capture.call import Captured
from ._errors import GuestError, JobCancelled, SetupError, ValueRefused
from ._hints import for_caller
from ._job import COLLECT, Teller, job, text, to_own_streams
from ._outcome import read
from ._run import decoded, drafted, finish
from ._values import classes
from ._verdict import keep, throw, whole
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._capture.call import Given
    from ._capture.own import Load
    from ._job import Content, Place, Tell
    from ._outcome import Outcome
    from ._rooms import Room
    from ._wait import Answer

# Seconds between two batches of results of several calls.
PAUSE = 0.0005
# What the guest's side of the encoding raises.
REFUSED = "belljar.values.ValueRefused"
# Annotations that name no class to be built again.
PLAIN_TYPES = (None, int, str, float, bool, bytes, dict, list, tuple, set, object)


class Callee:
    """A function, the place where it runs, who is told of what it prints, and which files go in and come out."""

    def __init__(
        self,
        function: Callable[..., Any],
        room: Place,
        on_output: Tell | None = None,
        files: Mapping[str, Content] | None = None,
        collect: int = COLLECT,
    ) -> None:
        self.function = function
        self.room = room
        self.tell = on_output or to_own_streams
        self.files = files
        self.collect = collect
        self._captured = Captured(function)
        # What a header begins with, for the room and the options of the last call.
        self._header: tuple[Room, Mapping[str, Any], bytes] | None = None
        self._classes: Any = self

    def load(self) -> Load | None:
        """The source files that a call needs, unless its arguments need more."""
        self._captured.parts(((), {}), self.room.guest())
        return self._captured.load

    def request(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], **more: Any) -> Request:
        """The request for one call. Where the value is the answer, no files come with it."""
        return self._request((args, dict(kwargs)), 0, more)

    def several(self, rows: tuple[tuple[Any, ...], ...], first: int, outcomes: bool) -> Request:
        """The request for a call for each of the rows, in one process."""
        # A value whose class may refuse it comes alone, so that the others are not refused with it.
        pause = PAUSE if self.classes() is None else 0.0
        more: dict[str, Any] = {"items": len(rows)} if outcomes else {"items": len(rows), "early": True}
        return self._request((rows, (pause, outcomes)), first, more)

    def _request(self, given: Given, first: int, more: dict[str, Any]) -> Request:
        if "early" in more:
            return self._made(given, first, more)
        if self.collect:
            more["collect"] = {"send": self.collect}
        return drafted(self._made(given, first, more), self.room)

    def _made(self, given: Given, first: int, more: Mapping[str, Any]) -> Request:
        # First of all, so that the agent starts while the call is put together.
        _agent.current()
        captured, there = self._captured, self.room.guest()
        pieces = None if self.files else captured.quickly(given, there)
        if pieces is None:
            parts = captured.parts(given, there, first)
            if self.files or len(parts) > 1 or len(parts[0]) >= frames.INLINE:
                name, load = getattr(self.function, "__qualname__", None), captured.load
                return job(self.room, "invoke", parts, name=name, stream=True, files=self.files, more=more, load=load)
            pieces = (bytes(parts[0]),)
        agent, room = self.room.place(captured.load)
        made = Request(agent, room, frames.JOB)
        made.data = frames.single(frames.JOB, made.number, self._head(room, more), pieces)
        return made

    def _head(self, room: Room, more: Mapping[str, Any]) -> bytes:
        """The header without its end, which tells the length of the only part."""
        kept = self._header
        if kept is None or kept[0] is not room or kept[1] != more:
            head = {"sandbox": room.number, "kind": "invoke", "stream": True, **more}
            name = getattr(self.function, "__qualname__", None)
            if name is not None:
                head["name"] = text(name)
            self._header = kept = room, more, frames.to_json(head)[:-1].encode()
        return kept[2]

    def teller(self) -> Teller:
        return Teller(self.tell)

    def result(self, answer: Answer) -> Any:
        """The value, or the guest's failure, raised."""
        value, frame = answer
        if value is not None:
            return decoded(value, self.classes())
        if frame is None:
            raise SetupError("the agent gave no answer")
        throw(failure(self.with_known(read(frame.parts(frame.head()["parts"])))))

    def outcome(self, request: Request, answer: Answer) -> Outcome:
        """All that is known of a call."""
        return self.with_known(finish(request, answer, self.classes()))

    def with_known(self, outcome: Outcome) -> Outcome:
        """The same, with the classes that its exception may be."""
        told = outcome._exception
        if told is not None:
            if told["type"] == "ModuleNotFoundError":
                own = self._captured.hint(told["message"])
                told["hint"] = for_caller(own) if own else told["hint"]
            from ._known import Known

            outcome._known = Known(self.function, self.room.policy.values.get("raises", ()))
        return outcome

    def classes(self) -> Any:
        """The classes that the function's return annotation names, resolved at the first call."""
        if self._classes is self:
            self._classes = classes(annotation(self.function))
        return self._classes


def failure(outcome: Outcome) -> Exception:
    """What a call raises that has no value."""
    error = outcome.exception
    if error is not None and error.type_name == REFUSED:
        # The function has returned; it is the value that cannot come out.
        reason, fix = error.args if len(error.args) == 2 else (error.message, None)
        return keep(ValueRefused(str(reason), fix and str(fix)), outcome)
    if error is not None:
        return whole(outcome, error)
    if outcome.status == "cancelled":
        return keep(JobCancelled("the job was cancelled"), outcome)
    ended = GuestError("the guest exited before the function had returned", "let the function return; do not exit")
    ended.exit_code, ended.outcome = outcome.exit_code, outcome
    return ended


def annotation(function: Any) -> Any:
    """The return annotation of a function, if it names a class that could be built."""
    found = getattr(function, "__annotations__", {}).get("return")
    if isinstance(found, str):
        import typing

        # Classes that are local to where the function is defined are known to it if it uses them.
        try:
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
            enclosed = {name: cell.cell_contents for name, cell in cells}
            found = typing.get_type_hints(function, localns=enclosed or None, include_extras=True).get("return")
        except Exception:
            # A name that is there for type checkers alone; the value stays plain data.
            return None
    return None if found in PLAIN_TYPES else found
