"""Which part of a function or of its arguments it is that cannot be sent."""

from __future__ import annotations

from collections import deque
from functools import partial
from time import monotonic
from types import FunctionType, ModuleType

from cloudpickle import cloudpickle as inner

from .._errors import ValueRefused
from .budget import MOST, SECONDS, Sink, TooMuch
from .names import named as names_in
from .pickler import dumps, of_this_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .own import Own

# Of what was too much, the part is named that takes this share of the budget by itself.
SHARE = 4
# Ways into something that are looked at, and seconds for all of them together.
MOST_ITEMS, SEARCH = 1000, 5.0


def named(what: str, obj: Any, own: Own, error: ValueRefused) -> ValueRefused:
    """The same refusal, with the path of what cannot be sent."""
    path, found, until = what, obj, monotonic() + SEARCH
    for _ in range(20):
        inside = first_bad(path, found, own, isinstance(error, TooMuch), until)
        if inside is None:
            break
        path, found, cause = inside
        # What is too much is too much as a whole: of its parts only the path is told.
        error = cause if not isinstance(error, TooMuch) else error
    hint = error.hint or "send plain data, or make it inside the function"
    return ValueRefused(f"cannot send {path} ({type(found).__name__}): {error.message}", hint)


def first_bad(path: str, obj: Any, own: Own, too_much: bool, until: float) -> tuple[str, Any, ValueRefused] | None:
    """The first of its parts that cannot be sent by itself either."""
    seconds, most = (SECONDS / SHARE, MOST // SHARE) if too_much else (SECONDS, MOST)
    for where, value in parts(path, obj)[:MOST_ITEMS]:
        left = until - monotonic()
        if left <= 0:
            return None
        try:
            dumps(value, own, Sink(min(seconds, left), most))
        except TooMuch as error:
            if too_much or left > seconds:
                return where, value, error
        except ValueRefused as error:
            return where, value, error
    return None


def told(value: Any) -> str:
    """How a key is written, if it can be."""
    try:
        return repr(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"


def parts(path: str, obj: Any) -> list[tuple[str, Any]]:
    """What something is made of, and how to get there."""
    if isinstance(obj, dict):
        values = [(f"{path}[{told(key)}]", value) for key, value in obj.items()]
        return values + [(f"{path}.key({told(key)})", key) for key in obj]
    if isinstance(obj, tuple) and hasattr(obj, "_fields"):
        return [(f"{path}.{name}", value) for name, value in zip(obj._fields, obj, strict=False)]
    if isinstance(obj, (list, tuple, deque)):
        return [(f"{path}[{index}]", value) for index, value in enumerate(obj)]
    if isinstance(obj, (set, frozenset)):
        return [(f"{path}{{{told(value)}}}", value) for value in obj]
    if isinstance(obj, partial):
        keywords = [(f"{path}.keywords[{name!r}]", value) for name, value in obj.keywords.items()]
        return [(f"{path}.func", obj.func), *((f"{path}.args[{n}]", one) for n, one in enumerate(obj.args)), *keywords]
    if isinstance(obj, FunctionType) and not of_this_package(obj):
        return of_function(obj)
    if goes_by_its_dict(type(obj)):
        return [(f"{path}.{name}", value) for name, value in list(obj.__dict__.items())]
    return []


def of_function(function: FunctionType) -> list[tuple[str, Any]]:
    scope, code = function.__globals__, function.__code__
    found = [
        (f"{name!r}, a global of {function.__qualname__}()", scope[name])
        for name in names_in(code).reads
        if name in scope
    ]
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        found.append((f"{name!r}, a variable that {function.__qualname__}() encloses", inner._get_cell_contents(cell)))
    return found


def goes_by_its_dict(kind: type) -> bool:
    """Whether its attributes are what is sent of an object, and their names lead to what cannot be."""
    own_way = (
        name
        for base in kind.__mro__[:-1]
        for name in ("__reduce_ex__", "__reduce__", "__getstate__")
        if name in base.__dict__
    )
    return "__dict__" in dir(kind) and kind not in (FunctionType, ModuleType, type) and not any(own_way)
