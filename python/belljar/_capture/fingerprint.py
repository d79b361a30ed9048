"""Whether a function is still what it was when it was pickled."""

from __future__ import annotations

from operator import is_
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

from cloudpickle import cloudpickle as inner

from .._guest import PLAIN
from . import asserts
from .names import named
from .plain import is_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .own import Own

ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range, CodeType)
FIXED = frozenset((*ATOMS, BuiltinFunctionType))
# What a class has by itself, and what its decorators leave in it.
OWN = ("__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__weakref__", "__doc__")


def fingerprint(function: FunctionType, own: Own) -> list[Any] | None:
    """All that its pickle is made of, to be compared by identity; None if some of it may change in place."""
    parts: list[Any] = []
    seen: set[int] = set()
    todo: list[Any] = [function]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind in FIXED:
            parts.append(item)
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        parts.append(item)
        if kind is FunctionType:
            plain = item.__dict__.get(PLAIN, item)
            if plain is item and item.__dict__:
                return None
            if not own.has(plain.__module__) or not is_found(plain):
                add_function(plain, todo)
        elif kind is tuple or kind is frozenset:
            todo += item
        elif kind is ModuleType:
            if not own.has(item.__name__):
                return None
        elif isinstance(item, type):
            if not own.has(item.__module__) and not add_class(item, todo):
                return None
        elif kind is staticmethod or kind is classmethod:
            todo.append(item.__func__)
        elif kind is property:
            todo += [item.fget, item.fset, item.fdel]
        else:
            return None
    return parts


def add_function(function: FunctionType, todo: list[Any]) -> None:
    scope = function.__globals__
    todo += [function.__code__, function.__defaults__]
    todo += (function.__kwdefaults__ or {}).values()
    todo += [scope.get(name) for name in named(asserts.plain(function.__code__)).reads]
    for cell in function.__closure__ or ():
        todo.append(inner._get_cell_contents(cell))


def add_class(kind: type, todo: list[Any]) -> bool:
    """Whether all that is in a class can be followed."""
    todo += kind.__bases__
    for name, value in vars(kind).copy().items():
        if name in OWN or name.startswith("_abc"):
            continue
        if isinstance(value, (FunctionType, staticmethod, classmethod, property, tuple, *ATOMS)):
            todo.append(value)
        elif type(value).__module__ != "builtins" or isinstance(value, (list, dict, set, bytearray)):
            return False
    return True


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two fingerprints are of the same things."""
    return len(one) == len(other) and all(map(is_, one, other))
