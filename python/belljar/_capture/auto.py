"""`dependencies="auto"`: the distributions that code needs and the guest lacks, at the versions that are here."""

from __future__ import annotations

import os
import re
import sys
from types import CodeType, FunctionType, ModuleType

from .._errors import DependencyError
from .distributions import holds, with_needs
from .imports import text_of
from .modules import MISSING, OWN, VALUE
from .names import named
from .own import Own, package_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._guest import Guest
    from .distributions import Distribution
    from .modules import Found


# As `run` takes it.
ALLOW_AWAIT = 0x2000


def of_function(function: Any, guest: Guest) -> list[str]:
    """Requirements for what a function names or imports, itself or by way of the caller's own modules."""
    own = Own(guest, getattr(function, "__module__", None))
    look = Look(own)
    look.follow(function)
    return pins(look.lacking())


def of_source(source: str | bytes, guest: Guest) -> list[str]:
    """Requirements for what a program imports. One that cannot be compiled needs nothing: it will say so itself."""
    text = source if isinstance(source, str) else text_of(source)
    # Where a chat has put its code between fences, only what stands there counts.
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S)
    for program in (source, "".join(blocks)):
        try:
            code = compile(program, "<auto>", "exec", ALLOW_AWAIT, True)
            break
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    else:
        return []
    look = Look(Own(guest, None))
    look.imports(code, "")
    return pins(look.lacking())


class Look:
    """Follows what functions name, as the pickler would, and collects modules."""

    def __init__(self, own: Own) -> None:
        self.own, self.modules = own, own.modules()
        self._own_modules: dict[str, None] = {}
        self._lacking: dict[str, Found] = {}
        self._seen: set[int] = set()

    def follow(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, ModuleType):
            self.add(self.modules.get(value.__name__))
        elif isinstance(value, (FunctionType, type)):
            kind = self.own.kind(value.__module__) if isinstance(value.__module__, str) else VALUE
            if kind != VALUE:
                self.add(self.modules.get(value.__module__))
            elif isinstance(value, FunctionType):
                self.function(value)
            else:
                for part in (*value.__bases__, *vars(value).copy().values()):
                    self.follow(getattr(part, "__func__", part))

    def function(self, function: FunctionType) -> None:
        self.imports(function.__code__, package_of(function))
        for name in named(function.__code__).reads:
            self.follow(function.__globals__.get(name))
        for cell in function.__closure__ or ():
            try:
                self.follow(cell.cell_contents)
            except ValueError:
                continue

    def imports(self, code: CodeType, package: str) -> None:
        for what in named(code).imports:
            for found in self.modules.imported(package, what):
                self.add(found)

    def add(self, found: Found | None) -> None:
        if found is not None and found.kind == MISSING:
            self._lacking[found.name] = found
        elif found is not None and found.kind == OWN:
            self._own_modules[found.name] = None

    def lacking(self) -> list[Found]:
        """What is missing for all of it; of the imports of own modules only those that have taken place here."""
        below = self.modules.closure(self._own_modules).lacking
        loaded = {name: found for name, found in below.items() if name in sys.modules}
        return list((loaded | self._lacking).values())


def pins(lacking: list[Found]) -> list[str]:
    """Exact requirements for these modules and all that their distributions need."""
    found: dict[str, Distribution] = {}
    for module in lacking:
        path = module.path or next(iter(module.folders), None)
        held = holds(path, module.name) if path is not None else None
        if held is not None:
            found[held.name] = held
    needs = sorted(with_needs(found.values()), key=lambda one: one.name.lower())
    for one in needs:
        if os.path.exists(os.path.join(one.info, "direct_url.json")):
            raise DependencyError(
                f'dependencies="auto": {one.name} {one.version} was installed from a folder or an address',
                f"list the dependencies, or show your own package with modules=[{one.name!r}]",
            )
    return [one.pin for one in needs]
