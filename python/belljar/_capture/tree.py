"""The caller's own source files, packed: a package whole, with its data, a module alone. Each file lies where its
dotted name says, wherever it is on the host."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import sys
from time import monotonic
from types import ModuleType

from .._errors import ValueRefused
from .budget import SECONDS, TooMuch
from .modules import SUFFIXES, Found, real_path, spec_of
from .read import MOST_BYTES, Full, content, module, opened, same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .closure import Modules

#: Most files of one tree, and most folders in each other.
MOST_FILES, DEPTH = 5_000, 64
# What makes a folder a project and not only a package: then it has more in it than its modules and their data.
PROJECT = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")
# A folder with one of these in it is somebody else's.
FOREIGN = ("pyvenv.cfg", ".git", ".hg", ".svn")
SKIPPED = ("__pycache__", "node_modules")
# Files that open doors, by their name and by what is in them.
KEYS = (
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "*.ppk", "*.gpg", "credentials", "credentials.*", "secrets.json", "secrets.toml", "secrets.y*ml", "*.tfstate",
)  # fmt: skip
PRIVATE = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY")
WIDE = "PRIVATE KEY".encode("utf-16-le")
# In the source of modules that ask for versions of what is installed.
METADATA = b"metadata"
# What changes modules in place and leaves their spec as it is.
AUTORELOAD = "IPython.extensions.autoreload"


class Files(dict[str, bytes]):
    """Contents by name, up to a bound."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0
        self._until = monotonic() + SECONDS

    def add(self, name: str, data: bytes, link: bool = False) -> None:
        """Takes a file, unless it is a key. One that is not taken counts too: it was read."""
        self.size += len(data)
        if len(self) >= MOST_FILES or self.size > MOST_BYTES:
            raise Full
        if monotonic() > self._until:
            raise TooMuch(f"it takes longer than {SECONDS:g} s to read its source", "send less, or use modules=")
        # Source that is the caller's own may speak of keys; a link to a key is not source.
        if (link or not name.endswith(".py")) and (PRIVATE.search(data) or WIDE in data):
            return
        self[name] = data


class Tree:
    """What was packed, and the modules that it was packed for, as they were then."""

    __slots__ = ("_modules", "_names", "_specs", "_times", "count", "key", "loaded", "parts", "size")

    def __init__(self, files: Files, own: dict[str, Found]) -> None:
        from hashlib import sha256

        names = sorted(files)
        self.parts: list[bytes] = ["".join(f"{name}\0" for name in names).encode(), *(files[name] for name in names)]
        self.count, self.size = len(names), sum(map(len, self.parts))
        digest = sha256(self.parts[0])
        for part in self.parts[1:]:
            digest.update(sha256(part).digest())
        #: Of what was read, not of what the disk says of it.
        self.key = digest.hexdigest()
        there = {name: found for name in own if isinstance(found := sys.modules.get(name), ModuleType)}
        self._names, self._modules = list(there), list(there.values())
        self._specs = [spec_of(one) for one in self._modules]
        self._times = self._changed()
        #: Modules in these files that the host has loaded, also those that nobody has asked for.
        self.loaded = frozenset(name for name in list(sys.modules) if is_in(name, files))

    def is_fresh(self) -> bool:
        """Whether the host still has the modules that it had then: a reload makes a new spec."""
        loaded = sys.modules
        same = all(
            loaded.get(name) is one and one.__dict__.get("__spec__") is spec
            for name, one, spec in zip(self._names, self._modules, self._specs, strict=True)
        )
        return same and (AUTORELOAD not in loaded or self._times == self._changed())

    def _changed(self) -> list[int]:
        """When the files of the modules were last changed, where somebody looks for that."""
        return [time_of(one) for one in self._specs] if AUTORELOAD in sys.modules else []


def time_of(spec: object) -> int:
    try:
        return os.stat(getattr(spec, "origin", None) or "").st_mtime_ns
    except (OSError, TypeError, ValueError):
        return 0


def is_in(name: str, files: Files) -> bool:
    place = name.replace(".", "/")
    return f"{place}.py" in files or f"{place}/__init__.py" in files


def unit_of(name: str, modules: Modules) -> Found | None:
    """What a module is packed with: the first package on the way to it that is no namespace, or itself."""
    from .closure import with_parents

    for one in with_parents(name):
        found = modules.get(one)
        if found is not None and not found.is_namespace:
            return found
    return None


def pack(own: dict[str, Found], modules: Modules) -> Files:
    """The files of these modules."""
    units: dict[str, tuple[Found, list[Found]]] = {}
    for found in own.values():
        unit = unit_of(found.name, modules)
        if unit is not None:
            units.setdefault(unit.name, (unit, []))[1].append(found)
    files = Files()
    for unit, inside in units.values():
        before, size = dict(files), files.size
        try:
            add_unit(unit, inside, files, modules)
        except Full:
            # Too much with all that lies in its folder; its modules alone may do.
            files.clear()
            files.update(before)
            files.size = size
            try:
                add_modules(inside, files)
            except Full:
                raise too_much(unit) from None
    if any(METADATA in data for data in files.values()):
        add_metadata([unit for unit, _ in units.values()], files)
    return files


