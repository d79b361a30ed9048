"""Policy keywords: every key of docs/reference/policy.md is a keyword of the same name. Types and ranges are checked
where they are written; what needs the host is checked by the binary, at the first call."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta

from . import _keys
from ._quantity import seconds, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

#: Dependencies that the code itself says.
AUTO = "auto"


def wrong(key: str, value: object, wanted: str, kind: type[Exception] = ValueError) -> Exception:
    """A value that a key does not take."""
    return kind(f"{key}={value!r}: {wanted}")


def a_size(least: int, most: int, example: str, none: bool = False) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        if none and value == "none":
            return value
        number = size(value)
        if number is None:
            kind = ValueError if isinstance(value, str) else TypeError
            raise wrong(key, value, f'is no size; write "{example}" or a number of bytes', kind)
        return within(key, value, number, least, most, example)

    return check


def a_count(least: int, most: int, example: str, _none: bool = False) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            raise wrong(key, value, f"is no whole number, such as {example}", TypeError)
        return within(key, value, value, least, most, example)

    return check


def within(key: str, value: object, number: float, least: float, most: float, example: str) -> float:
    if number < least:
        raise wrong(key, value, f"is too little; {example} works")
    if number > most:
        raise wrong(key, value, f"is more than any host has; {example} works")
    return number


def a_duration(least: float, most: float, example: str, none: bool = False) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        if none and value == "none":
            return value
        if isinstance(value, timedelta):
            value = value.total_seconds()
        number = seconds(value)
        if number is None or number != number:
            kind = ValueError if isinstance(value, (str, float)) else TypeError
            raise wrong(key, value, 'is no duration; write 30, "500ms", "2m" or "none"', kind)
        return within(key, value, number, least, most, example)

    return check


def an_amount(least: float, most: float, example: str, none: bool = False) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        if none and value == "none":
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wrong(key, value, "is no number, such as 0.5", TypeError)
        # What is not a number is in no range.
        return within(key, value, value if value == value else least - 1, least, most, example)

    return check


def a_switch(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong(key, value, "is neither True nor False", TypeError)
    return value


def a_choice(*choices: str) -> Callable[[str, Any], str]:
    def check(key: str, value: Any) -> str:
        if value not in choices:
            told = ", ".join(map(repr, choices))
            raise wrong(key, value, f"must be one of {told}", ValueError if isinstance(value, str) else TypeError)
        return str(value)

    return check


def a_path(key: str, value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise wrong(key, value, "is no path", TypeError)
    return os.path.abspath(os.path.expanduser(os.fspath(value)))


def a_python(key: str, value: Any) -> str:
    text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else ""
    if not text:
        raise wrong(key, value, 'is no version, such as "3.12", and no path of an interpreter', TypeError)
    return a_path(key, text) if os.sep in text else text


def a_workdir(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {**value, "source": a_path(key, value.get("source"))}
    if isinstance(value, str) and ":" in value:
        source, target = value.split(":", 1)
        return f"{a_path(key, source)}:{target}"
    return a_path(key, value)


def mounts(key: str, value: Any) -> list[Any]:
    if isinstance(value, (str, os.PathLike, dict)):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise wrong(key, value, 'is no list of "SRC[:DST][:ro|rw]"', TypeError)
    return [a_mount(key, one) for one in value]


def a_mount(key: str, value: Any) -> Any:
    if isinstance(value, str):
        source, *rest = value.split(":")
        return ":".join([a_path(key, source), *rest])
    if isinstance(value, dict):
        return {**value, "source": a_path(key, value.get("source"))}
    return a_path(key, value)


def variables(key: str, value: Any) -> dict[str, str]:
    if isinstance(value, (list, tuple)):
        pairs = [text.split("=", 1) if "=" in text else [text, os.environ.get(text)] for text in value]
        missing = [name for name, content in pairs if content is None]
        if missing:
            raise wrong(key, value, f"{missing[0]!r} stands alone and is not in os.environ")
        value = dict(pairs)
    if not isinstance(value, dict) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise wrong(key, value, 'is no dict of strings, such as {"API_URL": "http://127.0.0.1"}', TypeError)
    return dict(value)


def names(key: str, value: Any) -> list[str]:
    if isinstance(value, str) or not all(isinstance(name, str) and name for name in value):
        raise wrong(key, value, "is no list of names", TypeError)
    return list(value)


def layers(*known: str) -> Callable[[str, Any], list[str]]:
    def check(key: str, value: Any) -> list[str]:
        return [a_choice(*known)(key, name) for name in names(key, value)]

    return check


def modules(key: str, value: Any) -> list[str]:
    if isinstance(value, (str, os.PathLike)):
        raise wrong(key, value, 'is no list, such as ["myapp"] or [Path("lib/myapp")]', TypeError)
    return [
        os.fspath(name) if isinstance(name, os.PathLike) else str(getattr(name, "__name__", name)) for name in value
    ]


def dependencies(key: str, value: Any) -> Any:
    if value == AUTO:
        return value
    if isinstance(value, str):
        raise wrong(key, value, f"is no list; write dependencies=[{value!r}]", TypeError)
    return names(key, value)


def exceptions(key: str, value: Any) -> list[type[Exception]]:
    if not isinstance(value, (list, tuple)):
        raise wrong(key, value, "is no list of exception classes, such as [BudgetError]", TypeError)
    from ._own import Unfit, layout

    for cls in value:
        try:
            layout(cls)
        except Unfit as why:
            cure = "name classes such as httpx.HTTPError, and catch GuestError for the rest"
            raise TypeError(f"{key}=[…]: {cls!r} {why}; {cure}") from None
    return list(value)


#: What checks a value of each kind, once it is told what bounds it.
KINDS: dict[str, Callable[..., Callable[[str, Any], Any]]] = {
    "python": lambda: a_python,
    "path": lambda: a_path,
    "switch": lambda: a_switch,
    "choice": a_choice,
    "mounts": lambda: mounts,
    "workdir": lambda: a_workdir,
    "variables": lambda: variables,
    "duration": a_duration,
    "size": a_size,
    "amount": an_amount,
    "count": a_count,
    "layers": layers,
}
#: Every key of a policy document, and what checks it.
KEYS: dict[str, Callable[[str, Any], Any]] = {
    name: KINDS[kind](*bounds) for name, (kind, *bounds) in _keys.KEYS.items()
}
#: What a sandbox takes besides.
MORE: dict[str, Callable[[str, Any], Any]] = {
    "preload": names,
    "modules": modules,
    "dependencies": dependencies,
    "raises": exceptions,
    "allow_builds": a_switch,
    "allow_urls": a_switch,
    "refresh": a_switch,
}
#: What of the caller's variables says where environments are kept and where packages come from.
SETTINGS = (
    "HOME",
    "PATH",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "NETRC",
    "BELLJAR_BUILD_TIMEOUT",
    "BELLJAR_CACHE_DIR",
    "BELLJAR_CACHE_SIZE",
    "BELLJAR_UV",
)
PREFIXES = ("UV_", "PIP_", "SSL_")
#: Names that users of other tools know.
OTHERS = {
    "memory_mb": "memory", "mem": "memory", "max_memory": "memory", "memory_limit": "memory",
    "timeout_sec": "timeout", "timeout_seconds": "timeout", "time_limit": "timeout",
    "allow_network": "network", "enable_network": "network", "networking": "network", "net": "network",
    "cpu": "cpus", "processes": "pids", "max_processes": "pids", "mounts": "mount", "volumes": "mount",
    "virtualenv": "venv", "virtual_env": "venv", "venv_path": "venv", "environment": "env", "envs": "env",
    "requirements": "dependencies", "packages": "dependencies", "deps": "dependencies", "cwd": "workdir",
    "work_dir": "workdir", "mnt_dir": "workdir", "python_version": "python", "requires": "require",
}  # fmt: skip


def unknown(key: str, also: tuple[str, ...] = ()) -> TypeError:
    """A keyword that nobody takes, and the one that was meant."""
    known = [*KEYS, *MORE, *also]
    near = OTHERS.get(key)
    if near is None:
        import difflib

        near = next(iter(difflib.get_close_matches(key.lower(), known, 1)), None)
    told = f"did you mean {near!r}?" if near else "docs/reference/policy.md lists them"
    example = {"memory_mb": ' memory="512M"', "allow_network": ' network="none" or "host"'}.get(key, "")
    return TypeError(f"unknown keyword {key!r}; {told}{example}")


class Policy:
    """Checked keywords, as plain data. The agent decides what they mean on this host."""

    __slots__ = ("_head", "_key", "script", "values")

    def __init__(self, given: Mapping[str, Any], also: tuple[str, ...] = ()) -> None:
        self.values: dict[str, Any] = {}
        for key, value in given.items():
            check = KEYS.get(key) or MORE.get(key)
            if check is None:
                raise unknown(key, also)
            if value is not None:
                self.values[key] = check(key, value)
        if self.values.get("draft") and self.values.get("apply"):
            raise ValueError("draft=True and apply=True: a draft is either dropped or written")
        if (self.values.get("draft") or self.values.get("apply")) and "workdir" not in self.values:
            raise ValueError("draft= and apply= are about a folder; name it with workdir=")
        if self.values.get("dependencies") and "venv" in self.values:
            raise ValueError("dependencies= and venv= each bring their own packages; leave one of the two out")
        #: The header of the one script that it is for.
        self.script: str | None = None
        self._head: dict[str, Any] | None = None
        self._key = ""

    def merged(self, given: Mapping[str, Any], also: tuple[str, ...] = ()) -> Policy:
        """A copy with some keywords changed; None takes one away."""
        values = {key: value for key, value in self.values.items() if key not in given}
        return Policy({**values, **given}, also)

    def head(self) -> tuple[str, dict[str, Any]]:
        """The header of the `open` request, and a text that is the same for the same policy."""
        if self._head is None:
            policy = {key: value for key, value in self.values.items() if key in KEYS and key != "profile"}
            if "python" not in policy and "venv" not in policy:
                policy["python"] = own_python()
            head: dict[str, Any] = {"policy": policy}
            for key in ("profile", "preload"):
                if key in self.values:
                    head[key] = self.values[key]
            if self.needs():
                head["dependencies"] = self._dependencies()
            head["modules"] = [*self.module_paths(), *cloudpickle()]
            self._key = json.dumps(head, sort_keys=True)
            self._head = head
        return self._key, self._head

    def needs(self) -> list[str]:
        """What an environment is built for, as far as it is known here."""
        if self.values.get("dependencies") == AUTO:
            raise ValueError('dependencies="auto" needs code to look at: list the packages here')
        return self.values.get("dependencies") or (["a script"] if self.script else [])

    def _dependencies(self) -> dict[str, Any]:
        switches = {key: True for key in ("allow_builds", "allow_urls", "refresh") if self.values.get(key)}
        needs = {"requirements": self.values.get("dependencies") or [], "script": self.script}
        return {**needs, "variables": settings(), **switches}

    def draft_folder(self) -> str | None:
        """The folder whose changes are a draft."""
        workdir = self.values.get("workdir")
        if isinstance(workdir, dict):
            return str(workdir["source"]) if workdir.get("mode") == "draft" or self.values.get("draft") else None
        return workdir.partition(":")[0] if workdir and self.values.get("draft") else None

    def module_paths(self) -> list[str]:
        """Folders and files of `modules`."""
        if not self.values.get("modules"):
            return []
        from ._guest import path_of

        return [path_of(module) for module in self.values["modules"]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.values,)

    def __repr__(self) -> str:
        return f"Policy({', '.join(f'{key}={value!r}' for key, value in self.values.items())})"


def settings() -> dict[str, str]:
    """The caller's variables that a build of dependencies obeys, as they are now."""

    def counts(name: str) -> bool:
        return name in SETTINGS or name.startswith(PREFIXES) or name.lower().endswith("_proxy")

    found = {name: value for name, value in os.environ.items() if counts(name)}
    # uv's own wheel puts it beside the interpreter, which need not be on PATH.
    found["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), *filter(None, [found.get("PATH")])])
    return found


def own_python() -> str:
    """The interpreter below the caller's virtualenv, whose packages are not shown unless `venv` names it."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def cloudpickle() -> list[str]:
    """The folder of the host's own cloudpickle, which goes with every guest. Much works without it, such as `run`."""
    from importlib.util import find_spec

    spec = find_spec("cloudpickle")
    return [os.path.dirname(os.path.abspath(spec.origin))] if spec is not None and spec.origin else []
