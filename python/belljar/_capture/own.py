"""What of the caller's own goes with one function into one kind of guest: which modules by name, with which files."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import NamedTuple

from .._errors import ValueRefused
from .budget import TooMuch
from .modules import GUEST, MISSING, OWN, VALUE, names_in
from .names import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType

    from .._guest import Guest
    from .closure import Modules
    from .modules import Found
    from .tree import Tree

# Trees of this process, by the modules that they were packed for; those that were not used for longest go first.
_trees: dict[frozenset[str], Tree] = {}
_lock = threading.Lock()
MOST_TREES, MOST_KEPT = 32, 128 << 20


class Again(Exception):
    """The function's own module goes by its name after all: everything is to be put together once more."""


class Lacking(ValueRefused):
    """The guest lacks a package, and there is no other way to send what is of it."""


class Load(NamedTuple):
    """Source files, and the modules of them that a call needs at once."""

    tree: Tree
    roots: frozenset[str]


class Own:
    """Decides for each module once, and notes which of the caller's own are needed."""

    def __init__(self, guest: Guest, home: str | None) -> None:
        self.guest = guest
        #: The module of the function. It goes by value, as it is at the call, unless another one imports it.
        self.home = home
        self.home_by_name = False
        #: Own modules that are imported to open what is sent, and those that are imported later, if at all.
        self.needed: dict[str, None] = {}
        self.later: dict[str, None] = {}
        self._kinds: dict[str, tuple[Found, str]] = {}
        self._modules: Modules | None = None
        self._load: tuple[frozenset[str], Load] | None = None
        # A package that was installed and whose functions are decorated is the caller's own, too.
        top = (home or "").partition(".")[0]
        installed = home is not None and home in sys.modules and guest.find(home).kind == MISSING
        self.mine = top if installed and not has_compiled_parts(top) else ""

    def modules(self) -> Modules:
        """For a look at modules that need not be loaded. One for all, until what goes along is put together."""
        if self._modules is None:
            from .closure import Modules

            self._modules = Modules(self.guest, self.mine)
        return self._modules

    def kind(self, name: str) -> str:
        """How objects of a module go: by its name (GUEST, or OWN with its source), by VALUE, or in no way (MISSING)."""
        found = self.guest.find(name, self.mine)
        known = self._kinds.get(name)
        if known is not None and known[0] == found:
            kind = known[1]
        else:
            kind = found.kind
            if kind == OWN and self.modules().lack(name) is not None:
                # To import it must fail there, so that nothing could be found in it by name.
                kind = VALUE
            self._kinds[name] = found, kind
        return VALUE if name == self.home and kind != GUEST and not self.home_by_name else kind

    def has(self, name: str | None) -> bool:
        """Whether the guest finds what a module has by its name. An own one goes along from now on."""
        kind = VALUE if name is None else self.kind(name)
        if kind == OWN and name is not None:
            self.needed[name] = None
        return kind in (GUEST, OWN)

    def can_go_by_name(self, error: ValueRefused | None = None) -> bool:
        """Whether the function's own module could be imported in the guest, and that would help against a refusal."""
        home = self.home
        if home is None or self.home_by_name or not isinstance(sys.modules.get(home), ModuleType):
            return False
        if isinstance(error, (Lacking, TooMuch)):
            return False
        return self.guest.find(home, self.mine).kind == OWN and self.modules().lack(home) is None

    def go_by_name(self) -> Again:
        """From now on the function's own module is imported in the guest."""
        self.home_by_name = True
        self.needed.clear()
        self.later.clear()
        return Again()

    def note(self, function: FunctionType) -> None:
        """What a function that goes by value imports when it runs."""
        for what in named(function.__code__).imports:
            top = what.name.partition(".")[0]
            if not what.level and top in sys.modules and self.guest.find(top, self.mine).kind == GUEST:
                continue
            for found in self.modules().imported(package_of(function), what):
                if found.kind == OWN:
                    self.later[found.name] = None

    def refuse(self, what: str, name: str) -> ValueRefused:
        """Why something of a module can go neither by name nor by value."""
        found = self.guest.find(name, self.mine)
        if found.kind == MISSING:
            return missing(what, found)
        lack = self.modules().lack(name) if found.kind == OWN else None
        if lack is not None:
            line = f"line {lack.line} of {lack.module} imports {lack.lacks.name}, and that"
            fault = missing(f"{what} cannot be imported there: {line}", lack.lacks)
            return Lacking(fault.message, f"{fault.hint}; or import it inside the function that needs it")
        return ValueRefused(
            f"{what} exists in this process alone", "put it into a file that can be imported, or pass what it holds"
        )

    def load(self) -> Load | None:
        """What goes along, as far as it is known by now. Raises Again where that changes how the function goes."""
        if not self.needed and not self.later:
            return None
        roots, names = frozenset(self.needed), frozenset((*self.needed, *self.later))
        if self._load is not None and self._load[0] == names and self._load[1].tree.is_fresh():
            load = self._load[1]
            if load.roots != roots:
                load = load._replace(roots=roots)
                self._load = names, load
            return load
        modules, self._modules = self.modules(), None
        closure = modules.closure(names)
        if self.home in closure.own and not self.home_by_name and self.can_go_by_name():
            raise self.go_by_name()
        load = Load(tree_of(closure.own, modules), roots)
        self._load = names, load
        return load

    def is_fresh(self) -> bool:
        """Whether nothing of what goes along was loaded anew since."""
        return self._load is None or self._load[1].tree.is_fresh()


def package_of(function: FunctionType) -> str:
    """Where the relative imports of a function begin; a program that was started as a module knows its package."""
    package = function.__globals__.get("__package__")
    if isinstance(package, str) and package:
        return package
    return str(function.__module__).rpartition(".")[0]


def tree_of(own: dict[str, Found], modules: Modules) -> Tree:
    """The tree of these modules, packed once as long as they stay as they are."""
    key = frozenset(own)
    with _lock:
        tree = _trees.pop(key, None)
    if tree is None or not tree.is_fresh():
        from .tree import Tree, pack

        tree = Tree(pack(own, modules), own)
    with _lock:
        _trees[key] = tree
        while len(_trees) > MOST_TREES or (len(_trees) > 1 and sum(one.size for one in _trees.values()) > MOST_KEPT):
            del _trees[next(iter(_trees))]
    return tree


def missing(what: str, found: Found) -> ValueRefused:
    """The refusal for what is of an installed package that the guest lacks."""
    from .distributions import holds

    held = holds(found.path, found.name) if found.path is not None else None
    top = found.name.partition(".")[0]
    told, pin = (f"{held.name} {held.version}", held.pin) if held is not None else (top, top)
    if sys.prefix != sys.base_prefix:
        other = f"venv={sys.prefix!r}"
    else:
        other = "site_packages=True"
    return Lacking(
        f"{what} is of {told}, which the guest does not have",
        f'give it dependencies=["{pin}"], or show it all packages that you have here with {other}',
    )


def has_compiled_parts(top: str) -> bool:
    """Whether a package has modules that are no Python: these would have to find their libraries, too."""
    # A copy: other threads import meanwhile, and a list of the items is not made in one step.
    for name, part in sys.modules.copy().items():
        if name == top or name.startswith(top + "."):
            file = names_in(part).get("__file__") if isinstance(part, ModuleType) else None
            if isinstance(file, str) and file.endswith(".so"):
                return True
    return False
