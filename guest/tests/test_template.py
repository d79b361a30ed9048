"""A template preloads, forks and reaps; a worker has given up every right before it is parked."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from harness import Frame, pythons
from keeper import Template, Worker, package, privileged

PARKED = Frame("parked", None, b"")
# With prctl(PR_GET_DUMPABLE) at the end.
SHOW = """
import ctypes, os
print(os.getpid(), os.uname().nodename, os.listdir('/mnt'), ctypes.CDLL(None).prctl(3))
"""
STATUS = """
def f():
    lines = open('/proc/self/status').read().splitlines()
    return dict(line.split(':\\t', 1) for line in lines if ':\\t' in line)
"""


def status(template: Template, worker: Worker) -> dict[str, str]:
    worker.give("call", STATUS.encode(), b'{"args": [], "kwargs": {}}')
    got = template.finish(worker)
    assert got.only.kind == "returned", got
    found: dict[str, str] = json.loads(got.only.body)
    return found


def fields(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


class Preload(unittest.TestCase):
    def test_report(self) -> None:
        modules = {
            "quiet": "print('loaded')",
            "broken": "raise ValueError('no')",
            "leaving": "raise SystemExit(3)",
            "threaded": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "sharing": "import mmap\nheld = mmap.mmap(-1, 4096)",
            "opening": "held = open('/etc/passwd')",
            # It dies with the template.
            "forking": "import ctypes, os, time\nif os.fork() == 0:\n ctypes.CDLL(None).prctl(1, 9)\n time.sleep(600)",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, **modules)
            for python in pythons():
                with self.subTest(python=python), Template(python, *modules, "missing", path=path) as template:
                    ready = template.ready["ready"]
                    version = (
                        [int(n) for n in platform.python_version_tuple()] if python == pythons()[0] else ready["python"]
                    )
                    self.assertEqual(ready["python"], version)
                    told = {line.pop("name"): line for line in ready["modules"]}
                    self.assertEqual(list(told), [*modules, "missing"])
                    for line in told.values():
                        self.assertGreater(line.pop("seconds"), 0)
                    kinds = ("threads", "shared", "descriptors", "processes")
                    nothing: dict[str, Any] = {"error": None} | {kind: [] for kind in kinds}
                    self.assertEqual(told["quiet"], nothing)
                    self.assertEqual(told["broken"], nothing | {"error": "ValueError: no"})
                    self.assertEqual(told["leaving"], nothing | {"error": "SystemExit: 3"})
                    self.assertEqual(told["missing"]["error"], "ModuleNotFoundError: No module named 'missing'")
                    self.assertEqual(len(told["threaded"]["threads"]), 1)
                    self.assertIn("rw-s", told["sharing"]["shared"][0])
                    self.assertEqual(told["opening"]["descriptors"], ["6 -> /etc/passwd"])
                    self.assertEqual(len(told["forking"]["processes"]), 1)
                    self.assertEqual(sum(map(len, (told[name]["threads"] for name in ("sharing", "opening")))), 0)

    def test_our_own_files_are_no_modules(self) -> None:
        with Template(pythons()[0], "report", "boot") as template:
            self.assertEqual([bool(line["error"]) for line in template.ready["ready"]["modules"]], [True, True])

    def test_what_a_preload_says_and_does_is_not_repeated(self) -> None:
        source = """
import ctypes, sys, atexit, logging, weakref, functools
print('buffered', end='')
sys.stderr.write('too')
ctypes.CDLL(None).printf(b'in C')
atexit.register(print, 'third party')
atexit.register(functools.partial(print, 'partial'))
class Log(logging.Handler):
    def emit(self, record): pass
    def flush(self): print('flushed')
    def close(self): logging.Handler.close(self)
held = Log()
"""
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, noisy=source)
            for python in pythons():
                with self.subTest(python=python), Template(python, "noisy", path=path) as template:
                    got = template.code("import atexit; atexit.register(print, 'own'); print('job')")
                    # Of what the preload registered only logging.shutdown runs, which flushes.
                    self.assertEqual((got.stdout, got.stderr), ("job\nown\nflushed\n", ""))
                    template.socket.close()
                    said = template.process.communicate(timeout=30)
                    self.assertEqual((said[0], said[1]), (b"bufferedin C", b"too"))

    def test_main_path_and_arguments(self) -> None:
        source = """
