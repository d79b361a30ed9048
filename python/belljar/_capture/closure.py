"""The caller's own modules that others of them import, and whether an import must fail in the guest."""

from __future__ import annotations

import sys
from time import monotonic
from types import ModuleType
from typing import NamedTuple

from . import imports
from .archive import Archives
from .budget import SECONDS, TooMuch
from .modules import GUEST, MISSING, OWN, VALUE, Found, find_spec, names_in
from .read import Full, module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeVar

    from .._guest import Guest
    from .names import Import

    T = TypeVar("T")


class Lack(NamedTuple):
    """An import of an own module, at its top, of what the guest lacks."""

    module: str
    line: int
    lacks: Found


class Closure(NamedTuple):
    """Own modules, and packages that they import somewhere and the guest lacks."""

    own: dict[str, Found]
    lacking: dict[str, Found]


def absolute(package: str, what: Import) -> str | None:
    """The full name of what is imported somewhere in a package."""
    if not what.level:
        return what.name
    parts = package.split(".")
    keep = len(parts) - what.level + 1
    if keep < 1 or not package:
        return None
    return ".".join([*parts[:keep], what.name] if what.name else parts[:keep])


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
        self.archives = Archives()
        self._found: dict[str, Found | None] = {}
        self._imported: dict[str, list[Found]] = {}
        # Own modules whose imports, all the way, lack nothing.
        self._sound: set[str] = set()
        self._lacks: dict[str, Lack | None] = {}
        # Seconds that went into reading source.
        self._spent = 0.0

    def get(self, name: str) -> Found | None:
        """A module, whether it is loaded or not; None if nobody can import it here."""
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    def _look(self, name: str) -> Found | None:
        # A module may put something else into its place.
        if isinstance(sys.modules.get(name), ModuleType):
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
        """The source of an own module; nothing of one that has none, or more than is ever sent."""
        try:
            if found.archive is not None:
                return self.archives.source(found)
            if found.path is None or not found.path.endswith(".py"):
                return b""
            return module(found.path) or b""
        except Full:
            return b""

    def imported(self, package: str, what: Import) -> Iterator[Found]:
        """The modules that an import statement somewhere in a package imports."""
        name = absolute(package, what)
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
        there = sys.modules.get(name)
        loaded = names_in(there) if isinstance(there, ModuleType) else {}
        for part in what.parts:
            inner = f"{name}.{part}"
            # An attribute of a package that is loaded is no module, unless there is one of the same name.
            if inner in sys.modules or part not in loaded:
                below = self.get(inner)
                if below is not None:
                    yield below

    def _read(self, found: Found, reader: Callable[[bytes], Iterable[T]]) -> list[T]:
        """What a reader finds in the source of an own module. All readers together have a budget."""
        if self._spent > SECONDS:
            raise TooMuch(
                f"it takes longer than {SECONDS:g} s to read the source that {found.name!r} is imported with",
                "send less, or use modules=",
            )
        begun = monotonic()
        try:
            return list(reader(self.source(found)))
        finally:
            self._spent += monotonic() - begun

    def _imports(self, found: Found) -> list[Found]:
        """All that an own module imports somewhere."""
        if found.name not in self._imported:
            whats = self._read(found, imports.all_of)
            self._imported[found.name] = [one for what in whats for one in self.imported(found.package, what)]
        return self._imported[found.name]

    def closure(self, names: Iterable[str]) -> Closure:
        """Own modules that are imported, somewhere in them, for these; packages that they are in among them."""
        found = Closure({}, {})
        todo = [self.get(one) for name in names for one in with_parents(name)]
        while todo:
            one = todo.pop()
            if one is None or one.name in found.own:
                continue
            if one.kind == MISSING:
                found.lacking.setdefault(one.name, one)
            elif one.kind == OWN:
                found.own[one.name] = one
                todo.extend(self._imports(one))
        return found

    def lack(self, name: str) -> Lack | None:
        """Why the guest cannot import an own module: the first import at its top, or at the top of one that it imports,
        of what is missing there."""
        if name in self._sound:
            return None
        closure = self.closure([name])
        if not closure.lacking:
            # Nor is anything missing for those that it imports.
            self._sound.update(closure.own)
            return None
        return self._fails(name)

    def _fails(self, name: str) -> Lack | None:
        for one in with_parents(name):
            if one not in self._lacks:
                # One that is being looked at: circular imports are no failure of their own.
                self._lacks[one] = None
                self._lacks[one] = self._first_lack(one)
            if self._lacks[one] is not None:
                return self._lacks[one]
        return None

    def _first_lack(self, name: str) -> Lack | None:
        found = self.get(name)
        if found is None or found.kind != OWN:
            return None
        for line, what in self._read(found, imports.unconditional):
            for other in self.imported(found.package, what):
                if other.kind == MISSING:
                    return Lack(name, line, other)
                if other.kind == OWN:
                    inner = self._fails(other.name)
                    if inner is not None:
                        return inner
        return None
