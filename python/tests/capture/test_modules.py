"""Which modules are the user's own, and which of their exception classes a function names."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import types
import unittest.case
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import belljar._errors
from belljar._capture.modules import is_own


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder on sys.path; what is imported from it is forgotten."""
    before = {*sys.modules}
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in {*sys.modules} - before:
        del sys.modules[name]


def put(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("")


def test_own_and_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sys, os, json, unittest.case, importlib.import_module("zipimport"), click, pytest, belljar._errors):
        assert not is_own(module), module
    assert is_own(sys.modules["__main__"]) and is_own(sys.modules[__name__])
    put(folder, "alone.py", "package/__init__.py", "package/inner.py", "space/inner.py", "statistics.py")
    put(folder, "lib/site-packages/installed.py", "lib/python3/dist-packages/debian.py", "store/linked.py")
    (folder / "lib/site-packages/linked.py").symlink_to(folder / "store/linked.py")
    with zipfile.ZipFile(folder / "app.zip", "w") as archive:
        archive.writestr("zipped.py", "")
    monkeypatch.delitem(sys.modules, "statistics", raising=False)
    for name in "alone", "package", "package.inner", "space", "space.inner", "statistics":
        assert is_own(importlib.import_module(name)), name
    for place in "app.zip", "lib/site-packages", "lib/python3/dist-packages":
        monkeypatch.syspath_prepend(str(folder / place))
    assert is_own(importlib.import_module("zipped"))
    for name in "installed", "debian":
        assert not is_own(importlib.import_module(name)), name
    # A link that no installer has made is the user's own; one that is in an installer's list is not.
    linked = importlib.import_module("linked")
    assert is_own(linked)
    info = folder / "lib/site-packages/linked-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("linked.py,,\n")
    (info / "METADATA").write_text("Name: linked\nVersion: 1\n")
    assert not is_own(linked)


def test_no_module_is_asked(folder: Path) -> None:
    """One that loads at the first look stays as it is; what is no module is nobody's."""
    (folder / "late.py").write_text("raise RuntimeError")
    spec = importlib.util.find_spec("late")
    assert spec and spec.loader
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert is_own(module)
    with pytest.raises(RuntimeError):
        module.__file__  # noqa: B018

    class Asked(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    assert not is_own(Asked("asked"))
    made = types.ModuleType("made")
    assert not is_own(made)
    made.__file__ = str(folder / "made.py")
    assert not is_own(made)
    put(folder, "made.py")
    assert is_own(made)
    for odd in None, 5, "json", object(), type:
        assert not is_own(odd)
    vars(made)["__name__"] = 5
    assert not is_own(made)


PROGRAM = """
import functools, sys
import shop.errors                       # by its package
from shop import more                    # by its module
from shop.third import Third as Renamed  # by another name
from shop.work import helper, unnamed, wrapped
from belljar import GuestError, Sandbox, sandbox

class Service:
    class Error(Exception): pass
    @sandbox
    def method(self): raise Service.Error(1)
    @staticmethod
    @sandbox
    def static(): raise Service.Error(2)

class Callable:
    def __call__(self): raise Service.Error(3)

def told(function, *args):
    try: function(*args)
    except Exception as error: return type(error).__module__ + "." + type(error).__qualname__

@sandbox
def work(kind):
    if kind == "package": raise shop.errors.First(1)
    if kind == "module": raise more.Second(1)
    if kind == "renamed": raise Renamed(1)
    if kind == "nested": raise more.Outer.Inner(1)
    if kind == "helper": helper()
    if kind == "unnamed": unnamed()

with Sandbox() as box:
    print(*map(functools.partial(told, work), ["package", "module", "renamed", "nested", "helper", "unnamed"]))
    print(told(Service().method), told(Service.static), told(box.call, Callable()), told(box.call, functools.partial(work, "module")))
    print(told(box.call, wrapped(lambda: work("module"))))
"""


def test_classes_that_a_function_names(program: Any, tmp_path: Path) -> None:
    put(tmp_path, "shop/__init__.py")
    (tmp_path / "shop/errors.py").write_text("class First(Exception): pass\n")
    (tmp_path / "shop/more.py").write_text(
        "class Second(Exception): pass\nclass Outer:\n    class Inner(Exception): pass\n"
    )
    (tmp_path / "shop/third.py").write_text("class Third(Exception): pass\n")
    (tmp_path / "deep.py").write_text("class Hidden(Exception): pass\nclass Base(Exception): pass\n")
    (tmp_path / "shop/work.py").write_text(
        "from deep import Hidden\nfrom .third import Third\n"
        "def helper(): raise Third(1)\n"
        "def unnamed(): raise Hidden(1)\n"
        "def wrapped(function):\n    def inner(*args): return function(*args)\n    return inner\n"
    )
    lines = program(PROGRAM).stdout.splitlines()
    names = ["shop.errors.First", "shop.more.Second", "shop.third.Third", "shop.more.Outer.Inner", "shop.third.Third"]
    # The last is named in a module that the function does not name: `raises=` would.
    assert lines[0].split() == [*names, "belljar.GuestException"]
    assert lines[1].split() == ["__main__.Service.Error"] * 3 + ["shop.more.Second"]
    assert lines[2] == "shop.more.Second"
