"""A function and its arguments as they are sent: made anew only as far as something has changed since the last call."""

from __future__ import annotations

import marshal
import re
import sys
from itertools import chain
from pickle import dumps as plain_dumps
from types import FunctionType

from .. import _frames as frames
from .._errors import DependencyError, ValueRefused
from .._values import Pickled, call_sizes, encode, encode_call, pickled
from .modules import OWN
from .own import Again, Own
from .plain import ARGUMENTS, Involved, Plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypeAlias

    from .._guest import Guest
    from .own import Load

    # Arguments and keyword arguments; or those of several calls, and how their results come (docs/reference/values.md).
    Given: TypeAlias = tuple[tuple[Any, ...], Any]

# Arguments that any pickler sends in the same way.
SIMPLE = frozenset((int, float, str, bytes, bool, type(None)))


class Late:
    """cloudpickle takes milliseconds to import: the agent starts meanwhile. What comes of it is kept, as an import
    statement takes a microsecond also when there is nothing to do."""

    dumps: Any = None
    fingerprint: Any = None
    same: Any = None

    @classmethod
    def load(cls) -> None:
        try:
            from .fingerprint import fingerprint, same
            from .pickler import dumps
        except ModuleNotFoundError as error:
            if error.name != "cloudpickle":
                raise
            raise DependencyError(
                "the package cloudpickle is missing", "install it: `pip install cloudpickle`"
            ) from None

        cls.dumps, cls.fingerprint, cls.same = staticmethod(dumps), staticmethod(fingerprint), staticmethod(same)


class Captured:
    """One function, for the guest of its last call."""

    def __init__(self, function: Any) -> None:
        self.function = function
        #: Source files that went along with the last call.
        self.load: Load | None = None
        self._own: Own | None = None
        self._cached: tuple[list[Any], Pickled] | None = None
        # The same for a function that needs no cloudpickle.
        self._plain: Plain | None = None
        # Whether the function's own module goes by its name because of the arguments of one call.
        self._for_arguments = False

    def quickly(self, given: Given, there: Guest) -> tuple[bytes, ...] | None:
        """What a call consists of that is like the last one but for simple arguments, as most short calls are."""
        plain, single = self._plain, tuple(each(given))
        if plain is None or not SIMPLE.issuperset(map(type, single)):
            return None
        # What is too large for this is not copied to find out.
        if sum(map(sys.getsizeof, single)) > 4 * frames.INLINE:
            return None
        data = marshal.dumps(given)
        if len(plain.data) + len(data) >= frames.INLINE // 2 or not plain.is_same(there):
            return None
        if self.load is not None and not self.load.tree.is_fresh():
            return None
        return call_sizes(len(plain.data), len(data) + 1), plain.data, ARGUMENTS, data

    def parts(self, given: Given, there: Guest, first: int = 0) -> list[frames.Buffer]:
        """Function and arguments, as they are now; of several calls, that of the item `first` is the first."""
        args, more = given
        word, what = "args", dict(enumerate(args, first))
        if more:
            word, what = ("arguments", {**what, **more}) if type(more) is dict else ("items", what)
        check_raw(each(given), word, what)
        own = self._own
        if own is None or own.guest is not there or not own.is_fresh():
            own = self._fresh(there)
        try:
            while True:
                try:
                    head, buffers = self._encoded(own, given, word, what)
                    self.load = own.load()
                    return fitting([head, *buffers], word, what)
                except Again:
                    self._plain = self._cached = None
        except BaseException:
            # What was tried for this call must not count for the next one.
            self._fresh(there)
            raise
        finally:
            if self._for_arguments:
                # Nor what these arguments alone needed.
                self._own, self._plain, self._cached, self._for_arguments = None, None, None, False

    def hint(self, message: str) -> str | None:
        """What to do about a module that the guest did not find, where it is the caller's own."""
        missing = re.match(r"No module named '(\w+)", message)
        if missing is None or self._own is None:
            return None
        found = self._own.modules().get(missing[1])
        if found is None or found.kind != OWN:
            return None
        name = missing[1]
        return f"{name!r} is your own, and nothing that the call names imports it: name it with modules=[{name!r}]"

    def _fresh(self, there: Guest) -> Own:
        """As before the first call."""
        self._own = own = Own(there, getattr(self.function, "__module__", None))
        self.load = self._plain = self._cached = None
        return own

    def _encoded(self, own: Own, given: Given, word: str, what: Mapping[Any, Any]) -> Any:
        function = self._pickled(own)
        try:
            return encode_call(function, given, pickler=lambda obj: dumps_call(obj, own))
        except ValueRefused as error:
            if own.can_go_by_name(error):
                self._for_arguments = True
                raise own.go_by_name() from error
            from .refusal import named

            raise named(word, what, own, error) from error

    def _pickled(self, own: Own) -> Pickled:
        if self._plain is not None and self._plain.is_same(own.guest):
            return Pickled(self._plain.data, [])
        function = self.function
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
        return self._by_cloudpickle(own)

    def _by_cloudpickle(self, own: Own) -> Pickled:
        if Late.dumps is None:
            Late.load()
        function = self.function
        now = Late.fingerprint(function, own) if hasattr(function, "__code__") else None
        try:
            made = pickled(function, pickler=lambda obj: dumps_for(obj, own))
        except ValueRefused as error:
            # Something in its module cannot go by value; made anew there, it can.
            if own.can_go_by_name(error):
                raise own.go_by_name() from error
            from .refusal import named

            raise named(called(function), function, own, error) from error
        sent: list[frames.Buffer] = [made.data, *made.buffers]
        if not frames.fits(sent):
            from .._bounds import refused

            raise refused(sent, {called(function): function})
        if now is not None:
            self._cached = now, made
        return made


