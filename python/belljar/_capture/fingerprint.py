"""Whether a function is still what it was when it was pickled."""

from __future__ import annotations

from operator import is_
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)

from cloudpickle import cloudpickle as inner

from .._guest import plain_of
from . import asserts
from .names import named
from .plain import is_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .own import Own

ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range, CodeType)
SLOTS = (
    ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType
)  # fmt: skip
FIXED = frozenset((*ATOMS, *SLOTS, BuiltinFunctionType))
# What a class has by itself, and what its decorators leave in it.
OWN = (
    "__annotations__", "__dataclass_fields__", "__dataclass_params__", "__dict__", "__weakref__", "__doc__",
    "_abc_impl", "__static_attributes__", "__firstlineno__", "__match_args__",
)  # fmt: skip


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
            plain = plain_of(item)
            if type(plain) is not FunctionType:
                return None
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
            if not (own.has(item.__module__) and importable(item)):
                add_class(item, todo)
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


def add_class(kind: type, todo: list[Any]) -> None:
    """All that is in a class: what cannot be followed is found to be so when its turn comes."""
    todo += kind.__bases__
    if type(kind) is not type:
        todo.append(type(kind))
    todo += [value for name, value in vars(kind).copy().items() if name not in OWN]


def importable(kind: type) -> bool:
    return inner._lookup_module_and_qualname(kind) is not None


def same(one: list[Any], other: list[Any]) -> bool:
    """Whether two fingerprints are of the same things."""
    return len(one) == len(other) and all(map(is_, one, other))
