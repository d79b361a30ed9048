"""Which installed distribution a module is of, by the lists that installers leave; nothing is imported or resolved."""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

from .modules import is_installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MARK = ".dist-info"
# A line of METADATA that names another distribution: name, extras, and the marker behind.
NEEDS = re.compile(r"^Requires-Dist: *([A-Za-z0-9][\w.-]*) *(?:\[([^\]]*)\])?[^;\n]*(?:;(.*))?$", re.M)
EXTRA = re.compile(r"""extra *== *['"]([^'"]+)['"]""")


class Distribution(NamedTuple):
    """An installed one."""

    name: str
    version: str
    #: Its folder of metadata.
    info: str

    @property
    def pin(self) -> str:
        """The requirement for this version. A local part, such as `+cpu`, is in no index."""
        return f"{self.name}=={self.version.partition('+')[0]}"


def normal(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def holds(path: str, module: str) -> Distribution | None:
    """The distribution that has put this file there, which is the module of this name."""
    folder = os.path.dirname(path)
    # From the file up by the dots of the name, and once more where it is a package.
    for _ in range(module.count(".") + 2):
        relative = os.path.relpath(path, folder).replace(os.sep, "/")
        for info in likely(folder, module.partition(".")[0]):
            if lists(info, relative):
                return read(info)
        folder = os.path.dirname(folder)
    return None


def of_own(path: str, top: str) -> Distribution | None:
    """The distribution that a package of one's own is installed as: one of its name, or of a folder that it is in."""
    if is_installed(path):
        return holds(path, top)
    for folder in map(str, sys.path):
        if is_installed(folder + os.sep):
            for info in likely(folder, top):
                if normal(os.path.basename(info).partition("-")[0]) == normal(top) or editable(info, path):
                    return read(info)
    return None


def editable(info: str, path: str) -> bool:
    """Whether a distribution was installed from a folder that this file is in."""
    import json
    from urllib.parse import unquote

    try:
        with open(os.path.join(info, "direct_url.json"), "rb") as file:
            url = json.loads(file.read(1 << 16))["url"]
        folder = unquote(url.removeprefix("file://"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def likely(folder: str, top: str) -> list[str]:
    """The metadata of a folder of packages, those first that have the name of the package."""
    try:
        infos = [name for name in os.listdir(folder) if name.endswith(MARK)]
    except OSError:
        return []
    wanted = normal(top)

    def rank(info: str) -> int:
        own = normal(info.partition("-")[0])
        return 0 if own == wanted else 1 if wanted in own or own in wanted else 2

    return [os.path.join(folder, info) for info in sorted(infos, key=rank)]


def lists(info: str, relative: str) -> bool:
    """Whether a distribution has this file."""
    try:
        with open(os.path.join(info, "RECORD"), "rb") as file:
            record = b"\n" + file.read()
    except OSError:
        return False
    return f"\n{relative},".encode() in record or f'\n"{relative}",'.encode() in record


def metadata(info: str) -> str:
    try:
        with open(os.path.join(info, "METADATA"), encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def read(info: str) -> Distribution | None:
    """Name and version."""
    text = metadata(info)
    name = re.search(r"^Name: *(\S+)", text, re.M)
    version = re.search(r"^Version: *(\S+)", text, re.M)
    return Distribution(name[1], version[1], info) if name and version else None


def with_needs(first: Iterable[Distribution]) -> Iterator[Distribution]:
    """Distributions and all that they need, as far as it is installed beside them."""
    todo = [(one, frozenset[str]()) for one in first]
    seen: set[tuple[str, frozenset[str]]] = set()
    given: set[str] = set()
    while todo:
        one, extras = todo.pop()
        key = normal(one.name)
        if (key, extras) in seen:
            continue
        seen.add((key, extras))
        if key not in given:
            given.add(key)
            yield one
        for name, wanted, marker in NEEDS.findall(metadata(one.info)):
            asked = EXTRA.search(marker)
            if asked is not None and normal(asked[1]) not in extras:
                continue
            other = installed(os.path.dirname(one.info), name)
            if other is not None:
                todo.append((other, frozenset(normal(extra.strip()) for extra in wanted.split(",") if extra.strip())))


def installed(folder: str, name: str) -> Distribution | None:
    """The distribution of this name in a folder of packages."""
    wanted = normal(name)
    for info in likely(folder, name):
        if normal(os.path.basename(info).partition("-")[0]) == wanted:
            return read(info)
    return None
