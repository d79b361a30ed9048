"""What the host is told of an exception is right, bounded, and comes whatever the job has broken."""

from __future__ import annotations

import tempfile
import unittest
from typing import Any

from harness import boot, pythons


def told(source: str, python: str | None = None, **options: Any) -> Any:
    got = boot(python or pythons()[0], "code", "-c", job=source, **options)
    assert got.only.kind == "raised", got
    return got.only.header


class Report(unittest.TestCase):
    def test_all_of_an_exception(self) -> None:
        source = "def f(x):\n    return x + missing_nam\nmissing_name = 1\nf(2)\n"
        for python in pythons():
            with self.subTest(python=python):
                header = told(source, python)
                modern = header["frames"][0]["column"] is not None
                self.assertEqual(header["type_name"], "NameError")
                self.assertEqual(header["message"], "name 'missing_nam' is not defined")
                self.assertEqual((header["line"], header["column"]), (2, 16 if modern else None))
                frames = [(f["file"], f["line"], f["function"], f["source"]) for f in header["frames"]]
                self.assertEqual(
                    frames,
                    [("<string>", 4, "<module>", "f(2)"), ("<string>", 2, "f", "return x + missing_nam")],
                )
                self.assertEqual(header["names"], ["missing_name"])
                self.assertEqual(header["bases"], ["NameError", "Exception", "BaseException"])
                self.assertEqual(header["args"], [header["message"]])
                self.assertIn("return x + missing_nam\n", header["traceback"])
                self.assertNotIn("boot.py", header["traceback"])

    def test_syntax_error_has_a_place(self) -> None:
        for python in pythons():
            header = told("x = 1\ny = (2 +\n", python)
            self.assertEqual((header["type_name"], header["line"], header["column"]), ("SyntaxError", 2, 5))
            self.assertEqual(header["frames"], [])

    def test_place_is_in_the_job_not_in_the_library(self) -> None:
        for python in pythons():
            header = told("import json\n\njson.loads('{')", python)
            self.assertEqual(header["line"], 3)
            self.assertEqual(header["type_name"], "json.decoder.JSONDecodeError")
            self.assertEqual(header["frames"][-1]["function"], "raw_decode")
            self.assertIn("self.scan_once", header["frames"][-1]["source"])

    def test_column_counts_characters(self) -> None:
        for python in pythons():
            header = told("a = '\U0001f40d\u00e9', 1 / 0", python)
            self.assertIn(header["column"], (11, None))

    def test_generated_code_does_not_borrow_lines(self) -> None:
        source = "# one\n# two\n# three\nexec(compile('def g():\\n    1/0', '<string>', 'exec'))\ng()"
        header = told(source)
        self.assertEqual([f["source"] for f in header["frames"]], ["g()", None])
        self.assertEqual(header["line"], 5)

    def test_causes_errno_filename(self) -> None:
        header = told("try:\n    open('/nowhere/x')\nexcept OSError as e:\n    raise RuntimeError('no') from e")
        self.assertEqual(header["causes"], ["FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/x'"])
        header = told("open('/nowhere/x')")
        self.assertEqual((header["errno"], header["filename"]), (2, "/nowhere/x"))
        self.assertEqual(header["bases"][:2], ["FileNotFoundError", "OSError"])

    def test_attribute_and_import_names(self) -> None:
        self.assertEqual(told("class A:\n    def colour(self): pass\nA().color")["names"], ["colour"])
        self.assertEqual(told("import math\nmath.sqroot(2)")["names"][0], "sqrt")
        self.assertIn("loads", told("from json import lods")["names"])

    def test_bounds(self) -> None:
        self.assertLessEqual(len(told("raise ValueError('m' * 10_000_000 + 'end')")["message"]), 66 << 10)
        self.assertTrue(told("raise ValueError('m' * 10_000_000 + 'end')")["traceback"].endswith("mend\n"))
        header = told("def f(n):\n    g(n)\ndef g(n):\n    f(n + 1)\nf(0)")
        self.assertEqual((len(header["frames"]), header["frames"][0]["function"]), (100, "<module>"))
        self.assertIn(header["frames"][-1]["function"], "fg")
        header = told("raise ValueError('\\x01' * 10_000_000)")
        self.assertTrue(header["message"].startswith("\x01"))
        header = told("x = 1;" * 5000 + "1/0")
        self.assertLessEqual(len(header["frames"][0]["source"]), 500)
        header = told("e = None\nfor i in range(500):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e")
        self.assertEqual(len(header["causes"]), 16)

    def test_hostile_exceptions(self) -> None:
        for body, message in [
            ("def __str__(self): raise RuntimeError", "<exception str() failed>"),
            ("def __str__(self): return 1", "<exception str() failed>"),
            ("def __str__(self): raise SystemExit", "<exception str() failed>"),
            ("def __str__(self): return '\\udc80 \\ud800'", "? ?"),
            ("def __getattribute__(self, n): raise RuntimeError", ""),
            ("__module__ = 5", ""),
            ("__class__ = int", ""),
        ]:
            for python in pythons():
                with self.subTest(body=body, python=python):
                    header = told(f"class Bad(Exception):\n    {body}\nraise Bad", python)
                    self.assertEqual((header["type_name"], header["message"]), ("Bad", message))
        loop = "a = ValueError('a'); b = ValueError('b')\na.__cause__ = b; b.__cause__ = a\nraise a"
        self.assertEqual(told(loop)["causes"], ["ValueError: b"])

    def test_broken_interpreter(self) -> None:
        for damage in [
            "import sys; sys.modules.clear()",
            "import json, traceback; json.dumps = traceback.print_exception = None",
            "import sys; sys.stderr = None; sys.stdout = None",
            "import sys; sys.stderr = sys.stdout = 5; del sys.__excepthook__",
            "import sys; sys.setrecursionlimit(40)",
            "import builtins; vars(builtins).clear()",
            "import posix; vars(posix).clear()",
            "import os; os.write = None; import sys; sys.settrace(lambda *a: None)",
            "import sys; sys.path[:] = []; sys.meta_path[:] = []",
        ]:
            for python in pythons():
                with self.subTest(damage=damage, python=python):
                    self.assertIn("nothing", told(f"nothing = 1\n{damage}\nnothin", python)["names"])

    def test_no_memory_left(self) -> None:
        source = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))
