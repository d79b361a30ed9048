"""The guest's cloudpickle is the host's, whatever else its packages bring: pickles name functions of the one that made them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from belljar import Sandbox, run, sandbox

# A package of the same name, with its functions where version 2 had them: `_function_setstate` is not among them.
OTHER = {
    "__init__.py": "from .cloudpickle import dumps\n__version__ = '0.0.1'\n",
    "cloudpickle.py": """
def dumps(x, protocol=None): return b""
def _make_function(*args): return lambda: None
def _make_empty_cell(): return __import__("types").CellType()
def _builtin_type(name): return getattr(__import__("types"), name)
""",
}


class Shop:
    """Goes by value: the guest cannot import this module."""

    rate = 2

    def __init__(self, price: int) -> None:
        self.price = price

    def total(self, count: int) -> int:
        return self.price * count * self.rate


def add(amount: int) -> Any:
    """A closure in a closure."""

    def inner(x: int) -> int:
        return (lambda y: y + amount)(x)

    return inner


def by_name() -> tuple[str, str | None]:
    import cloudpickle

    return cloudpickle.__version__, cloudpickle.__file__


@pytest.fixture(params=["plain", "imported at the start"])
def venv(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A virtualenv with another cloudpickle, and a module that uses it as dask does."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=60)
    [site] = (tmp_path / "venv").glob("lib/*/site-packages")
    (site / "cloudpickle").mkdir()
    for name, text in OTHER.items():
        (site / "cloudpickle" / name).write_text(text)
    (site / "uses_it.py").write_text("import cloudpickle\n")
    if request.param != "plain":
        (site / "early.pth").write_text("import cloudpickle.cloudpickle\n")
    return tmp_path / "venv"


def check(box: Sandbox, cold: bool) -> None:
    captured = add(3)

    def nested(shop: Shop, more: Any, *, times: int = 1) -> tuple[int, int, str]:
        return captured(shop.total(2)), more(times), type(shop).__name__

    assert box.call(by_name) == (cloudpickle.__version__, "/modules/cloudpickle/__init__.py")
    assert box.call(nested, Shop(5), lambda x: x * 10, times=4) == (23, 40, "Shop")
    assert box.call(add(1), 1) == 2
    told = box.run("import uses_it, cloudpickle\nuses_it.cloudpickle is cloudpickle, cloudpickle.__file__")
    assert told.value == (True, "/modules/cloudpickle/__init__.py"), told
    assert (told.cold is None) is not cold, told.cold


def test_on_warm_workers(venv: Path) -> None:
    with Sandbox(venv=venv, preload=["uses_it"]) as box:
        warmed = box.warm()
        assert (warmed.cold, list(warmed.preloaded)) == (None, ["uses_it"])
        check(box, cold=False)


def test_in_cold_jars(venv: Path, tmp_path: Path) -> None:
    # A template is not shown a folder that can be written.
    (tmp_path / "work").mkdir()
    with Sandbox(venv=venv, mount=[f"{tmp_path / 'work'}:/data:rw"]) as box:
        check(box, cold=True)


def test_functions_by_value(venv: Path) -> None:
    """With the other one: Can't get attribute '_function_setstate'."""
    captured = add(3)

    @sandbox(venv=venv)
    def work(x: int) -> int:
        return int(captured(x))

    assert work(4) == 7


def test_by_a_decorator(venv: Path) -> None:
    base = 7

    @sandbox(venv=venv)
    def work(shop: Shop) -> int:
        return shop.total(base)

    assert work(Shop(1)) == 14
    assert list(work.map([Shop(1), Shop(2)])) == [14, 28]


def test_what_a_guest_keeps_can_be_opened_by_another(venv: Path) -> None:
    with Sandbox(venv=venv) as box:
        kept = box.run("import belljar\nbelljar.keep(lambda x: x + 1)").check().value
        assert box.call(lambda function: function(1), kept) == 2


def test_the_other_one_is_there_without_us(venv: Path) -> None:
    """The control: the guest's own Python finds the other."""
    program = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import cloudpickle; print(cloudpickle.__version__)'])"
    assert run(program, venv=venv).stdout == "0.0.1\n"
