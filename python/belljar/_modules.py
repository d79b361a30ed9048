"""Whose a module is: the user's own, or one that was installed or came with Python."""

from __future__ import annotations

import os
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAIN = ("__main__", "__mp_main__")
# Of this package, a checkout may be on the path: nothing of it is the user's.
OURS = ("belljar", "cloudpickle")
INSTALLED = ("site-packages", "dist-packages")
_NAMES: Any = vars(ModuleType)["__dict__"]
_standard: list[str] = []
# By name, with the spec that was looked at: a module that is loaded again has another.
_kept: dict[str, tuple[Any, bool]] = {}


def is_own(module: object) -> bool:
    """Whether a module is the user's own: its files are neither in the standard library nor in site-packages.

    Asks nothing of the module itself, which may be one that loads at the first look, or no module at all.
    """
    if not issubclass(type(module), ModuleType):
        return False
    names: dict[str, Any] = _NAMES.__get__(module)
    name = names.get("__name__")
    if type(name) is not str or name.partition(".")[0] in OURS:
        return False
    if name in MAIN:
        return True
    spec = names.get("__spec__")
    kept = _kept.get(name)
    if kept is None or kept[0] is not spec or spec is None:
        paths = places(names)
        kept = spec, bool(paths) and not any(map(is_installed, [*paths, *map(os.path.realpath, paths)]))
        _kept[name] = kept
    return kept[1]


def places(names: dict[str, Any]) -> list[str]:
    """Where a module comes from: its file, or the folders of a namespace package. Those made by Python have none."""
    spec, file = names.get("__spec__"), names.get("__file__")
    if type(spec) is ModuleSpec:
        if spec.origin is None and spec.submodule_search_locations is not None:
            return list(spec.submodule_search_locations)
        file = spec.origin if spec.origin and os.path.isabs(spec.origin) else file
    return [os.path.abspath(file)] if type(file) is str else []


def is_installed(path: str) -> bool:
    """Whether a path is in the standard library or in a folder of installed packages."""
    if not _standard:
        import sysconfig

        _standard.append(os.path.join(os.path.realpath(sysconfig.get_path("stdlib")), ""))
    return path.startswith(_standard[0]) or not set(INSTALLED).isdisjoint(path.split(os.sep))
