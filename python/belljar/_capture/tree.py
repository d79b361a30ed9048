"""The caller's own source files, packed: a package whole, with its data, a module alone. Each file lies where its
dotted name says, wherever it is on the host."""

from __future__ import annotations

import fnmatch
import os
import stat
from types import ModuleType

from .._errors import ValueRefused
from .modules import SUFFIXES, Found, real_path, spec_of
from .read import MOST_BYTES, Full, content, module, opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .closure import Modules

#: Most files of one tree.
MOST_FILES = 5_000
# What makes a folder a project and not only a package: then it has more in it than its modules and their data.
PROJECT = (".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg")
# Never sent: caches, other people's code, and what opens doors.
SKIPPED = ("__pycache__", "node_modules")
KEYS = (
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "*.ppk", "*.gpg", "credentials", "credentials.*", "secrets.json", "secrets.toml", "secrets.y*ml", "*.tfstate",
)  # fmt: skip
PRIVATE = b"PRIVATE KEY-----"


class Files(dict[str, bytes]):
    """Contents by name, up to a bound."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def add(self, name: str, data: bytes) -> None:
        self.size += len(data)
        if len(self) >= MOST_FILES or self.size > MOST_BYTES:
            raise Full
        self[name] = data


class Tree:
    """What was packed, and the modules that it was packed for, as they were then."""

    __slots__ = ("_modules", "_names", "_specs", "count", "key", "parts", "size")

    def __init__(self, files: Files, loaded: dict[str, ModuleType]) -> None:
        from hashlib import sha256

        names = sorted(files)
        self.parts: list[bytes] = ["".join(f"{name}\0" for name in names).encode(), *(files[name] for name in names)]
        self.count, self.size = len(names), files.size
        digest = sha256(self.parts[0])
        for part in self.parts[1:]:
            digest.update(sha256(part).digest())
        #: Of what was read, not of what the disk says of it.
        self.key = digest.hexdigest()
        self._names = list(loaded)
        self._modules = list(loaded.values())
        self._specs = [spec_of(module) for module in self._modules]

    def is_fresh(self, modules: dict[str, ModuleType]) -> bool:
        """Whether the host still has the modules that it had then: a reload makes a new spec."""
        return all(
            modules.get(name) is module and module.__dict__.get("__spec__") is spec
            for name, module, spec in zip(self._names, self._modules, self._specs, strict=True)
        )


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
        before = dict(files), files.size
        try:
            add_unit(unit, inside, files)
        except Full:
            # Too much with all that lies in its folder; its modules alone may do.
            files.clear()
            files.update(before[0])
            files.size = before[1]
            try:
                add_modules(inside, files)
            except Full:
                raise too_much(unit) from None
    return files


def too_much(unit: Found) -> ValueRefused:
    return ValueRefused(
        f"the source of {unit.name!r} has more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB",
        f"show it to the guest as it is, with modules=[{unit.name.partition('.')[0]!r}]",
    )


def add_unit(unit: Found, inside: list[Found], files: Files) -> None:
    if unit.archive is not None:
        add_archive(unit, files)
    elif not unit.is_package or any(is_project(folder) for folder in unit.folders):
        add_modules(inside, files)
    else:
        for folder in unit.folders:
            add_folder(unit.name.replace(".", "/"), folder, files)


def is_project(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in PROJECT)


def add_modules(found: Iterable[Found], files: Files) -> None:
    """Modules alone, without what lies beside them."""
    for one in found:
        if one.path is None:
            continue
        place = one.name.replace(".", "/")
        suffix = next(end for end in reversed(SUFFIXES) if one.path.endswith(end))
        name = f"{place}/__init__{suffix}" if one.is_package else f"{place}{suffix}"
        data = module(one.path)
        if data is not None and name not in files:
            files.add(name, data)


def add_folder(place: str, folder: str, files: Files) -> None:
    """All of a package but what is never sent. A link counts where it stays in the folder."""
    root = real_path(folder)
    try:
        with opened(folder) as descriptor:
            # A folder that was put in the place of the package is none.
            if any(content(f"__init__{end}", descriptor) is not None for end in SUFFIXES) or linked(folder):
                walk(descriptor, place, "", Inside(root, descriptor, linked(folder)), files)
    except OSError as error:
        raise ValueRefused(f"the source in {folder} cannot be read: {error.strerror}") from error


def linked(folder: str) -> str | None:
    """Where the files of a strict editable install are: its folders are real, and every file in them is a link."""
    if f"{os.sep}__editable__." not in folder:
        return None
    return os.path.dirname(real_path(os.path.join(folder, "__init__.py")))


class Inside:
    """The folder that links may lead to."""

    def __init__(self, root: str, descriptor: int, elsewhere: str | None) -> None:
        self.root, self.descriptor, self.elsewhere = root, descriptor, elsewhere

    def content(self, path: str) -> bytes | None:
        """What a link at this path leads to: read step by step, so that nobody can change the way meanwhile."""
        real = real_path(os.path.join(self.root, path))
        for root in filter(None, (self.root, self.elsewhere)):
            if real.startswith(root + os.sep):
                steps = real[len(root) + 1 :].split(os.sep)
                if any(map(is_skipped, steps)):
                    return None
                if root == self.root:
                    return descend(self.descriptor, steps)
                with opened(root) as descriptor:
                    return descend(descriptor, steps)
        return None


def descend(descriptor: int, steps: list[str]) -> bytes | None:
    if len(steps) == 1:
        return content(steps[0], descriptor)
    try:
        with opened(steps[0], descriptor) as inner:
            return descend(inner, steps[1:])
    except OSError:
        return None


def walk(descriptor: int, place: str, path: str, inside: Inside, files: Files) -> None:
    for name in sorted(os.listdir(descriptor)):
        if is_skipped(name) or not name.isprintable():
            continue
        mode = mode_of(name, descriptor)
        if stat.S_ISDIR(mode):
            try:
                with opened(name, descriptor) as inner:
                    entries = os.listdir(inner)
                    if "pyvenv.cfg" not in entries and ".git" not in entries:
                        walk(inner, f"{place}/{name}", f"{path}{name}/", inside, files)
            except OSError:
                continue
            continue
        if stat.S_ISREG(mode):
            data = content(name, descriptor)
        elif stat.S_ISLNK(mode):
            data = inside.content(path + name)
        else:
            continue
        if data is not None and (name.endswith(".py") or PRIVATE not in data):
            files.add(f"{place}/{name}", data)


def mode_of(name: str, descriptor: int) -> int:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
    except OSError:
        return 0


def is_skipped(name: str) -> bool:
    """Whether a file or folder of this name is never sent."""
    return (
        name.startswith(".") or name in SKIPPED or any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in KEYS)
    )


def add_archive(unit: Found, files: Files) -> None:
    """The members of an archive below the unit: a zipapp, or a zip file on sys.path."""
    from zipfile import BadZipFile, ZipFile

    loader: Any = unit.spec.loader
    prefix = loader.prefix.replace(os.sep, "/")
    own = unit.name.rpartition(".")[2]
    place = unit.name.replace(".", "/")
    try:
        with open(unit.archive or "", "rb") as file, ZipFile(file) as archive:
            for member in sorted(archive.namelist()):
                rest = member[len(prefix + own) :] if member.startswith(prefix + own) else ""
                inside = rest.startswith("/") and unit.is_package and not rest.endswith("/")
                if rest in SUFFIXES or (inside and not any(map(is_skipped, rest[1:].split("/")))):
                    if archive.getinfo(member).file_size > MOST_BYTES:
                        raise Full
                    files.add(place + rest, archive.read(member))
    except (OSError, BadZipFile) as error:
        raise ValueRefused(f"the source of {unit.name!r} cannot be read: {error}") from error
