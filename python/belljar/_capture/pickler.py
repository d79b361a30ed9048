"""Functions, classes and objects as a pickle for one guest: by name what it can import, by value all other Python."""

from __future__ import annotations

import io
import os
import sys
import typing
from functools import cached_property, reduce
from types import FunctionType, ModuleType

import cloudpickle
from cloudpickle import cloudpickle as inner

from .._errors import ValueRefused
from .._guest import HOST_VERSION, PLAIN
from . import asserts
from .budget import Sink, TooMuch
from .modules import MISSING
from .names import named, nested
from .plain import found, is_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pickle import PickleBuffer
    from typing import Any

    from .._guest import Guest
    from .own import Own

# Kinds of type variables; not every version has all of them.
NAMED = tuple(
    getattr(typing, name) for name in ("TypeVar", "ParamSpec", "TypeVarTuple", "NewType") if hasattr(typing, name)
)
GUEST_NAMES = ("sandbox", "keep", "Kept")
REBUILD = "(exec(compile(source, file, 'exec'), scope), scope[name])[1]"
# What imports inside a function need to know.
HOME = ("__package__", "__name__", "__path__", "__file__")


class Scope:
    """The globals of a module that the guest imports: a function that has no name there still lives in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return vars, (sys.modules[self.name],)


class GuestPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle, with other rules about what goes by name and what of a function goes by value."""

    def __init__(self, sink: Sink, own: Own, buffers: list[PickleBuffer]) -> None:
        super().__init__(sink, protocol=5, buffer_callback=self._apart)
        self._sink, self._own, self._buffers = sink, own, buffers

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
        if kind.__module__ == "typing" and isinstance(obj, NAMED):
            return self._type_variable(obj)
        if kind is cached_property:
            # It has a lock of its own before 3.12.
            return cached_property, (obj.func,), {"attrname": obj.attrname}
        if isinstance(obj, io.IOBase) and not isinstance(obj, (io.BytesIO, io.StringIO)):
            raise ValueRefused(f"an open file ({obj!r})", "send what is in it, or name the folder with mount=")
        if isinstance(obj, os._Environ):
            raise ValueRefused(
                "os.environ, all variables of this process", 'name those that the guest may have: env=["LANG"]'
            )
        return super().reducer_override(obj)

    def _function(self, obj: FunctionType) -> Any:
        refuse_own(obj)
        plain = obj.__dict__.get(PLAIN, obj)
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
        refuse_own(obj)
        if self._by_name(obj.__module__, f"class {obj.__qualname__}") and importable(obj):
            return super().reducer_override(obj)
        if obj.__module__ == "builtins":
            return super().reducer_override(obj)
        if not self._own.guest.same_version:
            raise other_version(f"class {obj.__module__}.{obj.__qualname__}", self._own.guest, "by value")
        reduced = inner._dynamic_class_reduce(obj) if importable(obj) else super().reducer_override(obj)
        if type(reduced) is tuple and reduced[0] is inner._make_skeleton_class:
            # Without it, classes in classes and in functions would all be called as if they were in neither.
            make, (kind, name, bases, scope, *rest), *state = reduced
            return make, (kind, name, bases, {**scope, "__qualname__": obj.__qualname__}, *rest), *state
        return reduced

    def _module(self, obj: ModuleType) -> Any:
        name = obj.__name__
        if sys.modules.get(name) is obj and self._own.has(name):
            return super().reducer_override(obj)
        raise self._own.refuse(f"the module {name!r}", name)

    def _type_variable(self, obj: Any) -> Any:
        """What pickle knows only by its name in a module."""
        if self._by_name(obj.__module__, f"{type(obj).__name__} {obj.__name__}"):
            return super().reducer_override(obj)
        if isinstance(obj, typing.TypeVar):
            return inner._make_typevar, inner._decompose_typevar(obj)
        raise ValueRefused(f"{type(obj).__name__} {obj.__name__} can go only by its name, with its module")

    def _by_name(self, module: str | None, what: str) -> bool:
        """Whether the guest can import what this is of; refuses what it can have in no way."""
        if module is None:
            return False
        if self._own.kind(module) == MISSING:
            raise self._own.refuse(what, module)
        return self._own.has(module)

    def _by_value(self, function: FunctionType, in_module: bool) -> Any:
        """Code, defaults, closure, and the globals that the code names; no annotations, and of its attributes only
        those that it names itself."""
        code = asserts.plain(function.__code__)
        scope, module = function.__globals__, function.__module__
        in_module = in_module and vars(sys.modules[module]) is scope
        closure = function.__closure__
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
        base: Any = Scope(module)
        if not in_module:
            self._own.note(code, module)
            base = self.globals_ref.setdefault(id(scope), {})
            if not base:
                base.update({name: scope[name] for name in HOME if name in scope})
            used = {name: scope[name] for name in named(code).reads if name in scope}
            values = [*used.values(), *(inner._get_cell_contents(cell) for cell in closure or ())]
            state["__globals__"] = used
            reached = inner._find_imported_submodules(code, values)
            state["_cloudpickle_submodules"] = [part for part in reached if self._own.has(part.__name__)]
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
        except (OSError, TypeError):
            raise other_version(function.__qualname__, guest, "without its source") from None
        start = source.find("def ")
        source = ("async " if source[:start].rstrip().endswith("async") else "") + source[start:]
        code = asserts.plain(function.__code__)
        self._own.note(code, function.__module__)
        wanted = named(code).reads
        scope = {key: function.__globals__[key] for key in wanted if key in function.__globals__ and key != name}
        place = {"source": source, "file": code.co_filename, "scope": scope, "name": name}
        return eval, (REBUILD, place)


def own_package(obj: Any) -> bool:
    """Whether it is part of this package."""
    return (obj.__module__ or "").partition(".")[0] == "belljar"


def refuse_own(obj: Any) -> None:
    """Of this package a guest has only what it may use."""
    if own_package(obj) and obj.__qualname__ not in GUEST_NAMES:
        raise ValueRefused(f"belljar.{obj.__qualname__} is not there inside a jar", "call it outside")


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
