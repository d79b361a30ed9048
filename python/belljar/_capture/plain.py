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

from ._guest import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._guest import Guest

CONSTANTS = frozenset((int, float, complex, str, bytes, bool, type(None), type(...)))
REFERENCES = (type, FunctionType, BuiltinFunctionType)
#: First bytes of what is no pickle: a function, and marshalled arguments.
FUNCTION, ARGUMENTS = b"F", b"M"
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

    __slots__ = ("annotations", "code", "data", "defaults", "function", "guest", "names", "values")

    def __init__(self, function: FunctionType, guest: Guest) -> None:
        """Raises Involved where there is more to it."""
        self.function, self.guest = function, guest
        self.code, self.defaults = function.__code__, function.__defaults__
        self.annotations = list(function.__annotations__.values())
        scope, module = function.__globals__, function.__module__
        self.names = list(named(self.code))
        self.values = [scope.get(name, MISSING) for name in self.names]
        if function.__closure__ or function.__kwdefaults__ or function.__dict__ or not guest.same_version:
            raise Involved
        if not isinstance(module, str) or module.partition(".")[0] == "belljar" or guest.has(module):
            raise Involved
        if compiled(module):
            raise Involved
        used = [(name, value) for name, value in zip(self.names, self.values, strict=True) if value is not MISSING]
        parts = (
            self.code,
            {name: told(scope[name], guest) for name in HOME if name in scope}
            | {name: told(value, guest) for name, value in used},
            submodules(self.code, [value for _, value in used]),
            (function.__name__, function.__qualname__, module, function.__doc__),
            told(self.defaults, guest),
            {name: told(value, guest) for name, value in function.__annotations__.items()},
        )
        try:
            self.data = FUNCTION + marshal.dumps(parts)
        except ValueError:
            raise Involved from None

    def is_same(self, guest: Guest) -> bool:
        """Whether the function is what it was then, for this guest."""
        function, annotations = self.function, self.function.__annotations__
        return (
            guest is self.guest
            and function.__code__ is self.code
            and function.__defaults__ is self.defaults
            and not function.__kwdefaults__
            and not function.__dict__
            and len(annotations) == len(self.annotations)
            and all(map(is_, annotations.values(), self.annotations))
            and all(map(is_, map(function.__globals__.get, self.names, repeat(MISSING)), self.values))
        )


def named(code: CodeType) -> dict[str, None]:
    """All names in a function, also in those inside it; attributes are among them."""
    names = dict.fromkeys(code.co_names)
    for item in code.co_consts:
        if type(item) is CodeType:
            names |= named(item)
    return names


def told(value: Any, guest: Guest) -> tuple[Any, ...]:
    """How the guest finds the value. Nothing of it can change in place."""
    kind: type = type(value)
    if kind in CONSTANTS:
        return CONSTANT, value
    if kind is ModuleType:
        module = value.__name__
        if guest.has(module) and sys.modules.get(module) is value:
            return MODULE, module
    elif kind is tuple:
        return TUPLE, [told(item, guest) for item in value]
    elif kind is GenericAlias and type(value.__args__) is tuple:
        return ALIAS, told(value.__origin__, guest), told(value.__args__, guest)
    elif kind is UnionType:
        return UNION, told(tuple([None if item is NONE else item for item in value.__args__]), guest)
    elif issubclass(kind, REFERENCES) and not (kind is FunctionType and value.__dict__):
        module, name = value.__module__, value.__qualname__
        if isinstance(module, str) and guest.has(module) and found(module, name) is value:
            return NAME, module, name
    raise Involved


def found(module: str, name: str) -> Any:
    place: Any = sys.modules.get(module)
    for part in name.split("."):
        place = getattr(place, part, None)
    return place


def submodules(code: CodeType, values: list[Any]) -> list[str]:
    """Modules that the function reaches through their package, and that are there only if somebody imports them."""
    packages = [value.__name__ for value in values if type(value) is ModuleType and hasattr(value, "__path__")]
    if not packages:
        return []
    below = tuple(f"{package}." for package in packages)
    words = set(code.co_names)
    inside = [name for name in list(sys.modules) if name.startswith(below)]
    return [name for name in inside if any(reached(name, package, words) for package in packages)]


def reached(name: str, package: str, words: set[str]) -> bool:
    return name.startswith(f"{package}.") and words.issuperset(name[len(package) + 1 :].split("."))
