"""`@sandbox` on every kind of function, from every kind of place."""

from __future__ import annotations

import asyncio
import enum
import inspect
import math
import os
import pickle
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from own import helpers
from support import skip

import belljar
from belljar import sandbox

Program = Callable[..., "subprocess.CompletedProcess[str]"]
FACTOR = 2
LOCK = threading.Lock()


def helper(number: int) -> int:
    return number * FACTOR


@sandbox
def plain(number: int, *, more: int = 0) -> int:
    """Doubles."""
    return helper(number) + more


@sandbox(timeout=20, memory="256M")
async def eventually(number: int) -> int:
    await asyncio.sleep(0)
    return helper(number)


@sandbox
def factorial(number: int) -> int:
    return 1 if number < 2 else number * factorial(number - 1)


@sandbox
def calls_another(number: int) -> int:
    return plain(number) + factorial(3)


@sandbox
def fails(name: str) -> None:
    raise getattr(__import__("builtins"), name)("text")


class Account:
    interest = 2

    def __init__(self, amount: int) -> None:
        self.amount = amount

    @sandbox
    def grown(self, years: int) -> int:
        return int(self.amount * self.interest**years)

    @sandbox
    @staticmethod
    def above(number: int) -> int:
        return number + 1

    @staticmethod
    @sandbox
    def below(number: int) -> int:
        return number - 1

    @classmethod
    @sandbox
    def named(cls, text: str) -> str:
        return f"{cls.__name__} {text}"

    @sandbox
    @classmethod
    def rated(cls, number: int) -> int:
        return number * cls.interest


def test_it_looks_like_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain(21) == 42 and plain(21, more=1) == 43
    # Globals are those of the call, not of the definition.
    monkeypatch.setattr("test_decorator.FACTOR", 10)
    assert plain(21) == 210
    monkeypatch.undo()
    assert plain(21) == 42


def test_it_runs_elsewhere() -> None:
    @sandbox
    def where() -> tuple[int, str, list[str]]:
        import os

        return os.getpid(), os.getcwd(), sorted(os.environ)

    pid, folder, names = where()
    assert pid != os.getpid() and folder == "/jar" and "BELLJAR_BIN" not in names


def test_it_stays_what_it_was() -> None:
    assert (plain.__name__, plain.__doc__, plain.__module__) == ("plain", "Doubles.", __name__)
    assert str(inspect.signature(plain)) == "(number: 'int', *, more: 'int' = 0) -> 'int'"
    assert inspect.isfunction(plain) and inspect.iscoroutinefunction(eventually)
    assert plain.__wrapped__(21) == 42
    assert eventually.policy.values == {"timeout": 20.0, "memory": 256 << 20}


def test_methods_of_every_kind() -> None:
    account = Account(10)
    assert account.grown(3) == 80
    assert Account.grown(account, 1) == 20
    assert Account.above(1) == 2 and Account.below(1) == 0
    named: Any = Account.named
    assert named("x") == "Account x" and account.rated(4) == 8


def test_lambdas_closures_recursion_and_friends() -> None:
    base = 5
    assert sandbox(lambda number: number + base)(1) == 6
    base = 7
    assert sandbox(lambda number: number + base)(1) == 8
    assert factorial(20) == math.factorial(20)
    assert calls_another(1) == 8

    def outer(number: int) -> Callable[[int], int]:
        def inside(more: int) -> int:
            return number + more + base

        return inside

    assert sandbox(outer(1))(2) == 10
    assert sandbox(math.sqrt)(16.0) == 4.0


def test_helpers_and_classes_of_other_modules_go_along() -> None:
    assert helpers.sent(4) == 13
    assert helpers.whole_module(4) == 13
    moved = helpers.moved(helpers.Point(1, 2), 3)
    assert type(moved) is helpers.Point and moved == helpers.Point(8, 10)


def test_modules_are_shown_instead() -> None:
    folder = Path(__file__).parent / "own"

    @sandbox(modules=[folder])
    def looks() -> str:
        import own.helpers

        return str(own.__file__)

    # Control: without it there is no such module.
    with pytest.raises(ModuleNotFoundError, match="own"):
        sandbox(lambda: __import__("own"))()
    assert looks() == "/modules/own/__init__.py"
    with pytest.raises(belljar.PolicyError, match="no_such_module"):
        sandbox(modules=["no_such_module"])(helper)(1)


