"""A job under the guest runtime ends and looks as under plain Python, and says so in exactly one frame."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from harness import Result, boot, plain, pythons

MAIN = """
import sys
show = {k: v if k != '__loader__' else str(v).split(' at ')[0] for k, v in globals().items() if k != 'sys'}
print(show, sys.argv, sys.path[:1], sys.orig_argv[1:], __name__, sys.modules['__main__'].__dict__ is globals())
"""

# name, source, kind of frame
JOBS = [
    ("nothing", "", "returned"),
    ("prints", "print('hi')", "returned"),
    ("main", MAIN, "returned"),
    ("raises", "def f():\n    return 1 / 0\n\nf()", "raised"),
    ("chained", "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e", "raised"),
    ("context", "try:\n    {}['a']\nexcept KeyError:\n    undefined", "raised"),
    ("syntax", "x = 1\nif x\n    pass", "raised"),
    ("indentation", "if 1:\npass", "raised"),
    ("null byte in text", "eval('1\\0')", "raised"),
    ("recursion", "def f(): f()\nf()", "raised"),
    ("own class", "class Bad(Exception): pass\nraise Bad('x')", "raised"),
    ("interrupt", "raise KeyboardInterrupt('stop')", "raised"),
    ("exit", "import sys; sys.exit()", "exited"),
    ("exit 3", "import sys; sys.exit(3)", "exited"),
    ("exit 256", "import sys; sys.exit(256)", "exited"),
    ("exit -1", "import sys; sys.exit(-1)", "exited"),
    ("exit big", "import sys; sys.exit(1 << 80)", "exited"),
    ("exit text", "import sys; sys.exit('sorry')", "exited"),
    ("exit tuple", "import sys; sys.exit((1, 2))", "exited"),
    ("exit True", "raise SystemExit(True)", "exited"),
    ("exit subclass", "class Stop(SystemExit): pass\nraise Stop(5)", "exited"),
    ("own hook", "import sys\nsys.excepthook = lambda *a: print('hook', a[1])\n1/0", "raised"),
    ("no hook", "import sys\ndel sys.excepthook\n1/0", "raised"),
    ("atexit", "import atexit\natexit.register(print, 'bye')\nprint('x', end='')", "returned"),
    ("atexit code", "import atexit, os\natexit.register(os._exit, 9)", "returned"),
    ("atexit after raise", "import atexit\natexit.register(print, 'bye')\n1/0", "raised"),
    (
        "thread outlives",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.1), print('t'))).start()",
        "returned",
    ),
    (
        "thread raises",
        "import threading\nt = threading.Thread(target=lambda: 1/0, name='T')\nt.start(); t.join()",
        "returned",
    ),
    (
        "fork exits",
        "import os, sys\np = os.fork()\nif not p: sys.exit(7)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
        "returned",
    ),
    (
        "fork raises",
        "import os\np = os.fork()\nif not p: 1/0\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
        "returned",
    ),
    ("stderr", "import sys; print('e', file=sys.stderr)", "returned"),
    ("future", "def f(x: undefined): pass", "raised"),
    ("docstring", "'doc'\nprint(__doc__)", "returned"),
    ("note", "e = ValueError('x')\ngetattr(e, 'add_note', print)('note')\nraise e", "raised"),
    (
        "last",
        "import atexit, sys\natexit.register(lambda: print(sys.last_traceback.tb_lineno, sys.last_value))\n\n1/0",
        "raised",
    ),
    ("stdin", "import sys; print(sys.stdin.read())", "returned"),
    (
        "patched builtins",
        "import builtins\nfor n in 'BaseException type len issubclass id getattr'.split(): delattr(builtins, n)\nx",
        "raised",
    ),
    ("dubious", "import re\nprint('\\d', 1 is 1)\n", "returned"),
    ("dataclass", "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(1))", "returned"),
    ("pickle", "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)", "returned"),
    ("no newline", "print(1, end='')", "returned"),
    ("finalizer", "class A:\n    def __del__(self): print('del')\na = A()", "returned"),
    ("slotted", "class A:\n    __slots__ = ()\n    def __del__(self): print('del')\na = A()", "returned"),
    ("inherited", "class A:\n    def __del__(self): print('del')\nclass B(A): pass\na = B()", "returned"),
    ("late", "class A: pass\na = A()\nA.__del__ = lambda self: print('del')", "returned"),
    ("cycle", "class A:\n    def __del__(self): print('del')\na = A()\na.a = a\ndel a", "returned"),
    ("elsewhere", "import os\nclass A:\n    def __del__(self): print('del')\nos.a = A()", "returned"),
    ("collected", "import gc\nclass A:\n    def __del__(self): print('del')\na = A()\ngc.collect()", "returned"),
    ("subclass", "class A(int):\n    def __del__(self): print('del')\na = A(1)", "returned"),
    ("suspended", "def f():\n    try: yield\n    finally: print('fin')\na = f()\nnext(a)", "returned"),
    ("open file", "f = open(1, 'w', closefd=False)\nf.write('x')", "returned"),
    ("own stdout", "import sys\nsys.stdout = open(1, 'w', closefd=False)\nprint('x')", "returned"),
    ("swapped", "import sys\nprint('x', end='')\nsys.stdout = sys.stderr", "returned"),
    ("closed stdout", "import os\nos.close(1)\nprint('x', end='')", "returned"),
    ("unicode", "print('h\u00e9 \U0001f40d'); raise ValueError('\u00e9')", "raised"),
]


def shown(result: Result) -> tuple[object, ...]:
    """What a user sees, without addresses and without the two frames that the runtime takes of the stack."""
    text = re.sub(r" at 0x[0-9a-f]+", "", f"{result.stdout}\0{result.stderr}")
    text = re.sub(r"repeated \d+ more", "repeated N more", text)
    return result.code, *text.split("\0")


class EveryPython(unittest.TestCase):
    def same(self, got: Result, expected: Result, kind: str | None = None) -> None:
        self.assertEqual(shown(got), shown(expected))
        if kind:
            self.assertEqual(got.only.kind, kind)

    def test_code_is_like_plain_c(self) -> None:
        for name, source, kind in JOBS:
            for python in pythons():
                with self.subTest(python=python, job=name):
                    expected = plain(python, "-c", source, "a", "-b", stdin=b"in")
                    self.same(boot(python, "code", "-c", "a", "-b", job=source, stdin=b"in"), expected, kind)

    def test_what_nobody_would_notice_is_left_out(self) -> None:
        """The interpreter tells under -v what it tidies up; it does not come to that if all that is left is plain."""
        jobs = "print(1)", "def f(): return 1\nclass A: pass\na = [A()]\nprint(f())"
        for python in pythons():
            version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
            for job in jobs:
                with self.subTest(python=python, job=job):
                    # Without site: what a machine has installed may want to be told of the end.
                    results = [
                        boot(python, "code", "-c", job=text, flags=("-S", "-v"))
                        for text in (job, f"{job}\na = open(1)")
                    ]
                    self.assertEqual([(result.code, result.stdout) for result in results], [(0, "1\n")] * 2)
                    tidied = ["# cleanup" in result.stderr for result in results]
                    # From 3.13 on even text needs modules that are not there from the start.
                    self.assertEqual(tidied, [" 3.1" in version and int(version.split(".")[1]) > 12, True])

    def test_bytecode_is_like_source(self) -> None:
        for name, source, kind in JOBS:
            python = pythons()[0]
            with self.subTest(job=name):
                expected = plain(python, "-c", source)
                self.same(boot(python, "code", "-c", job=source, form=".pyc"), expected, kind)

    def test_script_is_like_plain(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, source, kind in JOBS:
                path = Path(folder, "job.py")
                path.write_text(source)
                for python in pythons():
                    with self.subTest(python=python, job=name):
                        expected = plain(python, str(path), "a", cwd="/")
                        self.same(boot(python, "script", str(path), "a", cwd="/"), expected, kind)

    def test_stdin_is_like_plain(self) -> None:
        for python in pythons():
            with self.subTest(python=python):
                expected = plain(python, "-", "a", stdin=MAIN.encode())
                self.same(boot(python, "code", "-", "a", job=MAIN), expected, "returned")

    def test_cookie_and_mark(self) -> None:
        latin = "# -*- coding: latin-1 -*-\nprint('\u00e9', ascii('\u00e9'))".encode("latin-1")
        marked = b"\xef\xbb\xbfprint('\xc3\xa9')"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            western = b"# coding: cp1252\nprint(ascii('\x80'))"
            for source in latin, marked, western:
                path.write_bytes(source)
                for python in pythons():
                    with self.subTest(python=python, source=source):
                        self.same(boot(python, "script", str(path)), plain(python, str(path)))

    def test_bytes_that_are_not_text(self) -> None:
        # Plain Python words it otherwise, since it reads the file line by line.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            for source in b"print('\xff')", b"# coding: nonsense\n":
                path.write_bytes(source)
                for python in pythons():
                    with self.subTest(python=python, source=source):
                        got = boot(python, "script", str(path))
                        self.assertEqual((got.code, got.only.header["type_name"]), (1, "SyntaxError"))
                        self.assertEqual(plain(python, str(path)).code, 1)

    def test_module_package_folder_and_zip(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder, "pkg")
            package.mkdir()
            (package / "__init__.py").write_text("")
            (package / "__main__.py").write_text(MAIN + "import other\n")
            (package / "other.py").write_text("1/0")
            Path(folder, "single.py").write_text(MAIN + "import pkg.other\n")
            archive = Path(folder, "app.pyz")
            archive.write_bytes(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(archive, "a") as out:
                out.write(package / "__main__.py", "__main__.py")
                out.write(package / "other.py", "other.py")
            os.symlink(package / "__main__.py", Path(folder, "link.py"))
            for python in pythons():
                with self.subTest(python=python):
                    plain(python, "-c", "import pkg, pkg.other", cwd=folder)
                    for args, kind in (("pkg",), "raised"), (("single", "x"), "raised"), (("missing",), "raised"):
                        got = boot(python, "module", *args, cwd=folder)
                        self.same(got, plain(python, "-m", *args, cwd=folder), kind)
                    for path in str(package), str(archive), f"{folder}/link.py":
                        self.same(boot(python, "script", path, cwd=folder), plain(python, path, cwd=folder), "raised")
                    got = boot(python, "script", "/nowhere.py")
                    self.same(got, plain(python, "/nowhere.py"), "exited")
                    self.assertEqual(got.only.header, {"code": 2})

    def test_safe_path(self) -> None:
        for python in pythons():
            with self.subTest(python=python):
                show = "import sys; print(sys.path)"
                expected = plain(python, "-I", "-c", show)
                self.same(boot(python, "code", "-c", job=show, flags=("-I",)), expected, "returned")

    def test_exit_codes_are_told(self) -> None:
        for source, code in ("exit()", 0), ("exit(4)", 4), ("exit('x')", 1), ("exit(-1)", -1), ("exit(True)", 1):
            got = boot(pythons()[0], "code", "-c", job=source)
            self.assertEqual(got.only.header, {"code": code}, source)

    def test_interrupt_ends_by_signal(self) -> None:
        for python in pythons():
            with self.subTest(python=python):
                self.assertEqual(boot(python, "code", "-c", job="raise KeyboardInterrupt").code, -signal.SIGINT)

    def test_no_module_that_plain_python_does_not_load(self) -> None:
        show = "import sys; print(sorted(sys.modules))"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            path.write_text(show)
            for python in pythons():
                with self.subTest(python=python):
                    expected = plain(python, "-c", show).stdout
                    self.assertEqual(boot(python, "code", "-c", job=show).stdout, expected)
                    self.assertEqual(boot(python, "script", str(path)).stdout, plain(python, str(path)).stdout)

    def test_spawn_and_forkserver_find_main(self) -> None:
        source = """