import sys, __main__
main, argv, first = __main__, list(sys.argv), sys.path[0]
sys.argv.append('left')
sys.path.insert(0, '/inserted')
"""
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, curious=source)
            with Template(pythons()[0], "curious", path=path) as template:
                show = "import curious as c, sys as s\nprint(c.main is s.modules['__main__'], s.argv, s.path[:2])\n"
                show += "print(s.orig_argv[1:])"
                self.assertEqual(
                    template.code(show, "a").stdout, f"True ['-c', 'a'] ['/inserted', '']\n{['-c', show, 'a']}\n"
                )

    def test_folders_that_come_later_are_searched(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            late = Path(folder, "late")
            with Template(pythons()[0], "json", path=str(late)) as template:
                late.mkdir()
                package(str(late), coming="print('came')")
                got = template.code("import coming, sys\nprint([p for p in sys.path_importer_cache if 'none' in p])")
                self.assertEqual(got.stdout, "came\n[]\n")

    def test_patched_modules_do_not_stop_the_seal(self) -> None:
        source = """
import os, posix, ctypes, _ctypes, builtins, sys, gc, _socket
for module in os, posix, ctypes, _ctypes, gc, _socket:
    for name, value in list(vars(module).items()):
        if callable(value) and name[:2] != '__' and name not in ('fspath', 'PathLike', 'stat', 'fsdecode', 'listdir'):
            try:
                setattr(module, name, lambda *a, **k: 0)
            except Exception:
                pass
