"""What of the caller's own goes with one function into one kind of guest: which modules by name, with which files."""

from __future__ import annotations

import sys
from typing import NamedTuple

from .._errors import ValueRefused
from .budget import TooMuch
from .modules import GUEST, MISSING, OWN, VALUE
from .names import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from .._guest import Guest
    from .closure import Lack, Modules
    from .modules import Found
    from .tree import Tree

# Trees of this process, by the modules that they were packed for; those that were not used for longest go first.
_trees: dict[frozenset[str], Tree] = {}
MOST_TREES = 32


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
        self._load: tuple[frozenset[str], frozenset[str], Load] | None = None
        # A package that was installed and whose functions are decorated is the caller's own, too.
        top = (home or "").partition(".")[0]
        installed = home is not None and home in sys.modules and guest.find(home).kind == MISSING
        self.mine = top if installed and not has_compiled_parts(top) else ""

    def modules(self) -> Modules:
        """For a look at modules that need not be loaded."""
        from .closure import Modules

        return Modules(self.guest, self.mine)

    def kind(self, name: str) -> str:
        """How objects of a module go: by its name (GUEST, or OWN with its source), by VALUE, or in no way (MISSING)."""
        found = self.guest.find(name, self.mine)
        known = self._kinds.get(name)
        if known is not None and known[0] == found:
            kind = known[1]
        else:
            kind = found.kind
            if kind == OWN and self.lack(name) is not None:
                # To import it must fail there, so that nothing could be found in it by name.
                kind = VALUE
            self._kinds[name] = found, kind
        return VALUE if name == self.home and kind != GUEST and not self.home_by_name else kind

    def lack(self, name: str) -> Lack | None:
        """Why the guest could not import an own module."""
        modules = self.modules()
        return modules.fails(name) if modules.closure([name]).lacking else None

    def has(self, name: str | None) -> bool:
        """Whether the guest finds what a module has by its name. An own one goes along from now on."""
        kind = VALUE if name is None else self.kind(name)
        if kind == OWN and name is not None:
            self.needed[name] = None
        return kind in (GUEST, OWN)

    def can_go_by_name(self, error: ValueRefused | None = None) -> bool:
        """Whether the function's own module could be imported in the guest, and that would help against a refusal."""
        home = self.home
        if home is None or self.home_by_name or sys.modules.get(home) is None:
            return False
        if isinstance(error, (Lacking, TooMuch)):
            return False
        return self.guest.find(home, self.mine).kind == OWN and self.lack(home) is None

    def go_by_name(self) -> Again:
        """From now on the function's own module is imported in the guest."""
        self.home_by_name = True
        self.needed.clear()
        self.later.clear()
        return Again()

    def note(self, code: CodeType, module: str | None) -> None:
        """What a function that goes by value imports when it runs."""
        modules = None
        for what in named(code).imports:
            top = what.name.partition(".")[0]
            if not what.level and top in sys.modules and self.guest.find(top, self.mine).kind == GUEST:
                continue
            modules = modules or self.modules()
            home = modules.get(module) if module is not None else None
            for found in modules.imported(module or "", home is not None and home.is_package, what):
                if found.kind == OWN:
                    self.later[found.name] = None

    def refuse(self, what: str, name: str) -> ValueRefused:
        """Why something of a module can go neither by name nor by value."""
        found = self.guest.find(name, self.mine)
        if found.kind == MISSING:
            return missing(what, found)
        lack = self.lack(name) if found.kind == OWN else None
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
        known = self._load
        if known is not None and known[0] == names and known[2].tree.is_fresh(sys.modules):
            return known[2] if known[1] == roots else known[2]._replace(roots=roots)
        modules = self.modules()
        closure = modules.closure(names)
        if self.home in closure.own and not self.home_by_name and self.can_go_by_name():
            raise self.go_by_name()
        load = Load(tree_of(closure.own, modules), roots)
        self._load = names, roots, load
        return load

    def is_fresh(self) -> bool:
        """Whether nothing of what goes along was loaded anew since."""
        return self._load is None or self._load[2].tree.is_fresh(sys.modules)


def tree_of(own: dict[str, Found], modules: Modules) -> Tree:
    """The tree of these modules, packed once as long as they stay as they are."""
    key = frozenset(own)
    tree = _trees.pop(key, None)
    if tree is None or not tree.is_fresh(sys.modules):
        from .tree import Tree, pack

        files = pack(own, modules)
        tree = Tree(files, {name: sys.modules[name] for name in own if sys.modules.get(name) is not None})
    _trees[key] = tree
    if len(_trees) > MOST_TREES:
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
            file = getattr(part, "__file__", None)
            if file is not None and file.endswith(".so"):
                return True
    return False
