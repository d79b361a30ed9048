"""Types of the keywords, for type checkers alone: nothing imports this when a program runs."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypedDict

Path: TypeAlias = str | os.PathLike[str]
Content: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str]
OnOutput: TypeAlias = Callable[[str, str], object] | Callable[[str, str], Awaitable[object]]


class PolicyKeywords(TypedDict, total=False):
    """Every key of docs/reference/policy.md, and the keywords for packages and modules."""

    # generated: keys
    python: Path | None
    venv: Path | None
    system: bool | None
    site_packages: bool | None
    locks: bool | None
    network: Literal["none", "loopback", "host"] | None
    mount: Path | Mapping[str, str] | Sequence[Path | Mapping[str, str]] | None
    workdir: Path | Mapping[str, str] | None
    draft: bool | None
    apply: bool | None
    env: Mapping[str, str] | Sequence[str] | None
    timeout: float | str | timedelta | None
    memory: int | str | None
    cpus: float | None
    cpu_seconds: float | Literal["none"] | None
    pids: int | None
    disk: int | str | None
    inodes: int | None
    open_files: int | None
    file_size: int | str | None
    output: int | str | None
    require: Literal["sealed", "screened"] | None
    require_layers: Sequence[str] | None
    profile: Literal["default", "strict", "data", "jupyter"] | None
    # end
    preload: Sequence[str] | None
    modules: Sequence[Path | ModuleType] | None
    dependencies: Sequence[str] | Literal["auto"] | None
    allow_builds: bool | None
    allow_urls: bool | None
    refresh: bool | None


class SandboxKeywords(PolicyKeywords, total=False):
    """What `Sandbox` and `SandboxExecutor` take."""

    files: Mapping[str, Content] | None
    collect: int | str | None
    raises: Sequence[type[Exception]] | None


class DecoratorKeywords(SandboxKeywords, total=False):
    """What `sandbox` takes."""

    on_output: OnOutput | None


class JobKeywords(TypedDict, total=False):
    """What a single run takes in addition to the policy."""

    args: Iterable[Path]
    files: Mapping[str, Content] | None
    inputs: Mapping[str, Any]
    stdin: Content
    on_output: OnOutput | None
    collect: int | str | None


class SandboxRunKeywords(JobKeywords, total=False):
    """What a run in an open sandbox takes. Limits may be tighter than the sandbox's."""

    env: Mapping[str, str] | Sequence[str] | None
    timeout: float | str | timedelta | None
    memory: int | str | None
    cpu_seconds: float | None
    pids: int | None
    output: int | str | None


class RunKeywords(PolicyKeywords, JobKeywords, total=False):
    """What `run`, `run_file`, `run_command` and their async forms take."""