def test_async_functions() -> None:
    async def main() -> list[int]:
        return list(await asyncio.gather(*(eventually(number) for number in range(5))))

    assert asyncio.run(main()) == [0, 2, 4, 6, 8]
    outcome = asyncio.run(eventually.outcome(4))
    assert outcome.value == 8


def test_outcomes() -> None:
    @sandbox
    def talks() -> int:
        print("said")
        return 5

    outcome = talks.outcome()
    assert (outcome.value, outcome.stdout, outcome.status) == (5, "said\n", "returned")
    outcome = fails.outcome("ValueError")
    assert outcome.status == "raised" and outcome.value is None
    with pytest.raises(ValueError, match="text"):
        outcome.check()


def test_prints_go_where_the_caller_prints(capsys: pytest.CaptureFixture[str]) -> None:
    @sandbox
    def talks(word: str) -> None:
        import sys

        print(word)
        print("err", file=sys.stderr)

    talks("é")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("é\n", "err\n")
    heard: list[tuple[str, str]] = []
    talks.options(on_output=lambda stream, text: heard.append((stream, text)))("x")
    assert ("stdout", "x\n") in heard and capsys.readouterr().out == ""


def test_prints_are_live(tmp_path: Path) -> None:
    def tell(stream: str, text: str) -> None:
        (tmp_path / "go").touch()

    @sandbox(mount=f"{tmp_path}:/box", on_output=tell, timeout=20)
    def waits() -> str:
        import os
        import time

        print("ready", flush=True)
        while not os.path.exists("/box/go"):
            time.sleep(0.005)
        return "went"

    assert waits() == "went"


def test_what_a_guest_raises_is_raised_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LookupError) as caught:
        fails("KeyError")
    error = caught.value
    assert isinstance(error, belljar.GuestError) and isinstance(error, KeyError)
    assert error.type_name == "KeyError" and error.traceback is not None
    assert "fails" in error.traceback and error.line == fails.__wrapped__.__code__.co_firstlineno + 2
    assert capsys.readouterr().err == ""


def test_limits_and_exits() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(belljar.TimeoutExceeded):
        sandbox(timeout=0.3)(forever)()

    def leaves() -> None:
        raise SystemExit(3)

    with pytest.raises(belljar.GuestError, match="code 3") as caught:
        sandbox(leaves)()
    assert caught.value.exit_code == 3
    with pytest.raises(belljar.GuestError):
        sandbox(lambda: __import__("os")._exit(0))()


def test_options_are_a_copy() -> None:
    copy = plain.options(memory="128M", timeout=5)
    assert copy.policy.values == {"memory": 128 << 20, "timeout": 5} and plain.policy.values == {}
    assert copy(4) == 8
    assert copy.options(memory=None).policy.values == {"timeout": 5}
    with pytest.raises(TypeError, match="did you mean 'memory'"):
        plain.options(memroy=1)  # type: ignore[call-arg]


def test_wrong_uses_are_told_at_once() -> None:
    wrong: Any
    for wrong in (3, "code", Account):
        with pytest.raises(TypeError, match="sandbox"):
            sandbox(wrong)
    with pytest.raises(TypeError, match="on_output"):
        sandbox(on_output=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="memory="):
        sandbox(memory=1.5)  # type: ignore[call-overload]


def test_what_cannot_be_sent_is_named_before_anything_runs() -> None:
    with pytest.raises(belljar.ValueRefused, match=r"args\[0\]\['a'\]\[1\] \(lock\)"):
        sandbox(lambda value: None)({"a": [1, LOCK]})
    with pytest.raises(belljar.ValueRefused, match="'LOCK', a global of"):
        sandbox(lambda: LOCK)()
    inner = threading.Lock()
    with pytest.raises(belljar.ValueRefused, match="'inner', a variable that"):
        sandbox(lambda: inner)()
    with open(os.devnull) as file, pytest.raises(belljar.ValueRefused, match="an open file"):
        sandbox(lambda value: None)(file)


def test_what_the_guest_does_not_have_is_named() -> None:
    import numpy

    with pytest.raises(belljar.ValueRefused, match=r"'numpy'.*(\n.*)*venv="):
        sandbox(lambda: numpy.zeros(3))()


def test_an_unchanged_pickle_is_used_again() -> None:
    callee: Any = plain.__dict__["__belljar_callee__"]
    plain(1)
    first = callee._captured._cached
    plain(2)
    assert callee._captured._cached is first

    state = [1]
    changing = sandbox(lambda: state)
    assert changing() == [1]
    state.append(2)
    assert changing() == [1, 2]