"""
        with tempfile.TemporaryDirectory() as folder:
            path = package(folder, hostile=source)
            with Template(pythons()[0], "hostile", path=path) as template:
                worker = template.worker()
                self.assertEqual(worker.parked, PARKED)
                found = fields(worker.pid)
                self.assertEqual((found["CapEff"], found["CapPrm"], found["NoNewPrivs"]), ("0" * 16, "0" * 16, "1"))
                os.kill(worker.pid, signal.SIGKILL)
                worker.close()
                self.assertEqual(template.end_of(worker)["status"], 9)

    def test_hooks_at_fork_run(self) -> None:
        source = "import os\nran = []\nos.register_at_fork(after_in_child=lambda: ran.append(os.getpid()))"
        with tempfile.TemporaryDirectory() as folder:
            with Template(pythons()[0], "hooked", path=package(folder, hooked=source)) as template:
                got = template.code("import hooked, os; print(hooked.ran == [os.getpid()])")
                self.assertEqual(got.stdout, "True\n")


class Forks(unittest.TestCase):
    def setUp(self) -> None:
        self.template = Template(pythons()[0]).__enter__()
        self.addCleanup(self.template.__exit__, None, None, None)

    def descriptors(self) -> list[str]:
        return sorted(os.listdir(f"/proc/{self.template.process.pid}/fd"))

    def test_descriptors_at_rest(self) -> None:
        self.assertEqual(self.descriptors(), ["0", "1", "2", "3", "4", "5"])
        for _ in range(5):
            self.template.code("pass")
        self.assertEqual(self.descriptors(), ["0", "1", "2", "3", "4", "5"])
        self.assertIn("pid:", os.readlink(f"/proc/{self.template.process.pid}/fd/4"))

    def test_many_that_end_at_once_are_all_reaped(self) -> None:
        workers = [self.template.worker() for _ in range(40)]
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
        for worker in workers:
            told = self.template.end_of(worker)
            self.assertEqual(told["status"], signal.SIGKILL)
            self.assertGreater(told["max_rss"], 1000)
            self.assertTrue(0 < told["cpu_usec"] < 5_000_000)
            worker.close()

    def test_a_child_that_ends_while_it_forks_is_not_missed(self) -> None:
        # The signal may come at any instant between two waits.
        for _ in range(150):
            worker = self.template.worker()
            worker.control.close()
            self.template.end_of(worker)
            worker.close()

    def test_it_ends_with_its_keeper_whatever_is_unread(self) -> None:
        worker = self.template.worker()
        os.kill(worker.pid, signal.SIGKILL)
        # Reaped: the message about it waits in the socket.
        while Path(f"/proc/{worker.pid}").exists():
            pass
        worker.close()
        self.template.socket.close()
        self.assertEqual((self.template.process.wait(10), self.template.process.communicate()[1]), (0, b""))

    def test_it_ends_with_its_keeper(self) -> None:
        self.template.socket.close()
        self.assertEqual(self.template.process.wait(10), 0)

    def test_namespaces_that_cannot_be_joined(self) -> None:
        wrong = os.open("/etc/passwd", os.O_RDONLY)
        answer, worker = self.template.order((wrong,), namespaces=["pid"])
        self.assertEqual(answer, {"failed": 7, "step": "join the pid namespace", "errno": 22})
        worker.close()
        worker = self.template.worker((wrong,), namespaces=["net"])
        self.assertEqual(worker.parked, Frame("failed", {"step": "join the net namespace", "errno": 22}, b""))
        self.assertEqual(self.template.finish(worker).code, 1)
        for fields, step in (
            ({"rlimits": [["nonsense", 1, 1]]}, "set the limits"),
            ({"processors": [100000]}, "set the limits"),
            ({"ruleset": True}, "restrict itself with landlock"),
            ({"groups": 1}, "enter the cgroup"),
        ):
            worker = self.template.worker((wrong,), **fields)
            self.assertEqual((worker.parked.kind, worker.parked.header["step"]), ("failed", step))
            self.assertEqual(self.template.finish(worker).code, 1)
        os.close(wrong)
        self.assertEqual(self.template.code("print(1)").stdout, "1\n")
        self.assertEqual(self.descriptors(), ["0", "1", "2", "3", "4", "5"])


class Seal(unittest.TestCase):
    def setUp(self) -> None:
        self.template = Template(pythons()[0]).__enter__()
        self.addCleanup(self.template.__exit__, None, None, None)

    def test_capabilities_and_descriptors(self) -> None:
        worker = self.template.worker()
        self.assertEqual(worker.parked, PARKED)
        self.assertEqual(sorted(os.listdir(f"/proc/{worker.pid}/fd")), ["0", "1", "2", "3"])
        self.assertEqual(os.getsid(worker.pid), worker.pid)
        before = fields(self.template.process.pid)
        found = status(self.template, worker)
        self.assertNotEqual(before["CapEff"], "0" * 16, "the template has something to give up")
        for name in "CapInh", "CapPrm", "CapEff", "CapAmb":
            self.assertEqual(found[name], "0" * 16)
        self.assertEqual(found["NoNewPrivs"], "1")
        bounding = int(before["CapBnd"], 16) & ~(1 << 8 | 1 << 18 | 1 << 21)
        self.assertEqual(int(found["CapBnd"], 16), bounding)
        source = "import ctypes; print(ctypes.CDLL(None).prctl(27), ctypes.CDLL(None).prctl(3))"
        self.assertEqual(self.template.code(source).stdout, f"{0xEF} 1\n")

    def test_limits_and_processors(self) -> None:
        cpu = min(os.sched_getaffinity(0))
        worker = self.template.worker(
            rlimits=[["nofile", 33, 44], ["core", 0, 0], ["cpu", 5, 2**64 - 1]], processors=[cpu]
        )
        worker.give(
            "code",
            b"import os, resource as r\nprint(*map(r.getrlimit, (r.RLIMIT_NOFILE, r.RLIMIT_CORE, r.RLIMIT_CPU)))\n"
            b"print(os.sched_getaffinity(0))",
        )
        got = self.template.finish(worker)
        self.assertEqual(got.stdout, f"(33, 44) (0, 0) (5, -1)\n{{{cpu}}}\n")

    def test_cgroup(self) -> None:
        # A file stands in: what matters is what is written to each of them.
        with tempfile.NamedTemporaryFile() as one, tempfile.NamedTemporaryFile() as two:
            worker = self.template.worker((one.fileno(), two.fileno()), groups=2)
            self.assertEqual(
                (worker.parked, os.pread(one.fileno(), 9, 0), os.pread(two.fileno(), 9, 0)), (PARKED, b"0", b"0")
            )
            os.kill(worker.pid, signal.SIGKILL)
            self.assertEqual(self.template.finish(worker).code, -9)

    def test_filter(self) -> None:
        # Answers getppid with 42.
        number = {"x86_64": 110, "aarch64": 173}[platform.machine()]
        rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50000 | 42), (6, 0, 0, 0x7FFF0000)]
        program = b"".join(struct.pack("<HBBI", *rule) for rule in rules)
        show = (
            "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\nprint(libc.syscall(%d), ctypes.get_errno())"
            % number
        )
        for python in pythons():
            with self.subTest(python=python), Template(python, program=program) as template:
                worker = template.worker()
                found = fields(worker.pid)
                self.assertEqual((found["Seccomp"], found["Seccomp_filters"]), ("2", "1"))
                worker.give("code", show.encode())
                self.assertEqual(template.finish(worker).stdout, "-1 42\n")

    def test_landlock(self) -> None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        # Reading files is what the rules are about, and no rule allows it anywhere.
        ruleset = libc.syscall(444, struct.pack("<Q", 1 << 2), 8, 0)
        self.assertGreater(ruleset, 0)
        # No kernel knows such a flag: the order's are the ones that it gets.
        worker = self.template.worker((ruleset,), ruleset=True, quiet=1 << 30)
        said = {"step": "restrict itself with landlock", "errno": 22}
        self.assertEqual((worker.parked.kind, worker.parked.header), ("failed", said))
        self.template.finish(worker)
        logs = libc.syscall(444, None, 0, 1) >= 7
        worker = self.template.worker((ruleset,), ruleset=True, quiet=5 if logs else 0)
        os.close(ruleset)
        self.assertEqual(sorted(os.listdir(f"/proc/{worker.pid}/fd")), ["0", "1", "2", "3"])
        worker.give("code", b"open('/etc/passwd')")
        self.assertEqual(self.template.finish(worker).only.header["errno"], 13)
        self.assertEqual(self.template.code("open('/etc/passwd')").only.kind, "returned")

    def test_it_walks_into_a_jar(self) -> None:
        unshare = [
            "unshare",
            "--user",
            "--map-root-user",
            "--mount",
            "--net",
            "--ipc",
            "--uts",
            "--pid",
            "--fork",
            "sh",
        ]
        script = "hostname jar; mount -t tmpfs none /mnt; touch /mnt/here; mount -t proc proc /proc; echo $$; read end"
        # Only what is below the template's own user namespace can be joined.
        below = ["nsenter", f"--user=/proc/{self.template.process.pid}/ns/user", "--preserve-credentials"]
        room = subprocess.Popen([*(below if privileged() else []), *unshare, "-c", script], stdin=-1, stdout=-1)
        assert room.stdin and room.stdout
        try:
            self.assertEqual(room.stdout.readline(), b"1\n")
            children = Path(f"/proc/{room.pid}/task/{room.pid}/children").read_text().split()
            # The way back to a pid namespace is open only to who has rights over it.
            names = [*([] if privileged() else ["pid"]), "user", "mnt", "net", "ipc", "uts"]
            fds = tuple(os.open(f"/proc/{children[0]}/ns/{name}", os.O_RDONLY) for name in names)
            workers = [self.template.worker(fds, namespaces=names) for _ in range(2)]
            for worker in workers:
                self.assertEqual(worker.parked, PARKED)
                for name in names:
                    link = os.readlink(f"/proc/{worker.pid}/ns/{name}")
                    self.assertEqual(link, os.readlink(f"/proc/{children[0]}/ns/{name}"))
            home = [os.readlink(f"/proc/{pid}/ns/pid_for_children") for pid in (self.template.process.pid, os.getpid())]
            self.assertEqual(home[0], home[1])
            for fd in fds:
                os.close(fd)
            found = fields(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)
            self.assertEqual(self.template.finish(workers[0]).code, -9)
            for name in "CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd":
                self.assertEqual(found[name], "0" * 16, name)
            pid = fields(workers[1].pid)["NSpid"].split()[-1]
            self.assertEqual(pid != str(workers[1].pid), "pid" in names)
            workers[1].give("code", SHOW.encode())
            self.assertEqual(self.template.finish(workers[1]).stdout, f"{pid} jar ['here'] 1\n")
        finally:
            with contextlib.suppress(BrokenPipeError):
                room.communicate(b"\n", timeout=10)


if __name__ == "__main__":
    unittest.main()