def called(function: Any) -> str:
    """What is callable need not have a name."""
    return f"{getattr(function, '__qualname__', type(function).__name__)}()"


def each(given: Given) -> Iterable[Any]:
    """The single arguments, of one call or of several."""
    args, more = given
    return (*args, *more.values()) if type(more) is dict else chain.from_iterable(args)


def dumps_for(obj: Any, own: Own) -> Any:
    if Late.dumps is None:
        Late.load()
    return Late.dumps(obj, own)


def dumps_call(obj: Any, own: Own) -> Any:
    """Arguments; those that need nothing of cloudpickle go without. Between two of one version nothing is faster than
    marshal, and a guest need not load pickle for it."""
    if SIMPLE.issuperset(map(type, each(obj))):
        return (ARGUMENTS + marshal.dumps(obj) if own.guest.same_version else plain_dumps(obj, 5)), ()
    return dumps_for(obj, own)


def encoded_inputs(there: Guest, inputs: Mapping[str, Any]) -> tuple[list[frames.Buffer], Load | None]:
    """The parts that become globals of `__main__`, and the source files that they need."""
    if not all(isinstance(name, str) and name.isidentifier() for name in inputs):
        raise TypeError("inputs= takes a dict of names, which become globals, and values")
    own = Own(there, None)
    check_raw(inputs.values(), "inputs", inputs)
    try:
        head, buffers = encode(dict(inputs), pickler=lambda obj: dumps_for(obj, own))
    except ValueRefused as error:
        from .refusal import named

        raise named("inputs", dict(inputs), own, error) from error
    return fitting([head, *buffers], "inputs", inputs), own.load()


def check_raw(values: Iterable[Any], word: str, what: Mapping[Any, Any]) -> None:
    """Before anything is encoded: texts and bytes take as much as they are long, at least. It is told as
    `word[key]`, by what has most of it."""
    size = sum([len(value) for value in values if isinstance(value, (bytes, str, bytearray))])
    if size > frames.MOST_BODY:
        from .._bounds import too_large

        raise too_large(size, {f"{word}[{key!r}]": value for key, value in what.items()})


def fitting(parts: list[frames.Buffer], word: str, what: Mapping[Any, Any]) -> list[frames.Buffer]:
    """The same parts, if they fit into one request."""
    if not frames.fits(parts):
        from .._bounds import refused

        raise refused(parts, {f"{word}[{key!r}]": value for key, value in what.items()} or {word: None})
    return parts
