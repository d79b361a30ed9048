"""Policy keywords: the same names, types and ranges as the binary's."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from importlib import import_module
from typing import Any, get_type_hints

import pytest
from support import ROOT, skip

import belljar
from belljar import _keys, _keywords, _policy


def documented() -> dict[str, tuple[str, str]]:
    """Every key of docs/reference/policy.md, with its default and its example."""
    page = (ROOT / "docs/reference/policy.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `--[a-z-]+` \| (?:[^|\\]|\\.)* \| ([^|]*) \| `([^`]*)` \|", page, re.M)
    return {name: (default.strip("` "), example) for name, default, example in rows}


def test_every_key_of_the_schema_is_a_keyword() -> None:
    keys = documented()
    assert len(keys) >= 22
    assert set(keys) == set(_policy.KEYS)
    typed = set(get_type_hints(_keywords.SandboxKeywords)) - {"files", "collect"}
    assert typed == set(_policy.KEYS) | set(_policy.MORE)


@pytest.mark.parametrize("key", sorted(set(documented()) - {"profile", "venv", "workdir", "mount", "draft", "apply"}))
def test_the_documented_example_of_a_key_is_taken_by_package_and_binary(key: str) -> None:
    if sys.version_info < (3, 11):
        skip("toml")
    toml: Any = import_module("tomllib")
    value: Any = toml.loads(documented()[key][1])[key]
    if key == "python":
        value = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert belljar.run("print(1)", **{key: value}).check().stdout == "1\n"


LIMITS = {
    name: bounds for name, (kind, *bounds) in _keys.KEYS.items() if kind in ("size", "count", "amount", "duration")
}


@pytest.mark.parametrize("key", sorted(LIMITS))
def test_the_range_of_a_limit_is_the_binary_s(key: str) -> None:
    least, most = LIMITS[key][:2]
    flag = f"--{key.replace('_', '-')}"

    def planned(value: float) -> bool:
        told = f"{value:.6f}" if isinstance(value, float) else str(value)
        return subprocess.run([belljar.find(), "plan", flag, told], capture_output=True).returncode == 0

    inside = [least, most]
    outside = [least / 2 if isinstance(least, float) else least - 1, most + 1]
    assert [planned(value) for value in (*inside, *outside)] == [True, True, False, False]
    for value in inside:
        belljar.Policy({key: value})
    for value in outside:
        with pytest.raises(ValueError, match=f"{key}="):
            belljar.Policy({key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory", "lots"), ("memory", 1.5), ("memory", True), ("memory", 1), ("memory", 1 << 60), ("timeout", "soon"),
        ("timeout", 0), ("timeout", -1), ("timeout", float("nan")), ("timeout", []), ("cpus", "one"), ("cpus", 0),
        ("cpus", float("nan")), ("cpus", True), ("pids", 1), ("pids", 2.0), ("network", "lan"), ("network", True), ("system", 1),
        ("env", {"A": 1}), ("env", ["NOT_IN_THIS_ENVIRONMENT"]), ("mount", 3), ("venv", 3), ("workdir", ""), ("python", 3.12),
        ("require", "open"), ("require_layers", ["walls"]), ("require_layers", "cgroup"), ("profile", "none"), ("preload", "numpy"),
        ("modules", "myapp"), ("inodes", 3), ("open_files", 1), ("file_size", 0), ("output", 0), ("disk", 1), ("cpu_seconds", 0),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_where_they_are_written(key: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"{key}="):
        belljar.Policy({key: value})


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("memroy", "memory"), ("memory_mb", "memory"), ("allow_network", "network"), ("timeout_sec", "timeout"),
        ("requirements", "dependencies"), ("enable_network", "network"), ("mounts", "mount"), ("on_ouput", "on_output"),
        ("Timeout", "timeout"), ("virtualenv", "venv"), ("file", "files"), ("python_version", "python"),
    ],
)  # fmt: skip
def test_an_unknown_keyword_names_the_nearest(word: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"unknown keyword '{word}'; did you mean '{meant}'"):
        belljar.run("", **dict[str, Any]({word: 1}))


def test_a_word_that_is_like_nothing_points_to_the_page() -> None:
    with pytest.raises(TypeError, match=r"docs/reference/policy\.md"):
        belljar.run("", quux=1)  # type: ignore[call-arg]


def test_values_mean_what_they_look_like() -> None:
    policy = belljar.Policy(
        {"memory": "512MB", "timeout": timedelta(minutes=2), "disk": "1g", "output": 2000, "cpus": None}
    )
    assert policy.values == {"memory": 512 << 20, "timeout": 120, "disk": 1 << 30, "output": 2000}
    assert belljar.Policy({"timeout": "1h30m"}).values["timeout"] == 5400
    assert belljar.Policy({"timeout": "none"}).values["timeout"] == "none"
    assert policy.merged({"memory": None, "pids": 9}).values.keys() == {"timeout", "disk", "output", "pids"}


def test_what_needs_the_host_is_told_at_the_first_call() -> None:
    policy: dict[str, Any] = {"mount": "/no/such/folder"}
    belljar.Policy(policy)
    for _ in range(2):
        with pytest.raises(belljar.PolicyError, match="/no/such/folder") as caught:
            belljar.run("", **policy)
        assert caught.value.hint == "make it first, or name another"
    with pytest.raises(belljar.BelljarError, match="nowhere"):
        belljar.run("", venv="/nowhere")


def test_dependencies_are_a_list_and_exclude_a_virtualenv() -> None:
    with pytest.raises(TypeError, match=r"dependencies=\['pandas'\]"):
        belljar.sandbox(dependencies="pandas")(len)
    with pytest.raises(ValueError, match="leave one of the two out"):
        belljar.sandbox(dependencies=["pandas"], venv="/nowhere")(len)
    with pytest.raises(belljar.DependencyError, match="is an option"):
        belljar.run("", dependencies=["-e ."])
    # What was written may look like the border between message and hint.
    with pytest.raises(belljar.DependencyError) as caught:
        belljar.run("", dependencies=["lib; python_version > "])
    assert caught.value.message.startswith("cannot read `lib; python_version >` at column ")
    assert caught.value.hint == "write for example pandas>=2, or pandas>=2; python_version > '3.10'"
    # The name of a module, which the index has nothing of, or a stranger's; told before anything is built.
    for name, meant in {"sklearn": "scikit-learn", "cv2": "opencv-python-headless", "PIL": "pillow"}.items():
        with pytest.raises(belljar.DependencyError, match=f"the package is called {meant}"):
            belljar.run("", dependencies=[name])
    with pytest.raises(belljar.DependencyError, match="`json` is a module of the standard library"):
        belljar.run("", dependencies=["json"])
    assert belljar.run("print(1)", dependencies=[]).stdout == "1\n"


def test_limits_hold() -> None:
    outcome = belljar.run("x = b'x' * (500 << 20)", memory="64M")
    assert outcome.status == "out_of_memory" or outcome.exception is not None
    with pytest.raises(MemoryError):
        outcome.check()
    # Control.
    belljar.run("x = b'x' * (500 << 20)", memory="1G").check()
