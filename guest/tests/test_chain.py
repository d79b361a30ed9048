"""What a client needs to make an exception again is all there, bounded, and comes whatever the job wrote."""

from __future__ import annotations

import json
import unittest
from typing import Any

from harness import boot, pythons, versions
from keeper import Template
from test_invoke import parcel


def links(source: str, python: str | None = None) -> Any:
    got = boot(python or pythons()[0], "evaluate", "", said=parcel(source.encode()))
    assert got.only.kind == "raised", got
    return got.only.header["chain"]


def last(source: str, python: str | None = None) -> Any:
    return links(source, python)[-1]


class Chain(unittest.TestCase):
    def test_all_of_an_exception(self) -> None:
        source = """
class Base(ValueError):
    __slots__ = "slot", "empty"
class Own(Base):
    pass
e = Own("a", 2, 2.5, (1, [b"\\xff"]), {"k": None}, 1 << 70, float("-inf"), True)
e.amount, e.slot, e.lock, e.__wrapped__ = 5, "s", object(), 1
e.__notes__ = ["one", "two"]
raise e
"""
        for python in pythons():
            with self.subTest(python=python):
                (link,) = links(source, python)
                self.assertEqual(link["classes"], [["__main__", "Own"], ["__main__", "Base"]])
                self.assertEqual(link["bases"], ["ValueError", "Exception", "BaseException"])
                tagged = {"tuple": [1, [{"bytes": "ff"}]]}, {"dict": [["k", None]]}, {"int": hex(1 << 70)}
                numbers = {"float": "2.5"}, *tagged, {"float": "-inf"}
                self.assertEqual(link["args"], ["a", 2, *numbers, True])
                self.assertEqual(link["state"], [["slot", "s"], ["amount", 5]])
                self.assertEqual((link["left"], link["notes"], link["fields"]), (["lock"], ["one", "two"], []))
                self.assertEqual((link["cause"], link["context"], link["suppress"]), (None, None, False))

    def test_cold_and_warm_and_only_with_a_parcel(self) -> None:
        said = parcel(b"raise KeyError(1)")
        for python in pythons():
            with self.subTest(python=python), Template(python) as template:
                worker = template.worker()
                worker.give("evaluate", trailing=said)
                warm = template.finish(worker).only.header
                self.assertEqual(warm["chain"], links("raise KeyError(1)", python))
                self.assertEqual(warm["chain"][0]["args"], [1])
        self.assertEqual(boot(pythons()[0], "code", "-c", job="raise KeyError(1)").only.header["chain"], [])

    def test_what_led_to_it(self) -> None:
        source = """
try:
    try:
        raise KeyError("first")
    except KeyError as first:
        kept = first
        raise OSError(2, "no", "/x")
except OSError:
    raise RuntimeError("last") from kept
"""
        first, middle, end = links(source)
        self.assertEqual(
            [first["message"], middle["message"], end["message"]], ["'first'", "[Errno 2] no: '/x'", "last"]
        )
        self.assertEqual((end["cause"], end["context"], end["suppress"]), (0, 1, True))
        self.assertEqual((middle["cause"], middle["context"], middle["suppress"]), (None, 0, False))
        self.assertEqual(middle["fields"], [["errno", 2], ["strerror", "no"], ["filename", "/x"]])

    def test_groups(self) -> None:
        for python, version in versions().items():
            if version == "3.10":
                continue
            with self.subTest(python=python):
                source = (
                    "e = ValueError(1)\nraise BaseExceptionGroup('g', [e, ExceptionGroup('h', [KeyError(2)]), Exit()])"
                )
                one, two, inner, three, group = links(f"class Exit(SystemExit): pass\n{source}", python)
                self.assertEqual((group["message"], group["members"]), ("g", [0, 2, 3]))
                self.assertEqual((inner["message"], inner["members"], two["message"]), ("h", [1], "2"))
                self.assertEqual((one["args"], three["bases"][0]), ([1], "SystemExit"))
                source = "e = ValueError(1)\nraise ExceptionGroup('g', [e, e, ExceptionGroup('h', [e])])"
                self.assertEqual(links(source, python)[-1]["left"], ["exceptions[1]"])
                many = last("raise ExceptionGroup('g', [ValueError(n) for n in range(100)])", python)
                self.assertEqual((many["members"], len(many["left"])), (list(range(63)), 16))

    def test_circles_end(self) -> None:
        two = links("a, b = ValueError('a'), ValueError('b')\na.__cause__ = b; b.__cause__ = a\nraise a")
        self.assertEqual([link["cause"] for link in two], [None, 0])
        self.assertEqual(last("e = ValueError(); e.args = [e],\nraise e")["left"], ["args[0]"])
        self.assertEqual(last("x = []; x.append(x); e = ValueError(); e.x = x\nraise e")["left"], ["x"])

    def test_bounds(self) -> None:
        deep = links("e = None\nfor i in range(500):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e")
        self.assertEqual((len(deep), deep[-1]["args"], deep[0]["cause"]), (16, [499], None))
        for source in [
            "e = ValueError('x' * 10_000_000)\nfor i in range(500): setattr(e, f'a{i}', 'y' * 10_000)\nraise e",
            "x = []\nfor i in range(40): x = [x, x]\ne = ValueError(1)\ne.a = e.b = e.c = x\nraise e",
            "e = ValueError(*[{'k' * 100: [1.5] * 100}] * 1000)\nraise e",
            "raise type('T' * 10_000_000, (ValueError,), {'__module__': '\\x01' * 10_000_000})(1)",
            "e = ValueError(1 << 10_000_000, bytes(10_000_000), '\\x01' * 100_000)\nraise e",
            "e = ValueError()\ne.__notes__ = ['\\x01' * 100_000] * 1000\n"
            "for i in range(5000): setattr(e, 'é' * i, object())\nraise e",
            "e = None\nfor i in range(50):\n  n = ValueError('\\x01' * 9000)\n"
            "  n.__cause__ = e; n.a = '\\x01' * 9000; e = n\nraise e",
        ]:
            with self.subTest(source=source):
                found = links(source)
                self.assertLessEqual(len(json.dumps(found)), 160 << 10)
                self.assertTrue(found == [] or found[-1]["bases"][0] == "ValueError", found)
        large = last("e = ValueError('x' * 1_000_000); e.amount = 5; e.large = 'y' * 1_000_000\nraise e")
        self.assertEqual((large["state"], large["left"]), ([["amount", 5]], ["args[0]", "large"]))
        self.assertTrue(large["args"][0].startswith("xxx") and len(large["args"][0]) < 3000)

    def test_hostile_classes(self) -> None:
        for body in [
            "def __getattribute__(self, n): raise RuntimeError",
            "__dict__ = args = __cause__ = __context__ = property(lambda self: 1 / 0)",
            "def __str__(self): raise SystemExit",
            "__module__ = 5",
            "__class__ = int",
            "x = property.fget",
        ]:
            for python in pythons():
                with self.subTest(body=body, python=python):
                    real = "BaseException.__dict__['__dict__'].__get__"
                    source = f"class Bad(Exception):\n    {body}\n{real}(e := Bad(7))['a'] = 1\nraise e"
                    link = last(source, python)
                    self.assertEqual((link["classes"][0][1], link["args"], link["state"]), ("Bad", [7], [["a", 1]]))
        odd = "class Odd:\n    def __str__(self): return '<odd>'\n"
        self.assertEqual(last(f"{odd}raise ValueError(Odd())")["args"], ["<odd>"])
        self.assertEqual(last("class S(str): pass\ne = ValueError()\ne.s = S('s')\nraise e")["left"], ["s"])
        self.assertEqual(last("e = ValueError()\nvars(e)[5] = 1\nraise e")["state"], [])

    def test_broken_interpreter(self) -> None:
        for damage in [
            "import sys; sys.modules.clear()",
            "import sys; sys.setrecursionlimit(40)",
            "import builtins; vars(builtins).clear()",
            "import sys; sys.path[:] = []; sys.meta_path[:] = []",
        ]:
            for python in pythons():
                with self.subTest(damage=damage, python=python):
                    self.assertEqual(last(f"e = ValueError(1)\n{damage}\nraise e", python)["args"], [1])


if __name__ == "__main__":
    unittest.main()
