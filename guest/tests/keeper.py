"""Plays the keeper and the host: starts a template, asks it for workers, gives them jobs, and reads what they say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from harness import GUEST, Frame, Result, environment
from harness import PARTS as COLD_PARTS

SKIPS = (GUEST.parent / "tests/skips.toml").read_text()
PARTS = (*COLD_PARTS, "template", "seal", "seeds", "worker", "preload")
KINDS = {1: "returned", 2: "raised", 3: "exited", 16: "item", 8: "parked", 9: "failed"}
SECONDS = 30
# No job is shorter.
LEAST = 1024

# A shell ignores these two for what it starts in the background, which is inherited; a real keeper resets them.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def skip(need: str) -> None:
    """Loud, and only for what tests/skips.toml knows and BELLJAR_MAY_LACK, where it is set, names."""
    known = re.search(rf'^\[{need}\]\n(?:.*\n)*?reason = "(.*)"', SKIPS, re.MULTILINE)
    if "BELLJAR_SKIPS_LOG" in os.environ:
        # Not made where it is missing: in a shared folder the kernel lets one user not "create" a file of another.
        number = os.open(os.environ["BELLJAR_SKIPS_LOG"], os.O_WRONLY | os.O_APPEND)
        os.write(number, f"{need}: {running()}\n".encode())
        os.close(number)
    allowed = need in os.environ.get("BELLJAR_MAY_LACK", need).split()
    assert known and allowed, f"{need} is missing, and that is no reason to skip here"
    raise unittest.SkipTest(known[1])


def running() -> str:
    """The test that is on the stack."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if isinstance(test := frame.f_locals.get("self"), unittest.TestCase):
            return test.id()
        frame = frame.f_back
    return "before any test"