def test_map_is_lazy_ordered_and_bounded() -> None:
    taken: list[int] = []

    def source() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = plain.map(source(), ahead=3)
    assert taken == []
    assert [next(results) for _ in range(4)] == [0, 2, 4, 6]
    assert len(taken) <= 4 + 3
    results.close()  # type: ignore[attr-defined]
    assert list(plain.starmap([(1,), (2,)])) == [2, 4]
    assert list(sandbox(pow).map([2, 3], [3, 2, 9])) == [8, 9]


def test_map_raises_at_the_item_that_fails() -> None:
    @sandbox
    def inverse(number: int) -> float:
        return 1 / number

    results = inverse.map([1, 2, 0, 4])
    assert [next(results), next(results)] == [1.0, 0.5]
    with pytest.raises(ZeroDivisionError):
        next(results)
    statuses = [outcome.status for outcome in inverse.map([1, 0, 4], outcomes=True)]
    assert statuses == ["returned", "raised", "returned"]
    with pytest.raises(TypeError, match="ahead"):
        inverse.map([1], ahead=0)


def test_map_of_async_functions() -> None:
    async def main() -> list[int]:
        return [number async for number in eventually.map(range(6), ahead=3)]

    assert asyncio.run(main()) == [0, 2, 4, 6, 8, 10]


def test_decorated_functions_pickle() -> None:
    assert pickle.loads(pickle.dumps(plain)) is plain
    assert pickle.loads(pickle.dumps(plain.map)).__self__ is plain.__dict__["__belljar_callee__"]
    import cloudpickle

    secret = 5
    again = cloudpickle.loads(cloudpickle.dumps(sandbox(timeout=7)(lambda number: number + secret)))
    assert again(1) == 6 and again.policy.values == {"timeout": 7.0}
    assert again.outcome(2).value == 7


def test_a_main_program_a_sibling_and_a_shell(program: Program, tmp_path: Path) -> None:
    (tmp_path / "sibling.py").write_text(
        "OFFSET = 5\nclass Box:\n    size = 3\ndef beside(x): return x + OFFSET + Box().size\n"
    )
    source = """
from belljar import sandbox
import sibling
from sibling import beside, Box
class Local:
    def __init__(self, x): self.x = x
def near(x): return Local(x).x + beside(x)
@sandbox
def work(x, box): return near(x) + box.size + sibling.beside(1)
print(work(1, Box()))
"""
    assert program(source, cwd=tmp_path).stdout == "22\n"
    typed = "from belljar import sandbox\n@sandbox\ndef f(x):\n    return g(x) + 1\n\ndef g(x):\n    return x * 2\n\nprint(f(20))\n"
    import sys

    shell = subprocess.run([sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, timeout=60)
    assert shell.stdout == "41\n", shell.stderr


def test_across_minor_versions_a_function_goes_as_source(tmp_path: Path) -> None:
    import sys

    others = [name for name in ("3.10", "3.12", "3.13") if name != f"{sys.version_info[0]}.{sys.version_info[1]}"]
    for version in others:
        try:
            belljar.run("1", python=version)
        except belljar.SetupError as error:
            assert f"{version} was not found" in str(error), error
            continue
        break
    else:
        skip("interpreters")

    @sandbox(python=version)
    def which(number: int) -> tuple[int, int, int]:
        import sys

        return sys.version_info[0], sys.version_info[1], helper(number)

    assert which(4) == (*map(int, version.split(".")), 8)
    with pytest.raises(belljar.ValueRefused, match=rf"Python {version}"):
        sandbox(python=version)(lambda: 1)()


def test_classes_that_are_local_to_a_function_come_back() -> None:
    """They go by value, and come back as the class that the annotation names, as those of a module do."""

    @dataclass
    class Point:
        x: int

    class Pair(NamedTuple):
        left: int
        right: int

    class Colour(enum.Enum):
        RED = 1

    @sandbox
    def points(point: Point) -> list[Point]:
        return [point, Point(point.x + 1)]

    @sandbox
    def others() -> tuple[Pair, Colour]:
        return Pair(1, 2), Colour.RED

    assert points(Point(1)) == [Point(1), Point(2)]
    pair, colour = others()
    assert type(pair) is Pair and pair == (1, 2) and colour is Colour.RED


def test_a_guest_uses_nothing_else_of_this_package() -> None:
    with pytest.raises(belljar.ValueRefused, match=r"belljar\.run does not exist inside a jar"):
        run = belljar.run
        sandbox(lambda: run)()