def add_metadata(units: Iterable[Found], files: Files) -> None:
    """Name and version of what the units are installed as: many a package asks for its own version at import."""
    from .distributions import of_own

    for unit in units:
        path = unit.path if unit.archive is None else None
        held = of_own(path, unit.name) if path is not None else None
        if held is not None and held.info.isprintable():
            about = f"Metadata-Version: 2.1\nName: {held.name}\nVersion: {held.version}\n"
            files.add(f"{os.path.basename(held.info)}/METADATA", about.encode())


def too_much(unit: Found) -> ValueRefused:
    return ValueRefused(
        f"the source of {unit.name!r} has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB",
        f"show it to the guest as it is, with modules=[{unit.name.partition('.')[0]!r}]",
    )


def add_unit(unit: Found, inside: list[Found], files: Files, modules: Modules) -> None:
    place = unit.name.replace(".", "/")
    if unit.archive is not None:
        members = dict(modules.archives.members(unit))
        foreign = tuple(name.rpartition("/")[0] + "/" for name in members if name.endswith("/pyvenv.cfg"))
        for rest, data in members.items():
            *above, name = rest.split("/")
            if rest in SUFFIXES or not (any(map(hidden, above[1:])) or rest.startswith(foreign) or is_skipped(name)):
                files.add(place + rest, data)
    elif not unit.folders or any(is_project(folder) for folder in unit.folders):
        add_modules(inside, files)
    else:
        for folder in unit.folders:
            add_folder(place, folder, files)


def is_project(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in PROJECT)


def add_modules(found: Iterable[Found], files: Files) -> None:
    """Modules alone, without what lies beside them."""
    for one in found:
        if one.path is None or one.archive is not None:
            continue
        place = one.name.replace(".", "/")
        suffix = next(end for end in reversed(SUFFIXES) if one.path.endswith(end))
        # Some single files call themselves packages, without folders: six does.
        name = f"{place}/__init__{suffix}" if one.folders else f"{place}{suffix}"
        data = module(one.path)
        if data is not None and name not in files:
            files.add(name, data, link=os.path.islink(one.path))


def add_folder(place: str, folder: str, files: Files) -> None:
    """All of a package but what is never sent. A link counts where it stays in the folder."""
    strict = f"{os.sep}__editable__." in folder
    try:
        # A folder that was put in the place of the package is none.
        if not same_name(folder):
            return
        with opened(folder) as descriptor:
            if strict or any(content(f"__init__{end}", descriptor) is not None for end in SUFFIXES):
                walk(descriptor, place, "", Inside(real_path(folder), descriptor, strict), files)
    except OSError as error:
        raise ValueRefused(f"the source in {folder} cannot be read: {error.strerror}") from error


class Inside:
    """The folder that links may lead to. In a strict editable install every file is a link, to a file of the same name
    in a folder of the same name elsewhere."""

    def __init__(self, root: str, descriptor: int, strict: bool) -> None:
        self.root, self.descriptor, self.strict = root, descriptor, strict

    def content(self, path: str) -> bytes | None:
        """What a link at this path leads to: read step by step, so that nobody can change the way meanwhile."""
        real = real_path(os.path.join(self.root, path))
        if real.startswith(self.root + os.sep):
            steps = real[len(self.root) + 1 :].split(os.sep)
            if any(map(hidden, steps)) or is_skipped(steps[-1]):
                return None
            return descend(self.descriptor, steps)
        same = os.path.join(os.path.basename(self.root), path)
        return content(real) if self.strict and real.endswith(os.sep + same) else None


def descend(descriptor: int, steps: list[str]) -> bytes | None:
    if len(steps) == 1:
        return content(steps[0], descriptor)
    try:
        with opened(steps[0], descriptor) as inner:
            return descend(inner, steps[1:])
    except OSError:
        return None


def walk(descriptor: int, place: str, path: str, inside: Inside, files: Files, depth: int = 0) -> None:
    if depth > DEPTH:
        raise Full
    names = sorted(os.listdir(descriptor))
    for name in names:
        if hidden(name) or not name.isprintable():
            continue
        mode = mode_of(name, descriptor)
        if stat.S_ISDIR(mode):
            try:
                with opened(name, descriptor) as inner:
                    if not set(FOREIGN).intersection(os.listdir(inner)):
                        walk(inner, f"{place}/{name}", f"{path}{name}/", inside, files, depth + 1)
            except OSError:
                continue
            continue
        # Bytecode counts only where it is all there is of a module.
        if is_skipped(name) or (name.endswith(".pyc") and name[:-1] in names):
            continue
        link = stat.S_ISLNK(mode)
        data = content(name, descriptor) if stat.S_ISREG(mode) else inside.content(path + name) if link else None
        if data is not None:
            files.add(f"{place}/{name}", data, link)


def mode_of(name: str, descriptor: int) -> int:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    except OSError:
        return 0


def hidden(name: str) -> bool:
    """Whether a file or folder of this name is never looked at."""
    return name.startswith(".") or name in SKIPPED


def is_skipped(name: str) -> bool:
    """Whether a file of this name is never sent: a key, by its name. A module may have any name."""
    if hidden(name):
        return True
    return not name.endswith(".py") and any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in KEYS)