def privileged() -> list[str]:
    """A worker gives up capabilities, so it must be born with some: of root, or of a user namespace."""
    if os.geteuid() == 0:
        return []
    prefix = ["unshare", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        skip("namespaces")
    return prefix


@dataclass
class Worker:
    """Both ends that the host has of one worker."""

    pid: int
    control: socket.socket
    stdin: int
    stdout: int
    stderr: int
    parked: Frame = field(default_factory=lambda: Frame("", None, b""))

    def frame(self) -> Frame | None:
        prefix = self.exactly(16)
        if prefix is None:
            return None
        kind, version, zero, header, body = struct.unpack("<BBHIQ", prefix)
        assert (version, zero) == (1, 0), prefix
        text = self.exactly(header) or b""
        return Frame(KINDS[kind], json.loads(text) if text else None, self.exactly(body) or b"")

    def exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            try:
                chunk = self.control.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                assert not data, data
                return None
            data += chunk
        return data

    def give(self, kind: str, *parts: bytes, trailing: bytes = b"", **header: Any) -> None:
        fields = {"kind": kind, "parts": [len(part) for part in parts]}
        body = b"".join(parts)
        text = json.dumps(fields | header).encode()
        job = struct.pack("<BBHIQ", 32, 1, 0, len(text), len(body)) + text + body
        self.control.sendall(job.ljust(LEAST, b"\0") + trailing)

    def close(self) -> None:
        self.control.close()
        for number in self.stdin, self.stdout, self.stderr:
            with contextlib.suppress(OSError):
                os.close(number)


class Template:
    """A template, and what the keeper knows of it."""

    def __init__(
        self,
        python: str,
        *preload: str,
        flags: tuple[str, ...] = (),
        form: str = ".py",
        path: str = "",
        program: bytes = b"",
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)
        for part in PARTS:
            source = GUEST / f"{part}.py"
            if form == ".py":
                shutil.copy(source, self.folder.name)
            else:
                code = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)"
                subprocess.run([python, "-c", code, source, f"{self.folder.name}/{part}.pyc"], check=True)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(SECONDS)
        number = theirs.fileno()
        # The shell closes what is not the template's, which is started with four descriptors and no more.
        shell = ["sh", "-c", f'exec "$@" 3<&{number} {number}<&-', "sh"]
        command = [python, *flags, f"{self.folder.name}/template{form}"]
        self.process = subprocess.Popen(
            [*privileged(), *shell, *command],
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=-1,
            pass_fds=[number],
            cwd="/",
            env=environment() | ({"PYTHONPATH": path} if path else {}),
        )
        theirs.close()
        self.say({"preload": preload, "filter_bytes": len(program)})
        if program:
            self.socket.send(program)
        # Before each module it says which one it is about to import.
        while "importing" in (said := self.hear() or {}):
            pass
        self.ready = said
        self.ended: dict[int, Any] = {}

    def __enter__(self) -> Template:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()
        try:
            self.process.communicate(timeout=SECONDS)
        finally:
            self.process.kill()
            self.process.communicate()
            self.folder.cleanup()

    def say(self, message: Any, fds: tuple[int, ...] = ()) -> None:
        socket.send_fds(self.socket, [json.dumps(message).encode()], fds)

    def hear(self) -> Any:
        data = self.socket.recv(1 << 18)
        return json.loads(data) if data else None

    def order(self, fds: tuple[int, ...] = (), **fields: Any) -> tuple[Any, Worker]:
        """Asks for a worker, and gives the template's answer."""
        ours, theirs = socket.socketpair()
        ours.settimeout(SECONDS)
        pipes = [os.pipe() for _ in range(3)]
        given = pipes[0][0], pipes[1][1], pipes[2][1]
        order: dict[str, Any] = {"namespaces": [], "ruleset": False, "quiet": 0, "groups": 0, "rlimits": []} | fields
        order["folder"] = list(order.get("folder", b"/"))
        rehearse, processors = order.pop("rehearse", True), order.pop("processors", ())
        text = " ".join(str(int(number)) for number in (7, rehearse, *processors)).encode()
        text += b"\n" + json.dumps(order).encode()
        socket.send_fds(self.socket, [text], (theirs.fileno(), *given, *fds))
        theirs.close()
        for number in given:
            os.close(number)
        while "ended" in (answer := self.hear()):
            self.ended[answer["ended"]] = answer
        return answer, Worker(answer.get("pid", 0), ours, pipes[0][1], pipes[1][0], pipes[2][0])

    def worker(self, fds: tuple[int, ...] = (), **fields: Any) -> Worker:
        """One that is parked, or that has said why it is not."""
        answer, worker = self.order(fds, **fields)
        assert answer == {"forked": 7, "pid": worker.pid}, answer
        said = worker.frame()
        assert said is not None, self.end_of(worker)
        if said.kind == "parked":
            walking, rehearsing = struct.unpack("<II", said.body)
            # Microseconds; one in a hurry takes next to none for the second.
            assert 0 < walking < SECONDS * 1e6 and rehearsing < SECONDS * 1e6, said
            said = Frame("parked", None, b"")
        worker.parked = said
        return worker

    def end_of(self, worker: Worker) -> Any:
        while worker.pid not in self.ended:
            message = self.hear()
            assert message is not None, "the template is gone"
            self.ended[message["ended"]] = message
        return self.ended.pop(worker.pid)

    def finish(self, worker: Worker, stdin: bytes = b"") -> Result:
        """Reads to the end all that a worker writes."""
        streams = {worker.stdout: bytearray(), worker.stderr: bytearray()}
        threads = [threading.Thread(target=drain, args=item) for item in streams.items()]
        for thread in threads:
            thread.start()
        with contextlib.suppress(BrokenPipeError):
            os.write(worker.stdin, stdin)
        os.close(worker.stdin)
        frames = []
        while said := worker.frame():
            frames.append(said)
        status = self.end_of(worker)["status"]
        for thread in threads:
            thread.join(SECONDS)
        stdout, stderr = (bytes(content).decode() for content in streams.values())
        worker.stdin = -1
        worker.close()
        return Result(os.waitstatus_to_exitcode(status), stdout, stderr, frames)

    def run(
        self,
        kind: str,
        *parts: str | bytes,
        stdin: bytes = b"",
        fds: tuple[int, ...] = (),
        cwd: str = "/",
        **header: Any,
    ) -> Result:
        """A job in a worker of its own."""
        worker = self.worker(fds, folder=cwd.encode())
        assert worker.parked == Frame("parked", None, b""), worker.parked
        worker.give(kind, *(part if isinstance(part, bytes) else part.encode() for part in parts), **header)
        return self.finish(worker, stdin)

    def code(self, source: str, *args: str, **header: Any) -> Result:
        return self.run("code", source, args=args, **header)

    def call(self, source: str, *args: Any, **header: Any) -> Result:
        return self.run("call", source, json.dumps({"args": args, "kwargs": {}}), **header)


def drain(number: int, into: bytearray) -> None:
    while chunk := os.read(number, 1 << 16):
        into += chunk


def package(folder: str, **modules: str) -> str:
    """Writes modules to be preloaded."""
    for name, source in modules.items():
        Path(folder, f"{name}.py").write_text(source)
    return folder
