"""Runs the guest runtime as the engine does, beside plain Python, with every interpreter that can be found."""

from __future__ import annotations

import functools
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GUEST = Path(__file__).resolve().parent.parent
PARTS = (
    *"boot script call ended report chain invoke fences".split(),
    *(path.stem for path in GUEST.glob("values*.py")),
)
KINDS = {1: "returned", 2: "raised", 3: "exited", 16: "item"}


@dataclass
class Frame:
    kind: str
    header: Any
    body: bytes


@dataclass
class Result:
    code: int
    stdout: str
    stderr: str
    frames: list[Frame] = field(default_factory=list)

    @property
    def only(self) -> Frame:
        """The one frame; a run that sends none or two is a failure."""
        assert len(self.frames) == 1, self
        return self.frames[0]


def pythons() -> list[str]:
    """CPython 3.10 and later: this one, those on PATH and those of pyenv, each once."""
    return list(versions())


@functools.cache
def versions() -> dict[str, str]:
    """The same with the version of each, such as 3.12."""
    names = [f"python3.{minor}" for minor in range(10, 20)]
    found = [sys.executable, *filter(None, (shutil.which(name) for name in ("python3", *names)))]
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        found += [str(path) for path in sorted(Path(root).glob("versions/3.*/bin/python3"))]
    result: dict[str, tuple[str, str]] = {}
    for path in found:
        show = "import sys; print(sys.executable, sys.implementation.name, '%d %d' % sys.version_info[:2])"
        run = subprocess.run([path, "-c", show], capture_output=True, text=True)
        words = run.stdout.split()
        if words[1:3] == ["cpython", "3"] and int(words[3]) >= 10:
            result[os.path.realpath(words[0])] = words[0], f"3.{words[3]}"
    return dict(result.values())


def boot(
    python: str,
    kind: str,
    origin: str,
    *args: str,
    job: str | bytes = b"",
    arguments: Any = None,
    flags: tuple[str, ...] = (),
    form: str = ".py",
    stdin: bytes = b"",
    cwd: str | None = None,
    timeout: float = 60,
    said: bytes = b"",
) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        # As in a jar: a job that gives up its rights still finds the runtime.
        os.chmod(folder, 0o755)
        install(python, Path(folder), form)
        Path(folder, "job").write_bytes(job if isinstance(job, bytes) else job.encode())
        Path(folder, "args.json").write_text(json.dumps(arguments))
        ours, theirs = socket.socketpair()
        # Before it starts: it may have ended at any time afterwards.
        ours.sendall(said)
        command = [python, *flags, f"{folder}/boot{form}", kind, origin, *args]
        # The shell, not a preexec function, puts the socket at 3: this process may have a descriptor of its own there.
        shell = ["sh", "-c", f'exec "$@" 3<&{theirs.fileno()}', "sh", *command]
        process = subprocess.Popen(
            shell, stdin=-1, stdout=-1, stderr=-1, pass_fds=[theirs.fileno()], cwd=cwd or folder, env=environment()
        )
        theirs.close()
        received = bytearray()
        reader = threading.Thread(target=drain, args=(ours, received))
        reader.start()
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        finally:
            process.kill()
            process.communicate()
            reader.join(10)
            ours.close()
        return Result(process.returncode, stdout.decode(), stderr.decode(), frames(bytes(received)))


def drain(source: socket.socket, into: bytearray) -> None:
    while chunk := source.recv(1 << 16):
        into += chunk


def plain(python: str, *args: str, stdin: bytes = b"", cwd: str | None = None) -> Result:
    run = subprocess.run([python, *args], input=stdin, capture_output=True, cwd=cwd, env=environment(), timeout=60)
    return Result(run.returncode, run.stdout.decode(), run.stderr.decode())


def environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def install(python: str, folder: Path, form: str) -> None:
    for part in PARTS:
        source = GUEST / f"{part}.py"
        if form == ".py":
            shutil.copy(source, folder)
        else:
            code = "import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)"
            subprocess.run([python, "-c", code, source, folder / f"{part}.pyc"], check=True)


def frames(data: bytes) -> list[Frame]:
    result = []
    while data:
        kind, version, zero, header, body = struct.unpack_from("<BBHIQ", data)
        assert (version, zero) == (1, 0) and len(data) >= 16 + header + body, data[:64]
        text = data[16 : 16 + header]
        assert header <= 1 << 20
        result.append(Frame(KINDS[kind], json.loads(text) if text else None, data[16 + header : 16 + header + body]))
        data = data[16 + header + body :]
    return result
