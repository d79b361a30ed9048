"""A function that runs in jars: what is sent for a call, and what is made of the answer."""

from __future__ import annotations

import marshal
from pickle import dumps as plain_dumps
from types import FunctionType

from . import _frames as frames
from ._errors import GuestError, JobCancelled, SetupError, ValueRefused
from ._job import Teller, job, text, to_own_streams
from ._outcome import read
from ._plain import ARGUMENTS, Involved, Plain
from ._run import decoded, finish
from ._values import Parts, Pickled, call_sizes, classes, encode, encode_call, pickled
from ._verdict import keep, throw, whole
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._guest import Guest
    from ._job import Place, Tell
    from ._outcome import Outcome
    from ._rooms import Room
    from ._wait import Answer

# Arguments that any pickler sends in the same way.
SIMPLE = frozenset((int, float, str, bytes, bool, type(None)))
# What the guest's side of the encoding raises.
REFUSED = "belljar.values.ValueRefused"
# Annotations that name no class to be built again.
PLAIN_TYPES = (None, int, str, float, bool, bytes, dict, list, tuple, set, object)


def encoded_inputs(place: Place, inputs: Mapping[str, Any]) -> list[frames.Buffer]:
    """The parts that become globals of `__main__`."""
    if not all(isinstance(name, str) and name.isidentifier() for name in inputs):
        raise TypeError("inputs= takes a dict of names, which become globals, and values")
    there = place.guest()
    try:
        head, buffers = encode(dict(inputs), pickler=lambda obj: dumps_for(obj, there))
    except ValueRefused as error:
        from ._capture import named

        raise named("inputs", dict(inputs), there, error) from error
    return [head, *buffers]


class Late:
    """cloudpickle takes milliseconds to import: the agent starts meanwhile. What comes of it is kept, as an import
    statement takes a microsecond also when there is nothing to do."""

    dumps: Any = None
    fingerprint: Any = None
    same: Any = None

    @classmethod
    def load(cls) -> None:
        from ._capture import dumps
        from ._watch import fingerprint, same

        cls.dumps, cls.fingerprint, cls.same = staticmethod(dumps), staticmethod(fingerprint), staticmethod(same)


def dumps_for(obj: Any, there: Guest) -> Any:
    if Late.dumps is None:
        Late.load()
    return Late.dumps(obj, there)


def dumps_call(obj: Any, there: Guest) -> Any:
    """Arguments; those that need nothing of cloudpickle go without. Between two of one version nothing is faster than
    marshal, and a guest need not load pickle for it."""
    args, kwargs = obj
    if SIMPLE.issuperset(map(type, args)) and SIMPLE.issuperset(map(type, kwargs.values())):
        return (ARGUMENTS + marshal.dumps(obj) if there.same_version else plain_dumps(obj, 5)), ()
    return dumps_for(obj, there)


class Callee:
    """A function, the place where it runs, and who is told of what it prints."""

    def __init__(self, function: Callable[..., Any], room: Place, tell: Tell | None = None) -> None:
        self.function = function
        self.room = room
        self.tell = tell or to_own_streams
        self._cached: tuple[Guest, list[Any], Pickled] | None = None
        # The same for a function that needs no cloudpickle.
        self._plain: Plain | None = None
        # What a header begins with, for the room and the options of the last call.
        self._header: tuple[Room, Mapping[str, Any], bytes] | None = None
        self._classes: Any = self

    def parts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Parts:
        """Function and arguments, as they are now."""
        there = self.room.guest()
        function = self._pickled(there)
        try:
            return encode_call(function, args, kwargs, pickler=lambda obj: dumps_call(obj, there))
        except ValueRefused as error:
            from ._capture import named

            what: Any = dict(enumerate(args)) | dict(kwargs) if kwargs else args
            raise named("arguments" if kwargs else "args", what, there, error) from error

    def _pickled(self, there: Guest) -> Pickled:
        if self._plain is not None and self._plain.is_same(there):
            return Pickled(self._plain.data, [])
        function: FunctionType = self.function  # type: ignore[assignment]
        now, cached = None, self._cached
        if cached is not None:
            now = Late.fingerprint(function, there)
            if now is not None and cached[0] is there and Late.same(cached[1], now):
                return cached[2]
        self._plain = self._cached = None
        try:
            if type(function) is FunctionType:
                self._plain = plain = Plain(function, there)
                return Pickled(plain.data, [])
        except Involved:
            pass
        return self._by_cloudpickle(function, there)

    def _by_cloudpickle(self, function: FunctionType, there: Guest) -> Pickled:
        if Late.dumps is None:
            Late.load()
        now = Late.fingerprint(function, there) if hasattr(function, "__code__") else None
        try:
            made = pickled(function, pickler=lambda obj: dumps_for(obj, there))
        except ValueRefused as error:
            from ._capture import named

            raise named(f"{function.__qualname__}()", function, there, error) from error
        if now is not None:
            self._cached = there, now, made
        return made

    def request(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], **more: Any) -> Request:
        """The request for one call."""
        # First of all, so that the agent starts while the call is put together.
        agent, room = self.room.place()
        made = Request(agent, room, frames.JOB)
        if self._put_quickly(made, args, kwargs, more):
            return made
        head, buffers = self.parts(args, kwargs)
        if buffers or len(head) >= frames.INLINE:
            name = getattr(self.function, "__qualname__", None)
            return job(self.room, "invoke", [head, *buffers], name=name, stream=True, more=more)
        made.data = frames.single(frames.JOB, made.number, self._head(room, more), (head,))
        return made

    def _put_quickly(
        self, request: Request, args: tuple[Any, ...], kwargs: Mapping[str, Any], more: Mapping[str, Any]
    ) -> bool:
        """Puts a call together that is like the last one but for simple arguments, as most short calls are."""
        plain = self._plain
        if plain is None or not SIMPLE.issuperset(map(type, args)) or not SIMPLE.issuperset(map(type, kwargs.values())):
            return False
        given = marshal.dumps((args, dict(kwargs)))
        if len(plain.data) + len(given) >= frames.INLINE // 2 or not plain.is_same(self.room.guest()):
            return False
        sizes = call_sizes(len(plain.data), len(given) + 1)
        parts = sizes, plain.data, ARGUMENTS, given
        request.data = frames.single(frames.JOB, request.number, self._head(request.room, more), parts)
        return True

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
        throw(failure(self._with_known(read(frame.parts(frame.head()["parts"])))))

    def outcome(self, answer: Answer) -> Outcome:
        """All that is known of a call."""
        return self._with_known(finish(answer, self.classes()))

    def _with_known(self, outcome: Outcome) -> Outcome:
        if outcome._exception is not None:
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
        reason, _, fix = error.message.rpartition("; ")
        return keep(ValueRefused(reason or fix, fix if reason else None), outcome)
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
