"""A job in a worker ends and looks as under plain Python: the cold runtime's jobs, and what only a fork can break."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import unittest
from pathlib import Path

from harness import Frame, Result, boot, plain, pythons
from keeper import LEAST, Template, package
from test_boot import JOBS, MAIN, shown

LISTING = "import sys; print(sorted(sys.modules))"


class Warm(unittest.TestCase):
    def same(self, got: Result, expected: Result, kind: str | None = None) -> None:
        self.assertEqual(shown(got), shown(expected))
        if kind:
            self.assertEqual(got.only.kind, kind)


class EveryPython(Warm):
    def test_code_is_like_plain_c(self) -> None:
        for python in pythons():
            with Template(python) as template:
                for name, source, kind in JOBS:
                    with self.subTest(python=python, job=name):
                        expected = plain(python, "-c", source, "a", "-b", stdin=b"in")
                        self.same(template.code(source, "a", "-b", stdin=b"in"), expected, kind)

    def test_bytecode_is_like_source(self) -> None:
        for python in pythons():
            with Template(python, form=".pyc") as template:
                for name, source, kind in JOBS[:8]:
                    with self.subTest(python=python, job=name):
                        self.same(template.code(source), plain(python, "-c", source), kind)

    def test_script_is_like_plain(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "job.py")
            for python in pythons():
                with Template(python) as template:
                    for name, source, kind in JOBS:
                        path.write_text(source)
                        with self.subTest(python=python, job=name):
                            got = template.run("script", origin=str(path), args=["a"])
                            self.same(got, plain(python, str(path), "a", cwd="/"), kind)

    def test_stdin_and_modules_are_like_plain(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            package(folder, single=f"{MAIN}\n1/0", other=LISTING)
            for python in pythons():
                with self.subTest(python=python), Template(python) as template:
                    got = template.code(MAIN, "a", origin="-")
                    self.same(got, plain(python, "-", "a", stdin=MAIN.encode()), "returned")
                    for name, kind in ("single", "raised"), ("other", "returned"), ("missing", "raised"):
                        plain(python, "-m", name, cwd=folder)
                        got = template.run("module", origin=name, args=["x"], cwd=folder)
                        self.same(got, plain(python, "-m", name, "x", cwd=folder), kind)

    def test_no_module_that_plain_python_does_not_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, job=LISTING) + "/job.py"
            for python in pythons():
                with self.subTest(python=python), Template(python) as template:
                    self.same(template.code(LISTING), plain(python, "-c", LISTING))
                    self.same(template.run("script", origin=path), plain(python, path))
                    show = "def f():\n    import sys\n    return sorted(sys.modules)"
                    cold = boot(python, "call", "-c", job=show, arguments={"args": [], "kwargs": {}})
                    self.assertEqual(template.call(show).only.body, cold.only.body)

    def test_modules_that_the_template_uses_can_be_loaded(self) -> None:
        source = """
import ctypes, faulthandler, gc, json, linecache, runpy, socket, atexit, sys
a, b = socket.socketpair()
a.sendall(b'x')
print(b.recv(1), ctypes.CDLL(None).getpid() > 0, ctypes.sizeof(ctypes.c_long), json.loads('[1]'), gc.isenabled())
"""
        for python in pythons():
            with self.subTest(python=python), Template(python) as template:
                self.same(template.code(source), plain(python, "-c", source), "returned")

    def test_flags(self) -> None:
        show = "import sys; print(sys.path, sys.flags, sys.orig_argv[1:3])"
        for python in pythons():
            with self.subTest(python=python), Template(python, flags=("-I",)) as template:
                self.same(template.code(show), plain(python, "-I", "-c", show), "returned")

    def test_calls(self) -> None:
        for python in pythons():
            with self.subTest(python=python), Template(python) as template:
                for source, args in (
                    ("lambda x: x * 2", [21]),
                    ("async def f(x):\n    import asyncio\n    await asyncio.sleep(0)\n    return [x]", ["é"]),
                    ("def f(x):\n    print('seen')\n    return {'a': x}", [None]),
                    ("def f():\n    return 1 / 0", []),
                    ("def f():\n    return {1, 2}", []),
                    ("import sys\ndef f():\n    sys.exit(4)", []),
                    ("def f(:", []),
                ):
                    got = template.call(source, *args)
                    cold = boot(python, "call", "-c", job=source, arguments={"args": args, "kwargs": {}})
                    self.assertEqual((got.frames, shown(got)), (cold.frames, shown(cold)))


class Ends(Warm):
    def setUp(self) -> None:
        self.template = Template(pythons()[0]).__enter__()
        self.addCleanup(self.template.__exit__, None, None, None)

    def test_ways_to_end(self) -> None:
        for source, code in (
            ("import os; os._exit(7)", 7),
            ("import os; os.abort()", -signal.SIGABRT),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
            ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
            ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", -signal.SIGINT),
            ("import os; os.execv('/bin/sh', ['sh', '-c', 'exit 5'])", 5),
        ):
            self.assertEqual(self.template.code(source).code, code, source)

    def test_signals_are_as_in_plain_python(self) -> None:
        source = """
