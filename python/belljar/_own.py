"""Exceptions of the user's own classes, made of what a guest says of them.

No code of a class runs on a guest's data: no `__new__`, `__init__`, `__setattr__` or property, and nothing of its
metaclass. So nothing here asks a class or an instance for an attribute, and no class is compared with `==` or hashed.
"""

from __future__ import annotations

import builtins
import sys
from functools import cached_property
from types import GetSetDescriptorType, MemberDescriptorType

from ._errors import BelljarError, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

HEAP, WORD = 1 << 9, 8
# How deep data may be nested, and how long a number may be, in hexadecimal.
DEPTH, DIGITS = 16, 4096
# Before 3.12 the list of weak references is a field of the object, afterwards it is in front of it.
WEAK = WORD if sys.version_info < (3, 12) else 0


def asking(kind: type, *names: str) -> Iterator[Any]:
    return (kind.__dict__[name].__get__ for name in names)


MRO, BASE, FLAGS, SIZE, SCOPE, NAME, QUALNAME = asking(
    type, "__mro__", "__base__", "__flags__", "__basicsize__", "__dict__", "__name__", "__qualname__"
)
(DICT,) = asking(BaseException, "__dict__")
ARGS = BaseException.__dict__["args"]
# They would end loops of the host or its program, have parts that must fit together, or hold objects.
NEVER = (StopIteration, StopAsyncIteration, UnicodeError, getattr(builtins, "BaseExceptionGroup", StopIteration))
BUILTIN = {id(item) for item in builtins.__dict__.values()}
NUMBERS = ("errno", "lineno", "offset")
FIELDS: dict[type, tuple[str, ...]] = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text"),
    ImportError: ("msg", "name", "path"),
    NameError: ("name",),
    AttributeError: ("name",),
}


class Unfit(Exception):
    """A class of which no instance can be made of data, and why."""


class Lie(Exception):
    """Something that the guest's runtime does not send."""


def layout(cls: Any) -> type[Exception]:
    """The built-in class that the instances of this one are like in memory."""
    mro = MRO(cls) if is_class(cls) else ()
    if not among(Exception, mro):
        raise Unfit("is no subclass of Exception")
    if among(BelljarError, mro):
        raise Unfit("is one of belljar's own")
    for kind in NEVER:
        if among(kind, mro):
            raise Unfit(f"is a {kind.__name__}, which is never made of what a guest says")
    own = [kind for kind in mro if FLAGS(kind) & HEAP]
    if any("__del__" in SCOPE(kind) for kind in own):
        raise Unfit("has a __del__, which would run on what a guest says")
    static: type[Exception] = cls
    while FLAGS(static) & HEAP:
        static = BASE(static)
    slots = sum(is_slot(item, kind) for kind in own if "__slots__" in SCOPE(kind) for item in SCOPE(kind).values())
    weak = any(type(SCOPE(kind).get("__weakref__")) is GetSetDescriptorType for kind in own)
    # Fields that are no slots are those of an extension, and nobody would fill them.
    if SIZE(cls) != SIZE(static) + slots * WORD + weak * WEAK or id(static) not in BUILTIN:
        raise Unfit("is made by an extension, with fields of its own")
    return static


def is_class(value: object) -> bool:
    return issubclass(type(value), type)


def key(cls: Any) -> tuple[str, str]:
    """How a guest names a class."""
    module = SCOPE(cls).get("__module__")
    return module if type(module) is str else "", QUALNAME(cls)


def among(kind: type, classes: Iterable[type]) -> bool:
    return any(each is kind for each in classes)


def make(cls: type[Exception], link: dict[str, Any]) -> Exception:
    """An instance with the arguments and attributes that the guest tells; notes name what is left out."""
    static = layout(cls)
    error: Exception = static.__new__(cls)
    left = [printable(name) for name in link["left"]]
    ARGS.__set__(error, tuple(plain(value) for value in link["args"]))
    for name, value in link["fields"]:
        kind = next((kind for kind in MRO(static) if name in FIELDS.get(kind, ())), None)
        if kind is not None and is_field(name, value):
            kind.__dict__[name].__set__(error, plain(value))
        else:
            left.append(printable(name))
    state: dict[str, Any] = {}
    for name, value in link["state"]:
        place: Any = next((SCOPE(kind)[name] for kind in MRO(cls) if name in SCOPE(kind)), None)
        if not name.isidentifier() or name[:2] == "__" == name[-2:] or hides(place):
            left.append(printable(name))
        elif any(is_slot(place, kind) for kind in MRO(cls)):
            place.__set__(error, plain(value))
        else:
            state[name] = plain(value)
    notes = [printable(note) for note in link["notes"]]
    if left:
        notes.append(f"belljar left out what is not plain data, or is too large: {', '.join(left)}")
    if notes:
        state["__notes__"] = notes
    dict.update(DICT(error), state)
    return error


def is_slot(place: Any, cls: type) -> bool:
    """Whether it is a slot of this very class, and not one of another that only stands there."""
    return type(place) is MemberDescriptorType and place.__objclass__ is cls and FLAGS(cls) & HEAP != 0


def is_field(name: str, value: object) -> bool:
    """Whether the interpreter can print an exception with it. It counts columns up to an offset one by one."""
    if name in NUMBERS:
        return type(value) is int and abs(value) < 1 << 16
    return type(value) is str


def hides(place: object) -> bool:
    """Whether an attribute in this place would hide a method, or something else of the class that can be called."""
    if place is None:
        return False
    kind = type(place)
    names = {name for base in MRO(kind) for name in SCOPE(base)}
    binds = "__get__" in names and names.isdisjoint(("__set__", "__delete__"))
    return callable(place) or (binds and kind is not cached_property)


def plain(value: Any, text: Callable[[str], str] = printable, depth: int = DEPTH) -> Any:
    """The value of a guest's data. Its text can be printed: a class of the user's own prints it as it is."""
    kind = type(value)
    if kind is str:
        return text(value)
    if value is None or kind in (bool, int):
        return value
    if depth == 0 or kind not in (list, dict):
        raise Lie
    if kind is list:
        return [plain(item, text, depth - 1) for item in value]
    try:
        ((tag, inner),) = value.items()
        if tag == "tuple" and type(inner) is list:
            return tuple(plain(inner, text, depth))
        if tag == "dict":
            return {text(name): plain(item, text, depth - 1) for name, item in inner}
        if tag == "int" and len(inner) <= DIGITS:
            return int(inner, 16)
        return float(inner) if tag == "float" else bytes.fromhex({"bytes": inner}[tag])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Lie from None
