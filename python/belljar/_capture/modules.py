"""Whose a module is: the guest's too, the caller's own, or an installed package's that the guest lacks."""

from __future__ import annotations

import os
import sys
from _imp import extension_suffixes
from types import ModuleType
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: The guest can import it; it is the caller's own; it exists in this process alone, so that functions and classes of it
#: go by value; it is installed here, and the guest lacks it.
GUEST, OWN, VALUE, MISSING = "guest", "own", "value", "missing"
# Their own side of these is in every jar.
ALWAYS = frozenset(("belljar", "cloudpickle", "builtins"))
MAIN = ("__main__", "__mp_main__")
STDLIB = os.path.realpath(os.path.dirname(os.__file__))
INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
SUFFIXES = (".py", ".pyc", *extension_suffixes())


class Found(NamedTuple):
    """A module, loaded or not, and where it comes from."""

    name: str
    kind: str
    spec: Any
    #: Its file, as the import system names it; the archive of one in an archive; none of a namespace package.
    path: str | None

    @property
    def is_package(self) -> bool:
        return self.spec is not None and self.spec.submodule_search_locations is not None

    @property
    def is_namespace(self) -> bool:
        return self.is_package and self.path is None

    @property
    def package(self) -> str:
        """Where its relative imports begin."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def folders(self) -> list[str]:
        """Where its submodules are looked for."""
        return list(self.spec.submodule_search_locations) if self.is_package else []

    @property
    def archive(self) -> str | None:
        """The zip file that it is in."""
        archive = getattr(self.spec.loader, "archive", None) if self.spec is not None else None
        return archive if isinstance(archive, str) else None


# As it is written in the module: one that makes its attributes up, or loads at the first look, is not asked.
names_in: Any = vars(ModuleType)["__dict__"].__get__


def spec_of(module: ModuleType) -> Any:
    return names_in(module).get("__spec__")


def is_own(module: object, mine: str = "") -> bool:
    """Whether a module is the caller's own: neither of the standard library nor installed, unless it is of the package
    `mine`."""
    if not issubclass(type(module), ModuleType):
        return False
    name = names_in(module).get("__name__")
    if type(name) is not str:
        return False
    kind = classify(name, module, spec_of(module), (), frozenset()).kind  # type: ignore[arg-type]
    return kind == OWN or name in MAIN or (kind == MISSING and name.partition(".")[0] == mine)


def classify(name: str, module: ModuleType | None, spec: Any, folders: Iterable[str], names: frozenset[str]) -> Found:
    """The first rule that fits. `folders` and `names` are the guest's packages, by their place and by their name."""
    if name.partition(".")[0] in ALWAYS:
        return Found(name, GUEST, spec, None)
    if name in MAIN:
        return Found(name, VALUE, spec, None)
    loader = getattr(spec, "loader", None)
    if getattr(loader, "__name__", "") in ("BuiltinImporter", "FrozenImporter"):
        return Found(name, GUEST, spec, None)
    archive = getattr(loader, "archive", None)
    if isinstance(archive, str):
        return Found(name, GUEST if in_stdlib(archive) else OWN, spec, archive)
    path = file_of(module, spec)
    if path is None:
        places = list(getattr(spec, "submodule_search_locations", None) or ())
        if not places:
            return Found(name, VALUE, spec, None)
        return Found(name, of_namespace(name, places, folders, names), spec, None)
    return Found(name, of_file(name, path, folders, names), spec, path)


def file_of(module: ModuleType | None, spec: Any) -> str | None:
    """The file of a module. What it says of itself counts only where its spec says nothing."""
    for path in (getattr(spec, "origin", None), names_in(module).get("__file__") if module is not None else None):
        if isinstance(path, str) and os.path.isabs(path) and path.endswith(SUFFIXES):
            return path
    return None


def of_namespace(name: str, places: list[str], folders: Iterable[str], names: frozenset[str]) -> str:
    if any(below(real_path(place), folders) for place in places):
        return GUEST
    if not all(is_installed(place + os.sep) for place in places):
        return OWN
    return GUEST if there(name, folders, names) else MISSING


def of_file(name: str, path: str, folders: Iterable[str], names: frozenset[str]) -> str:
    real = real_path(path)
    if in_stdlib(real) or below(real, folders):
        return GUEST
    if is_installed(path) or is_installed(real):
        if there(name, folders, names):
            return GUEST
        # Somebody has linked a folder of their own into site-packages by hand.
        if not is_installed(real):
            from .distributions import holds

            return MISSING if holds(path, name) else OWN
        return MISSING
    return OWN if os.path.exists(path) else VALUE


def real_path(path: str) -> str:
    """Where a path leads; to itself where somebody changes it just now."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def in_stdlib(real: str) -> bool:
    """Not by name: somebody's own `statistics.py` is no part of it."""
    at = STDLIB + os.sep
    zipped = os.path.join(os.path.dirname(STDLIB), f"python{sys.version_info[0]}{sys.version_info[1]}.zip")
    return (real.startswith(at) and not is_installed(real)) or real == zipped


def is_installed(path: str) -> bool:
    return any(part in path for part in INSTALLED)


def below(real: str, folders: Iterable[str]) -> bool:
    return any(real.startswith(folder + os.sep) for folder in folders)


def there(name: str, folders: Iterable[str], names: frozenset[str]) -> bool:
    """Whether the guest has a package of this name. A namespace is shared by many: what is in it must be there too."""
    top, *rest = name.split(".")
    if top not in names:
        return False
    first = sys.modules.get(top)
    if not rest or first is None or file_of(first, spec_of(first)) is not None:
        return True
    places = [os.path.join(folder, top, rest[0]) for folder in folders]
    return any(os.path.exists(place + end) for place in places for end in ("", *SUFFIXES))


def find_spec(name: str, folders: list[str] | None) -> Any:
    """The spec of a module that is not loaded, below the folders of its package; nothing is imported for it."""
    from importlib.machinery import PathFinder

    try:
        found = PathFinder.find_spec(name, folders)
        if found is None and folders is None:
            # Editable installs that map names to folders have a finder of their own.
            for finder in sys.meta_path:
                if getattr(finder, "__module__", "").startswith("__editable__"):
                    found = found or finder.find_spec(name, None, None)
    except Exception:
        # A finder of somebody else's, or a path that is none.
        return None
    return found
