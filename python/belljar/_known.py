"""Which classes of the user's own a guest may raise: no class but those is ever made of what a guest says."""

from __future__ import annotations

import sys
from functools import partial
from types import FunctionType, MethodType

from ._capture.modules import is_own, names_in
from ._own import NAME, SCOPE, Lie, Unfit, is_class, key, make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Known:
    """The classes that a function may raise at the host: its own and its module's, and those that `raises=` names."""

    def __init__(self, function: Any, raises: Sequence[type[Exception]]) -> None:
        self._function, self._raises = function, raises
        # An application that is installed is the caller's own, too.
        self._mine = str(getattr(function, "__module__", None)).partition(".")[0]
        # What the function can name, found when it is first needed: classes by module and name, and modules.
        self._own: dict[tuple[str, str], Any] = {}
        self._modules: list[str] = []
        self._looked = False

    def make(self, link: dict[str, Any]) -> Exception | None:
        """An instance of the nearest class that may be made, or None."""
        for module, name in link["classes"]:
            cls = self._find(module, name)
            if cls is not None:
                try:
                    return make(cls, link)
                except Unfit:
                    continue
                except Lie:
                    return None
        return None

    def _find(self, module: str, name: str) -> Any:
        for cls in self._raises:
            if key(cls) == (module, name):
                return cls
        if not self._looked:
            self._looked = True
            self._look()
        if any(f"{module}.".startswith(f"{each}.") for each in self._modules):
            self._take(sys.modules.get(module))
        # In the guest, a class that went by value is called as if it were in no other class and in no function.
        alike = [cls for (home, _), cls in self._own.items() if home == module and NAME(cls) == name]
        return self._own.get((module, name), alike[0] if len(alike) == 1 else None)

    def _look(self) -> None:
        for value in named(self._function):
            if is_class(value):
                if is_own(sys.modules.get(key(value)[0]), self._mine):
                    self._add(value)
            elif is_own(value, self._mine):
                self._modules.append(names_in(value)["__name__"])

    def _take(self, module: Any) -> None:
        """The classes that are defined in a module of the user's own."""
        if is_own(module, self._mine):
            names = names_in(module)
            for value in list(names.values()):
                if is_class(value) and key(value)[0] == names["__name__"]:
                    self._add(value)

    def _add(self, cls: Any) -> None:
        """A class, and those that are defined in it."""
        module, name = key(cls)
        if self._own.setdefault((module, name), cls) is cls:
            for inner in SCOPE(cls).values():
                if is_class(inner) and key(inner) == (module, f"{name}.{NAME(inner)}"):
                    self._add(inner)


def named(function: Any) -> list[Any]:
    """All that a function can name: what its closure and its module hold, and those of the functions that it wraps."""
    found: list[Any] = []
    todo, seen = [function], set()
    while todo:
        each: Any = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if type(each) in (MethodType, partial):
            todo.append(each.__func__ if type(each) is MethodType else each.func)
        elif type(each) is FunctionType:
            cells = [value for cell in each.__closure__ or () for value in contents(cell)]
            found += [*cells, *dict.values(each.__globals__)]
            wrapped = each.__dict__.get("__wrapped__")
            todo += [value for value in [*cells, wrapped] if type(value) in (FunctionType, MethodType, partial)]
        elif each is function:
            # A class, or an object that can be called.
            home: Any = sys.modules.get(key(each if is_class(each) else type(each))[0])
            found += dict.values(names_in(home)) if is_own(home) else ()
    return found


def contents(cell: Any) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()
