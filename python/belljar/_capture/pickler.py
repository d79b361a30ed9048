"""Functions, classes and objects as a pickle for one guest: by name what it can import, by value all other Python."""

from __future__ import annotations

import functools
import io
import os
import re
import sys
import typing
from functools import cached_property, reduce
from types import FunctionType, ModuleType

import cloudpickle
from cloudpickle import cloudpickle as inner

from .._errors import ValueRefused
from .._guest import HOST_VERSION, plain_of
from . import asserts
from .budget import Sink, TooMuch
from .modules import MISSING
from .names import named, nested
from .plain import HOME, found, is_found, public, submodules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pickle import PickleBuffer
    from typing import Any

    from .._guest import Guest
    from .own import Own

# Annotations stay text, whatever its module says.
REBUILD = "(exec(compile(source, file, 'exec', 0x1000000), scope), scope[name])[1]"


class Inside:
    """A name of the guest's own side of this package."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> None:
        """A pickle's constructors must look as if they could be called."""

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (sys.modules["belljar"], self.name)


class Scope:
    """The globals of a function: those of a module that the guest imports, or one dict for all functions that have the
    same here, in whichever pickle they are."""

    def __init__(self, scope: dict[str, Any], module: str | None) -> None:
        self.scope, self.module = scope, module

    def __reduce__(self) -> tuple[Any, ...]:
        if self.module is not None:
            return vars, (sys.modules[self.module],)
        return Inside("_scope"), (id(self.scope), {name: self.scope[name] for name in HOME if name in self.scope})


class GuestPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle, with other rules about what goes by name and what of a function goes by value."""

    def __init__(self, sink: Sink, own: Own, buffers: list[PickleBuffer]) -> None:
        super().__init__(sink, protocol=5, buffer_callback=self._apart)
        self._sink, self._own, self._buffers = sink, own, buffers
        self._scopes: dict[int, Scope] = {}

    def _apart(self, buffer: PickleBuffer) -> None:
        self._sink.check(buffer.raw().nbytes)
        self._buffers.append(buffer)

    def reducer_override(self, obj: Any) -> Any:
        self._sink.check()
        kind = type(obj)
        if kind is FunctionType:
            return self._function(obj)
        if isinstance(obj, type):
            return self._class(obj)
        if isinstance(obj, ModuleType):
            return self._module(obj)
        if kind is cached_property:
            # It has a lock of its own before 3.12.
            return cached_property, (obj.func,), {"attrname": obj.attrname}
        if isinstance(obj, io.IOBase) and not isinstance(obj, (io.BytesIO, io.StringIO)):
            raise ValueRefused(f"an open file ({obj!r})", "send its content, or show the folder with mount=")
        if isinstance(obj, os._Environ):
            raise ValueRefused(
                "os.environ, all variables of this process", 'name those that the guest may have: env=["LANG"]'
            )
        if kind in self.dispatch_table and kind is not typing.TypeVar:
            return NotImplemented
        reduced = obj.__reduce_ex__(5)
        return self._named(obj, reduced) if isinstance(reduced, str) else reduced

    def _named(self, obj: Any, name: str) -> Any:
        """What pickle knows only by its name in a module: type variables, functions with a cache, single objects."""
        kind = type(obj)
        module = inner._whichmodule(obj, name)
        if self._by_name(module, f"{kind.__name__} {name}") and found(module, name) is obj:
            return name
        if kind is typing.TypeVar:
            return inner._make_typevar, inner._decompose_typevar(obj)
        if kind is functools._lru_cache_wrapper:
            size, typed = obj.cache_parameters().values()
            given = obj.__wrapped__, size, typed, functools._CacheInfo
            return functools._lru_cache_wrapper, given, {"__wrapped__": obj.__wrapped__}
        if module == "builtins" or module is None:
            return name
        raise ValueRefused(f"{kind.__name__} {name} can go only by its name, with its module")

    def _function(self, obj: FunctionType) -> Any:
        plain = plain_of(obj)
        if type(plain) is not FunctionType:
            # A callable of another kind was decorated.
            return reduce, (getattr, [], plain)
        if of_this_package(plain):
            return self._public(plain)
        module = plain.__module__
        by_name = self._by_name(module, f"function {plain.__qualname__}")
        if by_name and is_found(plain):
            # What is decorated here is the plain function there.
            parts = plain.__qualname__.split(".")
            is_itself = found(module, plain.__qualname__) is obj
            return NotImplemented if is_itself else (reduce, (getattr, parts, sys.modules[module]))
        if not self._own.guest.same_version:
            return self._source(plain)
        return self._by_value(plain, by_name)

    def _class(self, obj: type) -> Any:
        if of_this_package(obj):
            return self._public(obj)
        by_name = self._by_name(obj.__module__, f"class {obj.__qualname__}")
        if (by_name and importable(obj)) or obj.__module__ == "builtins":
            return super().reducer_override(obj)
        if not self._own.guest.same_version:
            raise other_version(f"class {obj.__module__}.{obj.__qualname__}", self._own.guest, "by value")
        reduced = inner._dynamic_class_reduce(obj) if importable(obj) else super().reducer_override(obj)
        if type(reduced) is not tuple or reduced[0] not in (inner._make_skeleton_class, inner._make_skeleton_enum):
            return reduced
        make, given, *state = reduced
        if make is inner._make_skeleton_class:
            # Without it, classes in classes and in functions would all be called as if they were in neither.
            given = (*given[:3], {**given[3], "__qualname__": obj.__qualname__}, *given[4:])
        # One that is in several pickles is made once.
        return Inside("_once"), (make, *given), *state

    def _public(self, obj: Any) -> Any:
        """Of this package a guest has only what it may use, below its public name."""
        name = public(obj)
        if name is None:
            raise ValueRefused(f"belljar.{obj.__qualname__} does not exist inside a jar", "call it outside")
        return reduce, (getattr, [name], sys.modules["belljar"])

    def _module(self, obj: ModuleType) -> Any:
        name = obj.__name__
        if sys.modules.get(name) is obj and self._own.has(name):
            return inner.subimport, (name,)
        raise self._own.refuse(f"the module {name!r}", name)

    def _by_name(self, module: str | None, what: str) -> bool:
        """Whether the guest can import what this is of; refuses what it can have in no way."""
        if module is None:
            return False
        if self._own.kind(module) == MISSING:
            raise self._own.refuse(what, module)
        return self._own.has(module)

    def _by_value(self, function: FunctionType, by_name: bool) -> Any:
        """Code, defaults, closure, and the globals that the code names; no annotations, and of its attributes only
        those that it names itself."""
        code = asserts.plain(function.__code__)
        scope, module = function.__globals__, function.__module__
        closure, in_module = function.__closure__, by_name and vars(sys.modules[module]) is scope
        state: dict[str, Any] = {
            "__name__": function.__name__,
            "__qualname__": function.__qualname__,
            "__annotations__": {},
            "__kwdefaults__": function.__kwdefaults__,
            "__defaults__": function.__defaults__,
            "__module__": module,
            "__doc__": function.__doc__,
            "__closure__": closure,
            "__globals__": {},
            "_cloudpickle_submodules": [],
        }
        reads = named(code).reads
        if not in_module:
            self._own.note(function)
            used = {name: scope[name] for name in reads if name in scope}
            values = [*used.values(), *(inner._get_cell_contents(cell) for cell in closure or ())]
            state["__globals__"] = used
            state["_cloudpickle_submodules"] = [sys.modules[name] for name in submodules(code, values, self._own)]
        base = self._scopes.setdefault(id(scope), Scope(scope, module if in_module else None))
        attributes = {}
        if function.__dict__ and function.__name__ in reads:
            words = {word for one in nested(code) for word in one.co_names}
            attributes = {name: value for name, value in function.__dict__.items() if name in words}
        empty = None if closure is None else tuple(inner._make_empty_cell() for _ in closure)
        given = code, base, None, None, empty
        return inner._make_function, given, (attributes, state), None, None, inner._function_setstate

    def _source(self, function: FunctionType) -> Any:
        """A function for another minor version of Python, where its code object would mean something else."""
        import inspect
        import textwrap

        name, guest = function.__name__, self._own.guest
        if name == "<lambda>" or function.__closure__:
            raise other_version(f"{function.__qualname__}", guest, "with what it encloses")
        try:
            source = textwrap.dedent(inspect.getsource(function))
            start = re.search(rf"^(?:async[ \t]+)?def[ \t]+{re.escape(name)}\b", source, re.M)
            source = source[start.start() if start is not None else len(source) :]
            # Defaults are made where the function is.
            outer = named(compile(source, "", "exec", 0x1000000, True)).reads
        except (OSError, TypeError, SyntaxError, ValueError):
            raise other_version(function.__qualname__, guest, "without its source") from None
        self._own.note(function)
        wanted = (*named(asserts.plain(function.__code__)).reads, *outer)
        scope = {key: function.__globals__[key] for key in wanted if key in function.__globals__ and key != name}
        place = {"source": source, "file": function.__code__.co_filename, "scope": scope, "name": name}
        return eval, (REBUILD, place)


def of_this_package(obj: Any) -> bool:
    return str(obj.__module__).partition(".")[0] == "belljar"


def importable(obj: Any) -> bool:
    """Whether an object is what its module has below its name."""
    return inner._lookup_module_and_qualname(obj) is not None


def other_version(what: str, guest: Guest, how: str) -> ValueRefused:
    here, there = (f"{major}.{minor}" for major, minor in (HOST_VERSION, guest.version))
    return ValueRefused(
        f"{what} cannot be sent {how} from Python {here} to Python {there}",
        f"use a guest of Python {here}, or put it into a module that can be imported",
    )


def dumps(obj: Any, own: Own, sink: Sink | None = None) -> tuple[bytes, list[PickleBuffer]]:
    """The pickle of an object for a guest, and its large buffers."""
    buffers: list[PickleBuffer] = []
    sink = sink or Sink()
    try:
        GuestPickler(sink, own, buffers).dump(obj)
    except ValueRefused:
        raise
    except RecursionError as error:
        raise ValueRefused("it is nested too deeply to be sent", "send less at once") from error
    except Exception as error:
        # A budget that ran out inside of C code comes as the cause of something else.
        if isinstance(error.__context__, TooMuch):
            raise error.__context__ from None
        raise ValueRefused(f"{type(error).__name__}: {error}", None) from error
    return sink.value(), buffers