import signal
print({s.name: getattr(signal.getsignal(s), '__name__', str(signal.getsignal(s))) for s in signal.valid_signals()
       if isinstance(s, signal.Signals)}, signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([line for line in open('/proc/self/status') if line[:6] in ('SigBlk', 'SigIgn')])
"""
        self.same(self.template.code(source), plain(pythons()[0], "-c", source), "returned")

    def test_children_of_a_job_are_its_own(self) -> None:
        source = "import subprocess\nprint(subprocess.run(['sh', '-c', 'exit 3']).returncode)"
        self.same(self.template.code(source), plain(pythons()[0], "-c", source), "returned")

    def test_streams_are_as_in_plain_python(self) -> None:
        source = """
import sys
for s in sys.stdin, sys.stdout, sys.stderr:
    print(s.fileno(), s.encoding, s.errors, s.isatty(), s.write_through, s.name, s.mode, s.newlines, s.line_buffering)
print(sys.__stdout__ is sys.stdout, sys.stdin.buffer.raw.fileno())
"""
        expected = boot(pythons()[0], "code", "-c", job=source)
        self.same(self.template.code(source), expected, "returned")

    def test_environment_and_folder(self) -> None:
        source = """
import os, subprocess, time
print(os.getcwd(), os.environ['A'], os.environb[b'B'], os.environ['LANG'], time.tzname[0])
print(subprocess.run(['sh', '-c', 'echo $A $TZ'], capture_output=True).stdout)
"""
        env = {"A": "1 2", "B": "\udcff", "TZ": "XYZ-3"}
        got = self.template.code(source, env=env, cwd="/usr")
        self.assertEqual(got.stdout, "/usr 1 2 b'\\xff' C.UTF-8 XYZ\nb'1 2 XYZ-3\\n'\n", got)
        self.assertEqual(self.template.code("import os; print('A' in os.environ)").stdout, "False\n")

    def test_arguments_that_are_not_text(self) -> None:
        self.assertEqual(
            self.template.code("import sys; print(ascii(sys.argv))", "\udcff").stdout, "['-c', '\\udcff']\n"
        )

    def test_folder_that_is_not_there(self) -> None:
        worker = self.template.worker(folder="/nowhere\N{SNOWMAN}".encode())
        self.assertEqual(worker.parked, Frame("failed", {"step": "enter /nowhere?", "errno": 2}, b""))
        self.assertEqual(self.template.finish(worker).code, 1)

    def test_only_the_job_is_read(self) -> None:
        worker = self.template.worker()
        worker.give("code", b"import os; print(os.read(3, 100))", trailing=b"more")
        self.assertEqual(self.template.finish(worker).stdout, "b'more'\n")

    def test_a_job_around_the_least_length(self) -> None:
        for size in range(LEAST - 70, LEAST + 10):
            worker = self.template.worker(rehearse=False)
            worker.give("code", b"import os; print(os.read(3, 9))".ljust(size), trailing=b"more")
            self.assertEqual(self.template.finish(worker).stdout, "b'more'\n", size)

    def test_a_large_job(self) -> None:
        text = "x" * (8 << 20)
        self.assertEqual(self.template.call("lambda x: len(x)", text).only.body, b"%d" % len(text))

    def test_a_frame_that_is_no_job(self) -> None:
        worker = self.template.worker()
        worker.control.sendall(b"\x21\1\0\0" + bytes(LEAST - 4))
        self.assertEqual(self.template.finish(worker).only.header, {"step": "read the job", "errno": 74})

    def test_a_host_that_goes_away(self) -> None:
        worker = self.template.worker()
        worker.control.close()
        self.assertEqual(self.template.end_of(worker)["status"], 0)

    def test_where_it_is(self) -> None:
        worker = self.template.worker()
        worker.give("code", b"import time\nprint('x')\ntime.sleep(60)")
        self.assertEqual(os.read(worker.stdout, 10), b"x\n")
        os.kill(worker.pid, 64)
        said = b""
        while b"template.py" not in said:
            said += worker.control.recv(4096)
        self.assertRegex(said, rb'File "<string>", line [23] in <module>')
        os.kill(worker.pid, signal.SIGKILL)
        self.assertEqual(self.template.finish(worker).code, -signal.SIGKILL)

    def test_collector_is_as_in_plain_python(self) -> None:
        source = "import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks)"
        self.same(self.template.code(source), plain(pythons()[0], "-c", source), "returned")
        frozen = json.loads(self.template.call("def f():\n    import gc\n    return gc.get_freeze_count()").only.body)
        self.assertGreater(frozen, 1000)


if __name__ == "__main__":
    unittest.main()
