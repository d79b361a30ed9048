"""What a guest's interpreter is and has: which modules it can import by itself."""

from __future__ import annotations

import os
import re
import sys
from types import ModuleType

from ._capture.modules import GUEST, MISSING, OWN, Found, classify, spec_of
from ._errors import PolicyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._policy import Policy

# Where a decorated function has what runs it.
CALLEE = "__belljar_callee__"
HOST_VERSION = (sys.version_info[0], sys.version_info[1])


def plain_of(function: Any) -> Any:
    """The plain function of a decorated one, and any other as it is. What `functools.wraps` has copied to a wrapper
    around a decorated function does not make that a decorated one."""
    callee = getattr(function, "__dict__", {}).get(CALLEE)
    return callee.function if callee is not None and callee.wrapper is function else function


class Guest:
    """One guest environment, by its folders of packages. Built once for a policy and an interpreter."""

    def __init__(self, version: tuple[int, int], folders: Iterable[str], mounted: Iterable[str] = ()) -> None:
        self.version = version
        self.folders = [os.path.realpath(folder) for folder in folders]
        names: set[str] = set()
        for folder in self.folders:
            try:
                names.update(name.partition(".")[0] for name in os.listdir(folder))
            except OSError:
                continue
        self._names = frozenset(names)
        self._mounted = frozenset(mounted)
        self._known: dict[str, Found] = {}

    @property
    def same_version(self) -> bool:
        """Whether code objects mean the same on both sides."""
        return self.version == HOST_VERSION

    def find(self, name: str, mine: str = "") -> Found:
        """Whose a module is that is loaded. What is installed as `mine` is the caller's own."""
        module = sys.modules.get(name)
        spec = spec_of(module) if isinstance(module, ModuleType) else None
        known = self._known.get(name)
        if known is None or known.spec is not spec:
            known = self._known[name] = self.classified(name, module, spec)
        return known._replace(kind=OWN) if mine and known.kind == MISSING and name.partition(".")[0] == mine else known

    def classified(self, name: str, module: ModuleType | None, spec: Any) -> Found:
        """Whose a module is, loaded or not."""
        if name.partition(".")[0] in self._mounted:
            return Found(name, GUEST, spec, None)
        return classify(name, module if isinstance(module, ModuleType) else None, spec, self.folders, self._names)


def guest(policy: Policy, interpreter: str | None, environment: str | None = None) -> Guest:
    """What a policy's guests have; the last two are what the agent found, None for the caller's own interpreter."""
    mounted = [os.path.basename(path).partition(".")[0] for path in policy.module_paths()]
    # An environment of dependencies is a virtualenv too.
    venv = environment or policy.values.get("venv")
    if venv is not None:
        version, folders = of_venv(venv)
        return Guest(version, folders, mounted)
    if interpreter is None:
        version, prefix = HOST_VERSION, getattr(sys, "base_prefix", sys.prefix)
    else:
        version, prefix = version_of(interpreter), os.path.dirname(os.path.dirname(interpreter))
    folders = of_prefix(prefix, version) if policy.values.get("site_packages") else []
    return Guest(version, folders, mounted)


def of_prefix(prefix: str, version: tuple[int, int]) -> list[str]:
    """Where an interpreter looks for packages of its own; the binary hides the same folders."""
    name = f"python{version[0]}.{version[1]}"
    places = [f"{lib}/{name}" for lib in ("lib", "lib64", "local/lib", "local/lib64")]
    kinds = ("site-packages", "dist-packages")
    return [os.path.join(prefix, place, kind) for place in [*places, "lib/python3"] for kind in kinds]


def of_venv(venv: str) -> tuple[tuple[int, int], list[str]]:
    """Version and folders of a virtualenv."""
    library = os.path.join(venv, "lib")
    try:
        names = [name for name in os.listdir(library) if re.fullmatch(r"python3\.[0-9]+", name)]
        with open(os.path.join(venv, "pyvenv.cfg")) as file:
            config = file.read()
    except OSError:
        names, config = [], ""
    if len(names) != 1:
        raise PolicyError(f"venv={venv!r} is no virtualenv", "make one with `python -m venv`")
    version = version_of(names[0])
    folders = [os.path.join(library, names[0], "site-packages")]
    if re.search(r"^include-system-site-packages *= *true", config, re.M | re.I):
        home = re.search(r"^home *= *(.+)$", config, re.M)
        folders += of_prefix(os.path.dirname(home[1].strip()), version) if home else []
    return version, folders


def version_of(path: str) -> tuple[int, int]:
    """The version that the name of an interpreter or its library folder tells."""
    found = re.search(r"python(3)\.([0-9]+)[a-z]*$", path)
    return (int(found[1]), int(found[2])) if found else HOST_VERSION


def path_of(module: ModuleType | str) -> str:
    """Folder or file of a module that `modules=` names."""
    if isinstance(module, str) and (os.sep in module or module.endswith(".py")):
        path = os.path.abspath(module)
        if not os.path.exists(path):
            raise PolicyError(f"modules: {path} does not exist")
        return path
    from importlib.util import find_spec

    name = module if isinstance(module, str) else module.__name__
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise PolicyError(f"modules: there is no module {name!r} here", "name an importable package, or give its path")
    if "." in name:
        top = name.partition(".")[0]
        raise PolicyError(f"modules: {name!r} is part of a package", f"name the whole of it: modules=[{top!r}]")
    if spec.submodule_search_locations:
        return os.path.abspath(next(iter(spec.submodule_search_locations)))
    if spec.origin is None or not os.path.exists(spec.origin):
        raise PolicyError(f"modules: {name!r} is no file", "only packages and modules of files can be shown")
    return os.path.abspath(spec.origin)
