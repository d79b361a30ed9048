"""Jobs with a parcel, cold and on a worker, with every interpreter."""

from __future__ import annotations

import pickle
import struct
import unittest
from collections.abc import Callable
from typing import Any

from harness import Frame, Result, boot, pythons
from keeper import Template


def parcel(*parts: bytes, leave: int = 0) -> bytes:
    body = b""
    for part in parts:
        body += bytes(-len(body) % 64) + part
    header = struct.pack(f"<{len(parts) + 1}Q", leave, *map(len, parts))
    return struct.pack("<BBHIQ", 34, 1, 0, len(header), len(body)) + header + body


def head(value: Any) -> bytes:
    data = pickle.dumps(value, 4)
    return struct.pack("<BBBII", 1, 0, 1, len(data), 0) + data


def call(source: str, leave: int = 0) -> bytes:
    """A call of `eval`: functions of this file are not in the guest."""
    return parcel(head((eval, (source,), {})), leave=leave)


class Both(unittest.TestCase):
    """A job cold and on a worker, with every interpreter."""

    def both(self, kind: str, said: bytes, check: Callable[[Result], None], name: str = "") -> None:
        for python in pythons():
            with self.subTest(python=python, kind="cold"):
                check(boot(python, kind, name, said=said))
            with self.subTest(python=python, kind="warm"), Template(python) as template:
                worker = template.worker()
                worker.give(kind, origin=name, trailing=said)
                check(template.finish(worker))


class EveryPython(Both):
    def test_a_call_gives_its_value(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.stdout), (0, "printed\n"), result)
            self.assertEqual(result.only.kind, "returned", result)
            self.assertEqual(result.only.header, {"encoding": "belljar", "parts": [len(result.only.body)]})
            self.assertIn(b"text", result.only.body)

        self.both("invoke", call("print('printed') or 'text'"), check)

    def test_a_call_that_raises_says_so(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.only.kind), (1, "raised"), result)
            self.assertEqual(result.only.header["type_name"], "ZeroDivisionError")

        self.both("invoke", call("1 / 0"), check)

    def test_items_are_given_as_leave_is(self) -> None:
        more = struct.pack("<BBHIQQ", 33, 1, 0, 0, 8, 9)

        def check(result: Result) -> None:
            self.assertEqual([frame.kind for frame in result.frames], ["item"] * 3 + ["returned"], result)
            self.assertIn(b"item 2", result.frames[2].body)

        self.both("invoke", call("('item %d' % n for n in range(3))", leave=2) + more, check)

    def test_several_calls_share_a_process(self) -> None:
        rows = ("'one'",), ("1 / 0",), ("object()",), ("'two'",)

        def all_of_them(result: Result) -> None:
            self.assertEqual([frame.kind for frame in result.frames], ["item"] * 4 + ["returned"], result)
            bodies = [frame.body for frame in result.frames]
            for word, body in zip((b"one", b"ZeroDivisionError", b"ValueRefused", b"two"), bodies, strict=False):
                self.assertIn(word, body)

        def up_to_the_first(result: Result) -> None:
            self.assertEqual([frame.kind for frame in result.frames], ["item", "raised"], result)
            self.assertIn(b"one", result.frames[0].body)
            self.assertEqual(result.frames[1].header["type_name"], "ZeroDivisionError")

        def exits(result: Result) -> None:
            self.assertEqual([frame.kind for frame in result.frames], ["item", "exited"], result)
            self.assertIn(b"one", result.frames[0].body)

        self.both("invoke", parcel(head((eval, rows, (0.0, True))), leave=4), all_of_them)
        # In one batch, if nothing hinders it; what came before an end is not lost.
        self.both("invoke", parcel(head((eval, rows, (60.0, False))), leave=4), up_to_the_first)
        ends = ("'one'",), ("exit(3)",), ("'two'",)
        self.both("invoke", parcel(head((eval, ends, (60.0, True))), leave=3), exits)

    def test_evaluated_text_gives_its_last_expression(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.stdout, result.only.kind), (0, "at exit\n", "returned"), result)
            self.assertIn(b"given and more", result.only.body)

        source = b"import atexit\natexit.register(print, 'at exit')\nx + ' and more'"
        self.both("evaluate", parcel(source, head({"x": "given"})), check)

    def test_evaluated_text_without_a_value_gives_none(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.only), (0, Frame("returned", None, b"")))

        self.both("evaluate", parcel(b"x = 1"), check)

        def refused(result: Result) -> None:
            self.assertEqual((result.code, result.only.kind, result.only.body), (0, "returned", b""))
            self.assertEqual(result.only.header["refused"]["type"], "object")

        self.both("evaluate", parcel(b"object()"), refused)

    def test_evaluated_text_has_a_name_in_tracebacks(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.only.kind), (1, "raised"), result)
            frames = result.only.header["frames"]
            self.assertEqual([(item["file"], item["line"]) for item in frames], [("<cell>", 3), ("<cell>", 2)])
            self.assertIn('File "<cell>", line 2, in f', result.stderr)

        self.both("evaluate", parcel(b"def f():\n    1 / 0\nf()"), check, name="<cell>")


if __name__ == "__main__":
    unittest.main()