keep = []
size = 1 << 24
while True:
    try:
        keep.append(bytearray(size))
    except MemoryError:
        size //= 2
        if size < 64:
            break
small = []
while True:
    small = [small, small]
"""
        for python in pythons():
            with self.subTest(python=python):
                self.assertEqual(told(source, python)["type_name"], "MemoryError")

    def test_threads_keep_their_stderr(self) -> None:
        source = """
import sys, threading, time
def talk():
    for i in range(2000):
        print(i, file=sys.stderr)
threading.Thread(target=talk).start()
while True:
    time.sleep(0.001)
    raise ValueError('x' * 100000)
"""
        got = boot(pythons()[0], "code", "-c", job=source)
        numbers = [line for line in got.stderr.split() if line.isdigit()]
        self.assertEqual(len(numbers), 2000)
        self.assertNotIn("\n5\n", got.only.header["traceback"])

    def test_a_folder_is_not_source(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            header = told(f"exec(compile('1/0', {folder!r}, 'exec'))")
            self.assertEqual(header["frames"][-1]["source"], None)


class Call(unittest.TestCase):
    def value(self, job: str, *args: Any, **kwargs: Any) -> bytes:
        results = set()
        for python in pythons():
            got = boot(python, "call", "call", job=job, arguments={"args": args, "kwargs": kwargs})
            self.assertEqual((got.code, got.stderr, got.only.kind), (0, "", "returned"), got)
            self.assertEqual(got.only.header, {"encoding": "json"})
            results.add(got.only.body)
        self.assertEqual(len(results), 1)
        return results.pop()

    def test_forms(self) -> None:
        self.assertEqual(self.value("lambda x: x * 2", 21), b"42")
        self.assertEqual(self.value("  lambda x, *, y: [x, y]\n", 1, y=None), b"[1, null]")
        self.assertEqual(self.value("import math\ndef f(x):\n    return math.sqrt(x)\n", 4), b"2.0")
        self.assertEqual(self.value("async def f(x):\n    return {'a': (x,)}\n", "\u00e9"), b'{"a": ["\\u00e9"]}')
        self.assertEqual(self.value("def g(x): return x\nf = g", True), b"true")
        self.assertEqual(self.value("def g(x): return x\nlambda x: g(x)", 1), b"1")
        self.assertEqual(self.value("len", [1, 2]), b"2")

    def test_refusals(self) -> None:
        for job, message in [
            ("lambda: {'a': [1, {2}]}", "result['a'][1] cannot be sent as JSON: set is not a JSON type"),
            (
                "lambda: [float('nan')]",
                "result[0] cannot be sent as JSON: Out of range float values are not JSON compliant",
            ),
            ("1 + 1", "the code of a call must be a function, not int"),
            ("x = 1\nimport os", "the code of a call must be a function, or end with one"),
            ("", "the code of a call must be a function, or end with one"),
        ]:
            got = boot(pythons()[0], "call", "call", job=job, arguments={"args": [], "kwargs": {}})
            self.assertEqual((got.code, got.only.kind), (1, "raised"))
            self.assertTrue(got.only.header["message"].startswith(message), got.only.header["message"])
            self.assertNotIn("/call.py", got.stderr)

    def test_errors_show_the_function(self) -> None:
        got = boot(
            pythons()[0], "call", "call", job="def f(x):\n    return 1 / x", arguments={"args": [0], "kwargs": {}}
        )
        header = got.only.header
        self.assertEqual((header["type_name"], header["line"]), ("ZeroDivisionError", 2))
        self.assertEqual([f["source"] for f in header["frames"]], ["return 1 / x"])

    def test_no_slow_imports(self) -> None:
        job = "def f():\n    import sys\n    return [n for n in ('json', 'ast', 're', 'traceback') if n in sys.modules]"
        python = next(
            p
            for p in pythons()
            if boot(p, "code", "-c", job="import sys; print('re' in sys.modules)").stdout == "False\n"
        )
        got = boot(python, "call", "call", job=job, arguments={"args": [], "kwargs": {}})
        self.assertEqual(got.only.body, b"[]")

    def test_output_is_flushed_first(self) -> None:
        job = "lambda: print('partial', end='')"
        self.assertEqual(
            boot(pythons()[0], "call", "call", job=job, arguments={"args": [], "kwargs": {}}).stdout, "partial"
        )


if __name__ == "__main__":
    unittest.main()
