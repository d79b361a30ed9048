"""Functions that need no cloudpickle: code, constants, and names that the guest can look up by itself.

Most functions are like that. To import cloudpickle takes longer than to start a Python, once here and once in the first
jar; and what is sent without it is also looked at, before each call, in a few steps.
"""

from __future__ import annotations

import marshal
import sys
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, GenericAlias, ModuleType, UnionType

from .._errors import BelljarError
from .._guest import plain_of
from . import asserts
from .names import named, nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._guest import Guest
    from .own import Own

# Of this package, beside its errors.
GUEST_NAMES = ("sandbox", "keep", "Kept")
CONSTANTS = frozenset((int, float, complex, str, bytes, bool, type(None), type(...)))
REFERENCES = (type, FunctionType, BuiltinFunctionType)
#: First bytes of what is no pickle: a function, the name of one, and marshalled arguments.
FUNCTION, NAMED, ARGUMENTS = b"F", b"N", b"M"
# Names that imports inside a function need.
HOME = ("__package__", "__name__", "__path__", "__file__")
# How the guest finds a value: as it is, as a module, by its name in a module, put together of others.
CONSTANT, MODULE, NAME, TUPLE, ALIAS, UNION = range(6)
MISSING = object()
# What `None` is called in a union, and where no module has it.
NONE = type(None)


class Involved(Exception):
    """Something that only cloudpickle can send."""


class Plain:
    """A function as it was, for `is_same`, and as bytes."""

    __slots__ = ("by_name", "code", "data", "defaults", "function", "guest", "names", "values")

    def __init__(self, function: FunctionType, own: Own) -> None:
        """Raises Involved where there is more to it."""
        self.function, self.guest = function, own.guest
        self.code, self.defaults = function.__code__, function.__defaults__
        scope, module = function.__globals__, function.__module__
        if not isinstance(module, str) or module.partition(".")[0] == "belljar":
            raise Involved
        self.by_name = own.has(module)
        if self.by_name:
            if not is_found(function):
                raise Involved
            self.names, self.values = [], []
            self.data = NAMED + marshal.dumps((NAME, module, function.__qualname__))
            return
        if function.__closure__ or function.__kwdefaults__ or function.__dict__ or not own.guest.same_version:
            raise Involved
        code = asserts.plain(self.code)
        self.names = list(named(code).reads)
        self.values = [scope.get(name, MISSING) for name in self.names]
        used = [(name, value) for name, value in zip(self.names, self.values, strict=True) if value is not MISSING]
        parts = (
            code,
            {name: told(scope[name], own) for name in HOME if name in scope}
            | {name: told(value, own) for name, value in used},
            submodules(code, [value for _, value in used], own),
            (function.__name__, function.__qualname__, module, function.__doc__),
            told(self.defaults, own),
            id(scope),
        )
        own.note(function)
        try:
            self.data = FUNCTION + marshal.dumps(parts)
        except ValueError:
            raise Involved from None

    def is_same(self, guest: Guest) -> bool:
        """Whether the function is what it was then, for this guest."""
        function = self.function
        if self.by_name:
            return guest is self.guest and is_found(function)
        return (
            guest is self.guest
            and function.__code__ is self.code
            and function.__defaults__ is self.defaults
            and not function.__kwdefaults__
            and not function.__dict__
            and all(map(is_, map(function.__globals__.get, self.names, repeat(MISSING)), self.values))
        )


def told(value: Any, own: Own) -> tuple[Any, ...]:
    """How the guest finds the value. Nothing of it can change in place."""
    kind: type = type(value)
    if kind in CONSTANTS:
        return CONSTANT, value
    if kind is ModuleType:
        module = value.__name__
        if sys.modules.get(module) is value and own.has(module):
            return MODULE, module
    elif kind is tuple:
        return TUPLE, [told(item, own) for item in value]
    elif kind is GenericAlias and type(value.__args__) is tuple:
        return ALIAS, told(value.__origin__, own), told(value.__args__, own)
    elif kind is UnionType:
        return UNION, told(tuple([None if item is NONE else item for item in value.__args__]), own)
    elif issubclass(kind, REFERENCES) and not (kind is FunctionType and value.__dict__):
        module, name = value.__module__, value.__qualname__
        if isinstance(module, str) and module.partition(".")[0] == "belljar":
            known = public(value)
            if known is None:
                raise Involved
            return NAME, "belljar", known
        if isinstance(module, str) and found(module, name) is value and own.has(module):
            return NAME, module, name
    raise Involved


def found(module: str, name: str) -> Any:
    """What a module has below a name. Whatever a module does that makes its attributes up, it is not there."""
    place: Any = sys.modules.get(module)
    for part in name.split("."):
        try:
            place = getattr(place, part, None)
        except Exception:
            return None
    return place


def public(value: Any) -> str | None:
    """The name below which a guest finds something of this package: it has the decorator, tokens, and the errors."""
    name = value.__qualname__
    is_error = isinstance(value, type) and issubclass(value, BelljarError)
    return name if name in GUEST_NAMES or (is_error and name in sys.modules["belljar"].__all__) else None


def is_found(function: FunctionType) -> bool:
    """Whether a function, or what the decorator made of it, is what its module has below its name."""
    place = found(function.__module__, function.__qualname__)
    return place is function or (type(place) is FunctionType and plain_of(place) is function)


def submodules(code: CodeType, values: list[Any], own: Own) -> list[str]:
    """Modules that the function reaches through their package, and that are there only if somebody imports them."""
    packages = [value.__name__ for value in values if type(value) is ModuleType and hasattr(value, "__path__")]
    if not packages:
        return []
    below = tuple(f"{package}." for package in packages)
    words = {word for one in nested(code) for word in one.co_names}
    inside = [name for name in list(sys.modules) if name.startswith(below)]
    return [name for name in inside if any(reached(name, package, words) for package in packages) and own.has(name)]


def reached(name: str, package: str, words: set[str]) -> bool:
    return name.startswith(f"{package}.") and words.issuperset(name[len(package) + 1 :].split("."))
