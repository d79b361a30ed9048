"""The caller's own modules that others of them import, and whether an import must fail in the guest."""

from __future__ import annotations

import sys
from typing import NamedTuple

from . import imports
from .modules import GUEST, MISSING, OWN, VALUE, Found, find_spec
from .read import source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .._guest import Guest
    from .names import Import


class Lack(NamedTuple):
    """An import of an own module, at its top, of what the guest lacks."""

    module: str
    line: int
    lacks: Found


class Closure(NamedTuple):
    """Own modules, and packages that they import somewhere and the guest lacks."""

    own: dict[str, Found]
    lacking: dict[str, Found]


def absolute(home: str, is_package: bool, level: int, name: str) -> str | None:
    """The full name of what a module imports."""
    if not level:
        return name
    parts = home.split(".")
    keep = len(parts) - level + is_package
    if keep < 1:
        return None
    return ".".join([*parts[:keep], name] if name else parts[:keep])


def with_parents(name: str) -> Iterator[str]:
    """`a`, `a.b`, `a.b.c`: each is imported for the last."""
    at = name.find(".")
    while at != -1:
        yield name[:at]
        at = name.find(".", at + 1)
    yield name


class Modules:
    """Modules by their name, as one guest would find them; for the time of one look."""

    def __init__(self, guest: Guest, mine: str = "") -> None:
        self.guest, self.mine = guest, mine
        self._found: dict[str, Found | None] = {}
        self._sources: dict[str, bytes] = {}

    def get(self, name: str) -> Found | None:
        """A module, whether it is loaded or not; None if nobody can import it here."""
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    def _look(self, name: str) -> Found | None:
        if sys.modules.get(name) is not None:
            return self.guest.find(name, self.mine)
        above, _, own = name.rpartition(".")
        folders = None
        if above:
            parent = self.get(above)
            if parent is None or not parent.is_package:
                return None
            if parent.kind in (GUEST, MISSING):
                # What is in a package is as the package is.
                return parent._replace(name=name)
            folders = parent.folders
        if not own.isidentifier():
            return None
        spec = find_spec(name, folders)
        if spec is None:
            return None
        found = self.guest.classified(name, None, spec)
        is_mine = found.kind == MISSING and self.mine and name.partition(".")[0] == self.mine
        return found._replace(kind=OWN) if is_mine else found

    def source(self, found: Found) -> bytes:
        """The source of an own module; nothing of one that has none."""
        if found.name not in self._sources:
            self._sources[found.name] = source_of(found)
        return self._sources[found.name]

    def imported(self, home: str, is_package: bool, what: Import) -> Iterator[Found]:
        """The modules that an import statement imports."""
        name = absolute(home, is_package, what.level, what.name)
        if not name:
            return
        last = None
        for one in with_parents(name):
            last = self.get(one)
            if last is None:
                return
            yield last
        if last is None or not last.is_package or last.kind not in (OWN, VALUE):
            return
        loaded = vars(sys.modules[name]) if sys.modules.get(name) is not None else {}
        for part in what.parts:
            inner = f"{name}.{part}"
            # An attribute of a package that is loaded is no module, unless there is one of the same name.
            if inner in sys.modules or part not in loaded:
                below = self.get(inner)
                if below is not None:
                    yield below

    def closure(self, names: Iterable[str]) -> Closure:
        """Own modules that are imported, somewhere in them, for these; packages that they are in among them."""
        found = Closure({}, {})
        todo = [self.get(one) for name in names for one in with_parents(name)]
        while todo:
            module = todo.pop()
            if module is None or module.name in found.own:
                continue
            if module.kind == MISSING:
                found.lacking.setdefault(module.name, module)
            elif module.kind == OWN:
                found.own[module.name] = module
                for what in imports.all_of(self.source(module)):
                    todo.extend(self.imported(module.name, module.is_package, what))
        return found

    def fails(self, name: str, known: dict[str, Lack | None] | None = None) -> Lack | None:
        """Why the guest cannot import an own module: the first import at its top, or at the top of one that it imports,
        of what is missing there."""
        known = {} if known is None else known
        for one in with_parents(name):
            if one not in known:
                # One that is being looked at: circular imports are no failure of their own.
                known[one] = None
                known[one] = self._lack(one, known)
            if known[one] is not None:
                return known[one]
        return None

    def _lack(self, name: str, known: dict[str, Lack | None]) -> Lack | None:
        module = self.get(name)
        if module is None or module.kind != OWN:
            return None
        for line, what in imports.unconditional(self.source(module)):
            for other in self.imported(name, module.is_package, what):
                if other.kind == MISSING:
                    return Lack(name, line, other)
                if other.kind == OWN:
                    inner = self.fails(other.name, known)
                    if inner is not None:
                        return inner
        return None
