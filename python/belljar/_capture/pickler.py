"""Functions, classes and modules by value: what the guest cannot import goes with the call."""

from __future__ import annotations

import io
from collections import deque
from types import FunctionType, ModuleType

import cloudpickle
from cloudpickle import cloudpickle as inner

from ._errors import ValueRefused
from ._guest import HOST_VERSION, PLAIN, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pickle import PickleBuffer
    from typing import Any

    from ._guest import Guest

GUEST_NAMES = ("sandbox", "keep", "Kept")
REBUILD = "(exec(compile(source, file, 'exec'), scope), scope[name])[1]"


class GuestPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle for one guest: by reference what it has, by value all else that is Python."""

    def __init__(self, file: io.BytesIO, guest: Guest, buffers: list[PickleBuffer], seen: set[int]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffers.append)
        self._guest = guest
        self._seen = seen

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is FunctionType:
            return self._function(obj)
        if kind is ModuleType:
            return self._module(obj)
        if isinstance(obj, io.IOBase) and not isinstance(obj, (io.BytesIO, io.StringIO)):
            raise ValueRefused(f"an open file ({obj!r})", "send what is in it, or name the folder with mount=")
        if isinstance(obj, type):
            refuse_own(obj)
        if isinstance(obj, type) and not self._guest.has(obj.__module__):
            self._refuse_compiled(obj.__module__, f"class {obj.__qualname__}")
            if not self._guest.same_version:
                raise other_version(f"class {obj.__module__}.{obj.__qualname__}", self._guest, "by value")
            return inner._dynamic_class_reduce(obj) if importable(obj) else super().reducer_override(obj)
        return super().reducer_override(obj)

    def _function(self, obj: FunctionType) -> Any:
        refuse_own(obj)
        plain = obj.__dict__.get(PLAIN, obj)
        if plain is obj and self._guest.has(obj.__module__) and importable(obj):
            return NotImplemented
        self._refuse_compiled(obj.__module__, f"function {obj.__qualname__}")
        if not self._guest.same_version:
            return self._source(plain)
        return self._dynamic_function_reduce(plain)

    def _module(self, obj: ModuleType) -> Any:
        if self._guest.has(obj.__name__):
            return super().reducer_override(obj)
        self._refuse_compiled(obj.__name__, f"module {obj.__name__}")
        self._seen.add(id(obj))
        state = {name: value for name, value in vars(obj).copy().items() if self._sendable(name, value)}
        return inner._builtin_type("ModuleType"), (obj.__name__, obj.__doc__), state

    def _sendable(self, name: str, value: Any) -> bool:
        """Whether a global of a module that goes by value can go with it; what cannot is missing there."""
        if name.startswith("__"):
            return False
        if id(value) in self._seen:
            return isinstance(value, ModuleType)
        try:
            GuestPickler(io.BytesIO(), self._guest, [], self._seen | {id(value)}).dump(value)
        except Exception:
            return False
        return True

    def _refuse_compiled(self, module: str | None, what: str) -> None:
        if module and not self._guest.has(module) and compiled(module):
            top = module.partition(".")[0]
            raise ValueRefused(
                f"{what} is of {top!r}, which the guest does not have and which cannot be sent: it is not all Python",
                f"name its package in dependencies=[…], or give the guest a virtualenv that has {top}: venv=…",
            )

    def _source(self, function: FunctionType) -> Any:
        """A function for another minor version of Python, where its code object would mean something else."""
        import inspect
        import textwrap

        name = function.__name__
        if name == "<lambda>" or function.__closure__:
            raise other_version(f"{function.__qualname__}", self._guest, "with what it encloses")
        try:
            source = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            raise other_version(function.__qualname__, self._guest, "without its source") from None
        start = source.find("def ")
        source = ("async " if source[:start].rstrip().endswith("async") else "") + source[start:]
        wanted = inner._extract_code_globals(function.__code__)
        scope = {key: function.__globals__[key] for key in wanted if key in function.__globals__ and key != name}
        place = {"source": source, "file": function.__code__.co_filename, "scope": scope, "name": name}
        return eval, (REBUILD, place)


def own(obj: Any) -> bool:
    """Whether it is part of this package."""
    return (obj.__module__ or "").partition(".")[0] == "belljar"


def refuse_own(obj: Any) -> None:
    """Of this package a guest has only what it may use."""
    if own(obj) and obj.__qualname__ not in GUEST_NAMES:
        raise ValueRefused(f"belljar.{obj.__qualname__} is not there inside a jar", "call it outside")


def importable(obj: Any) -> bool:
    """Whether an object is what its module has below its name."""
    return inner._lookup_module_and_qualname(obj) is not None


def other_version(what: str, guest: Guest, how: str) -> ValueRefused:
    here, there = (f"{major}.{minor}" for major, minor in (HOST_VERSION, guest.version))
    return ValueRefused(
        f"{what} cannot be sent {how} from Python {here} to Python {there}",
        f"use a guest of Python {here}, or show its module to the guest with modules=",
    )


def dumps(obj: Any, guest: Guest) -> tuple[bytes, list[PickleBuffer]]:
    """The pickle of an object for a guest, and its large buffers."""
    buffers: list[PickleBuffer] = []
    with io.BytesIO() as file:
        pickler = GuestPickler(file, guest, buffers, set())
        try:
            pickler.dump(obj)
        except ValueRefused:
            raise
        except RecursionError as error:
            raise ValueRefused("it is nested too deeply to be sent", "send less at once") from error
        except Exception as error:
            raise ValueRefused(f"{type(error).__name__}: {error}", None) from error
        return file.getvalue(), buffers


def named(what: str, obj: Any, guest: Guest, error: ValueRefused) -> ValueRefused:
    """The same refusal, with the path of what cannot be sent."""
    path, found = what, obj
    for _ in range(20):
        inside = first_bad(path, found, guest)
        if inside is None:
            break
        path, found, error = inside
    hint = error.hint or "send plain data, or make it inside the function"
    return ValueRefused(f"cannot send {path} ({type(found).__name__}): {error.message}", hint)


def goes_by_its_dict(kind: type) -> bool:
    """Whether its attributes are what is sent of an object, and their names lead to what cannot be."""
    own_way = (
        name
        for base in kind.__mro__[:-1]
        for name in ("__reduce_ex__", "__reduce__", "__getstate__")
        if name in base.__dict__
    )
    return "__dict__" in dir(kind) and kind not in (FunctionType, ModuleType, type) and not any(own_way)


def first_bad(path: str, obj: Any, guest: Guest) -> tuple[str, Any, ValueRefused] | None:
    if isinstance(obj, dict):
        items = [(f"{path}[{key!r}]", value) for key, value in obj.items()]
        items += [(f"{path}.key({key!r})", key) for key in obj]
    elif isinstance(obj, tuple) and hasattr(obj, "_fields"):
        items = [(f"{path}.{name}", value) for name, value in zip(obj._fields, obj, strict=False)]
    elif isinstance(obj, (list, tuple, deque)):
        items = [(f"{path}[{index}]", value) for index, value in enumerate(obj)]
    elif isinstance(obj, (set, frozenset)):
        items = [(f"{path}{{{value!r}}}", value) for value in obj]
    elif isinstance(obj, FunctionType) and not own(obj):
        scope = obj.__globals__
        used = inner._extract_code_globals(obj.__code__)
        items = [(f"{name!r}, a global of {obj.__qualname__}()", scope[name]) for name in used if name in scope]
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=False):
            items.append((f"{name!r}, a variable that {obj.__qualname__}() encloses", inner._get_cell_contents(cell)))
    elif goes_by_its_dict(type(obj)):
        items = [(f"{path}.{name}", value) for name, value in list(obj.__dict__.items())]
    else:
        return None
    for where, value in items:
        try:
            dumps(value, guest)
        except ValueRefused as error:
            return where, value, error
    return None
