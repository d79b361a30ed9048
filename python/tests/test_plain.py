"""Functions that go without cloudpickle, and those that do not."""

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from belljar import Sandbox, sandbox
from belljar._capture import plain as _plain
from belljar._capture.own import Own
from belljar._capture.plain import Involved, Plain
from belljar._guest import guest
from belljar._policy import Policy

FACTOR = 3
PAIR = (1, (2.5, "a"))
STATE = [1]


def own(x: int) -> int:
    return x + 1


def simple(x: int, by: int = 2) -> list[int]:
    """Doubles, unless told."""
    return [x * by * FACTOR, PAIR[0], int(math.sqrt(16))]


def calls_own(x: int) -> int:
    return own(x)


def reads_state() -> int:
    return STATE[0]


def recursive(x: int) -> int:
    return 1 if x == 0 else x * recursive(x - 1)


def enclosing(y: int) -> Any:
    return lambda x: x + y


def by_keyword(*, x: int = 1) -> int:
    return x


def bound(function: Any) -> Own:
    return Own(guest(Policy({}), None), function.__module__)


def is_plain(function: Any) -> bool:
    try:
        Plain(function, bound(function))
    except Involved:
        return False
    return True


def test_which_functions_are_plain() -> None:
    assert all(map(is_plain, (simple, own, lambda: json.dumps(1), lambda: OrderedDict(a=1), lambda: (len, dict))))
    involved: list[Callable[..., Any]] = [calls_own, reads_state, recursive, enclosing(1), by_keyword]
    assert not any(map(is_plain, involved))
    marked = FunctionType(own.__code__, globals())
    marked.__dict__["mark"] = 1
    assert not is_plain(marked)


def test_a_plain_function_is_in_the_guest_what_it_is_here() -> None:
    def told() -> Any:
        import sys

        frame = sys._getframe()
        function = next(item for item in __import__("gc").get_referrers(frame.f_code) if hasattr(item, "__globals__"))
        names = function.__name__, function.__qualname__, function.__module__, function.__doc__
        scope = function.__globals__
        builtins = scope["__builtins__"] is vars(sys.modules["builtins"])
        return (
            names,
            function.__annotations__,
            scope["__name__"],
            scope.get("__file__"),
            function.__code__.co_filename,
            builtins,
        )

    told.__annotations__ = {"return": int | None, "x": list[tuple[int, str]], "y": "text"}
    assert is_plain(told)
    names, annotations, name, file, code, builtins = sandbox(told)()
    # Nothing that the code does not name.
    assert annotations == {}
    assert names == (told.__name__, told.__qualname__, told.__module__, told.__doc__)
    assert (name, file, code, builtins) == (__name__, __file__, __file__, True)


def test_a_function_that_the_guest_has_goes_by_its_name() -> None:
    assert Plain(json.dumps, bound(json.dumps)).by_name  # type: ignore[arg-type]
    with Sandbox() as box:
        assert box.call(json.dumps, [1]) == "[1]"


def test_its_arguments_defaults_and_constants_arrive() -> None:
    called = sandbox(simple)
    assert called(5) == [30, 1, 4] == simple(5)
    assert called(5, by=1) == [15, 1, 4]
    given = [0, -1, 2**80, -0.0, float("inf"), "\udcff", b"\0", None, True]
    back = sandbox(lambda *args, **kwargs: [list(args), kwargs])(*given, more=1.5)
    assert repr(back) == repr([given, {"more": 1.5}])


def test_a_package_is_there_with_the_parts_that_are_used() -> None:
    def root() -> str:
        return str(xml.etree.ElementTree.fromstring("<a/>").tag)

    assert is_plain(root)
    assert sandbox(root)() == "a"


def test_what_has_changed_is_seen_at_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    called = sandbox(simple)
    assert called(1) == [6, 1, 4]
    monkeypatch.setitem(globals(), "FACTOR", 100)
    assert called(1) == [200, 1, 4]
    monkeypatch.setattr(simple, "__defaults__", (7,))
    assert called(1) == [700, 1, 4]
    # From plain to involved, and back.
    monkeypatch.setitem(globals(), "FACTOR", [1])
    assert repr(called(1)[0]) == repr([1] * 7)
    monkeypatch.setitem(globals(), "FACTOR", 1)
    assert called(1) == [7, 1, 4]
    late = FunctionType(compile("__import__('os') and later", "late", "eval"), scope := {"__name__": "__main__"})
    with pytest.raises(NameError):
        sandbox(late)()
    again = sandbox(late)
    for value in (None, 1):
        scope["later"] = value  # type: ignore[assignment]
        assert again() is value or again() == value


def test_looked_at_again_it_is_the_same_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    there = (mine := bound(simple)).guest
    plain = Plain(simple, mine)  # type: ignore[arg-type]
    assert plain.is_same(there)
    assert not plain.is_same(guest(Policy({}), None))
    changes: list[tuple[Any, str, Any]] = [
        (simple, "__code__", own.__code__),
        (simple, "__defaults__", (3,)),
        (simple, "__kwdefaults__", {"by": 1}),
        (simple, "mark", 1),
    ]
    for place, name, value in changes:
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value, raising=False)
            assert not plain.is_same(there), name
        assert plain.is_same(there), name
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "int", float)
        assert not plain.is_same(there)


def test_neither_side_loads_cloudpickle_for_it(program: Any) -> None:
    source = """
import sys
from belljar import Sandbox, sandbox
def plain():
    import sys
    return sorted({"cloudpickle", "_pickle"} & set(sys.modules))
def helper():
    return plain
first = sandbox(plain).outcome()
print(first.value, first.cold is not None, "cloudpickle" in sys.modules)
sandbox(lambda: helper)
print(sandbox(lambda: helper()())(), "cloudpickle" in sys.modules)
"""
    first, second = program(source).stdout.splitlines()
    assert first == "[] True False"
    assert second == "['_pickle', 'cloudpickle'] True"


def test_constants_are_those_that_marshal_knows() -> None:
    class Number(int):
        pass

    there = bound(simple)
    for value in (Number(1), [], {}, object(), sys.stdout, [].append, Number, own):
        with pytest.raises(Involved):
            _plain.told(value, there)
    assert _plain.told(math.sqrt, there) == (_plain.NAME, "math", "sqrt")
    assert _plain.told((1, None), there) == (_plain.TUPLE, [(_plain.CONSTANT, 1), (_plain.CONSTANT, None)])