import multiprocessing, sys
def square(x): return x * x
if __name__ == '__main__':
    for method in 'fork', 'spawn', 'forkserver':
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, [1, 2, 3]))
    import inspect
    print(inspect.getsource(square))
"""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            path.write_text(source)
            for python in pythons():
                with self.subTest(python=python):
                    got = boot(python, "script", str(path))
                    self.same(got, plain(python, str(path)), "returned")
                    self.assertIn("forkserver [1, 4, 9]", got.stdout)


class Control(unittest.TestCase):
    def test_children_do_not_get_the_socket(self) -> None:
        look = "subprocess.run(['ls', '-l', '/proc/self/fd/3'], stderr=-1, close_fds=False)"
        source = f"import subprocess, os\nprint(os.fstat(3)[0] >> 12)\nprint({look}.returncode)"
        for python in pythons():
            self.assertEqual(boot(python, "code", "-c", job=source).stdout.split(), ["12", "2"])

    def test_closed_or_reused_descriptor_is_left_alone(self) -> None:
        for source in (
            "import os; os.close(3)",
            "import os; os.closerange(3, 99); f = open('/tmp', 'r') if 0 else os.open('log', os.O_CREAT | os.O_RDWR)",
        ):
            with tempfile.TemporaryDirectory() as folder:
                got = boot(pythons()[0], "code", "-c", job=source, cwd=folder)
                self.assertEqual((got.code, got.stderr, got.frames), (0, "", []))
                log = Path(folder, "log")
                self.assertEqual(log.read_bytes() if log.exists() else b"", b"")

    def test_no_socket_at_all(self) -> None:
        import subprocess

        from harness import environment, install

        with tempfile.TemporaryDirectory() as folder:
            install("", Path(folder), ".py")
            Path(folder, "job").write_text("print(1); exit(3)")
            for python in pythons():
                command = [python, f"{folder}/boot.py", "code", "-c"]
                run = subprocess.run(command, capture_output=True, env=environment())
                self.assertEqual((run.returncode, run.stdout, run.stderr), (3, b"1\n", b""))

    def test_nonblocking_socket(self) -> None:
        got = boot(
            pythons()[0], "code", "-c", job="import os; os.set_blocking(3, False); raise ValueError('x' * 60000)"
        )
        self.assertEqual(len(got.only.header["message"]), 60000)

    def test_output_streams_live(self) -> None:
        source = "import os, time\nprint('first')\nos.write(1, b'second\\n')"
        self.assertEqual(boot(pythons()[0], "code", "-c", job=source).stdout, "first\nsecond\n")


if __name__ == "__main__":
    unittest.main()
