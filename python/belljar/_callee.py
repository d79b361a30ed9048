"""A function that runs in jars: what is sent for a call, and what is made of the answer."""

from __future__ import annotations

import marshal
import sys
from pickle import dumps as plain_dumps
from types import FunctionType

from . import _agent
from . import _frames as frames
from ._capture.own import Again, Own
from ._capture.plain import ARGUMENTS, Involved, Plain
from ._errors import BelljarError, GuestError, JobCancelled, SetupError, ValueRefused
from ._job import Teller, job, text, to_own_streams
from ._outcome import read
from ._run import decoded, finish
from ._values import Parts, Pickled, call_sizes, classes, encode, encode_call, pickled
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ._capture.own import Load
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


def encoded_inputs(place: Place, inputs: Mapping[str, Any]) -> tuple[list[frames.Buffer], Load | None]:
    """The parts that become globals of `__main__`, and the source files that they need."""
    if not all(isinstance(name, str) and name.isidentifier() for name in inputs):
        raise TypeError("inputs= takes a dict of names, which become globals, and values")
    own = Own(place.guest(), None)
    try:
        head, buffers = encode(dict(inputs), pickler=lambda obj: dumps_for(obj, own))
    except ValueRefused as error:
        from ._capture.refusal import named

        raise named("inputs", dict(inputs), own, error) from error
    return [head, *buffers], own.load()


class Late:
    """cloudpickle takes milliseconds to import: the agent starts meanwhile. What comes of it is kept, as an import
    statement takes a microsecond also when there is nothing to do."""

    dumps: Any = None
    fingerprint: Any = None
    same: Any = None

    @classmethod
    def load(cls) -> None:
        from ._capture.fingerprint import fingerprint, same
        from ._capture.pickler import dumps

        cls.dumps, cls.fingerprint, cls.same = staticmethod(dumps), staticmethod(fingerprint), staticmethod(same)


def dumps_for(obj: Any, own: Own) -> Any:
    if Late.dumps is None:
        Late.load()
    return Late.dumps(obj, own)


def dumps_call(obj: Any, own: Own) -> Any:
    """Arguments; those that need nothing of cloudpickle go without. Between two of one version nothing is faster than
    marshal, and a guest need not load pickle for it."""
    args, kwargs = obj
    if SIMPLE.issuperset(map(type, args)) and SIMPLE.issuperset(map(type, kwargs.values())):
        return (ARGUMENTS + marshal.dumps(obj) if own.guest.same_version else plain_dumps(obj, 5)), ()
    return dumps_for(obj, own)


class Callee:
    """A function, the place where it runs, and who is told of what it prints."""

    def __init__(self, function: Callable[..., Any], room: Place, tell: Tell | None = None) -> None:
        self.function = function
        self.room = room
        self.tell = tell or to_own_streams
        self._cached: tuple[list[Any], Pickled] | None = None
        # The same for a function that needs no cloudpickle.
        self._plain: Plain | None = None
        # The caller's own modules that go along, and those of the last call.
        self._own: Own | None = None
        self._load: Load | None = None
        # What a header begins with, for the room and the options of the last call.
        self._header: tuple[Room, Mapping[str, Any], bytes] | None = None
        self._classes: Any = self

    def parts(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Parts, Load | None]:
        """Function and arguments, as they are now, and the source files that go along."""
        there = self.room.guest()
        own = self._own
        if own is None or own.guest is not there or not own.is_fresh():
            own = self._own = Own(there, getattr(self.function, "__module__", None))
            self._plain = self._cached = None
        while True:
            try:
                parts = self._encoded(own, args, kwargs)
                self._load = own.load()
                return parts, self._load
            except Again:
                self._plain = self._cached = None

    def load(self) -> Load | None:
        """The source files that a call needs, unless its arguments need more."""
        return self.parts((), {})[1]

    def _encoded(self, own: Own, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Parts:
        function = self._pickled(own)
        try:
            return encode_call(function, args, kwargs, pickler=lambda obj: dumps_call(obj, own))
        except ValueRefused as error:
            if own.can_go_by_name(error):
                raise own.go_by_name() from error
            from ._capture.refusal import named

            what: Any = dict(enumerate(args)) | dict(kwargs) if kwargs else args
            raise named("arguments" if kwargs else "args", what, own, error) from error

    def _pickled(self, own: Own) -> Pickled:
        if self._plain is not None and self._plain.is_same(own.guest):
            return Pickled(self._plain.data, [])
        function: FunctionType = self.function  # type: ignore[assignment]
        now, cached = None, self._cached
        if cached is not None:
            now = Late.fingerprint(function, own)
            if now is not None and Late.same(cached[0], now):
                return cached[1]
        self._plain = self._cached = None
        try:
            if type(function) is FunctionType:
                self._plain = plain = Plain(function, own)
                return Pickled(plain.data, [])
        except Involved:
            pass
        return self._by_cloudpickle(function, own)

    def _by_cloudpickle(self, function: FunctionType, own: Own) -> Pickled:
        if Late.dumps is None:
            Late.load()
        now = Late.fingerprint(function, own) if hasattr(function, "__code__") else None
        try:
            made = pickled(function, pickler=lambda obj: dumps_for(obj, own))
        except ValueRefused as error:
            # Something in its module cannot go by value; made anew there, it can.
            if own.can_go_by_name(error):
                raise own.go_by_name() from error
            from ._capture.refusal import named

            raise named(f"{function.__qualname__}()", function, own, error) from error
        if now is not None:
            self._cached = now, made
        return made

    def request(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], **more: Any) -> Request:
        """The request for one call."""
        quickly = self._put_quickly(args, kwargs)
        if quickly is None:
            # First of all, so that it starts while the call is put together.
            _agent.current()
            (head, buffers), load = self.parts(args, kwargs)
            if buffers or len(head) >= frames.INLINE:
                name = getattr(self.function, "__qualname__", None)
                return job(self.room, "invoke", [head, *buffers], name=name, stream=True, more=more, load=load)
            quickly = (head,)
        agent, room = self.room.place(self._load)
        made = Request(agent, room, frames.JOB)
        made.data = frames.single(frames.JOB, made.number, self._head(room, more), quickly)
        return made

    def _put_quickly(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[bytes, ...] | None:
        """What a call consists of that is like the last one but for simple arguments, as most short calls are."""
        plain = self._plain
        if plain is None or not SIMPLE.issuperset(map(type, args)) or not SIMPLE.issuperset(map(type, kwargs.values())):
            return None
        given = marshal.dumps((args, dict(kwargs)))
        if len(plain.data) + len(given) >= frames.INLINE // 2 or not plain.is_same(self.room.guest()):
            return None
        if self._load is not None and not self._load.tree.is_fresh(sys.modules):
            return None
        return call_sizes(len(plain.data), len(given) + 1), plain.data, ARGUMENTS, given

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
        raise failure(read(frame.parts(frame.head()["parts"])))

    def outcome(self, answer: Answer) -> Outcome:
        """All that is known of a call."""
        return finish(answer, self.classes())

    def classes(self) -> Any:
        """The classes that the function's return annotation names, resolved at the first call."""
        if self._classes is self:
            self._classes = classes(annotation(self.function))
        return self._classes


def failure(outcome: Outcome) -> BelljarError:
    """What a call raises that has no value."""
    error = outcome.exception
    if error is not None and error.type_name == REFUSED:
        # The function has returned; it is the value that cannot come out.
        reason, _, fix = error.message.rpartition("; ")
        return ValueRefused(reason or fix, fix if reason else None)
    if error is not None:
        return error
    if outcome.status == "cancelled":
        return JobCancelled("the job was cancelled")
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
