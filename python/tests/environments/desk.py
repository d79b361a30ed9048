"""A user at work: a home, a cache and index settings of their own, and the binary under test."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from support import BINARY, PACKAGE

UV = Path(os.environ.get("BELLJAR_UV") or Path(sys.executable).parent / "uv")
# The one below the virtualenv that runs the tests: others can read it too.
PYTHON = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
SETTINGS = (
    "UV_",
    "PIP_",
    "BELLJAR_",
    "PYTHON",
    "SSL_",
    "REQUESTS_",
    "HTTP",
    "http",
    "NO_PROXY",
    "no_proxy",
    "ALL_PROXY",
    "XDG_",
)


class Desk:
    """Calls `belljar` as a user who has nothing but what stands here."""

    def __init__(self, folder: Path, index: str | None, uid: int | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.cache = folder / "cache"
        self.uid = uid
        self.settings: dict[str, str] = {"UV_DEFAULT_INDEX": index} if index else {}
        self.home.mkdir(parents=True)
        if uid is not None:
            os.chown(folder, uid, uid)
            os.chown(self.home, uid, uid)

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing of the caller's index settings: they may name other indexes."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        own = {"HOME": str(self.home), "BELLJAR_CACHE_DIR": str(self.cache), "BELLJAR_UV": str(UV), "NO_COLOR": "1"}
        return {**kept, **own, **self.settings, **more}

    def words(self, *words: str | Path) -> list[str]:
        """The command line, as the user of this desk."""
        become = (
            ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), "--clear-groups"]
            if self.uid is not None
            else []
        )
        return [*become, str(BINARY), *map(str, words)]

    def call(self, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words),
            env=self.environment(**more), cwd=self.folder, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self, *words: str | Path, **more: str) -> subprocess.Popen[str]:
        """The same, and does not wait. What is written to its standard input the guest reads."""
        return subprocess.Popen(
            self.words(*words), env=self.environment(**more), cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, code: str, *words: str | Path, **more: str) -> str:
        """What code prints that must succeed, with the interpreter of these tests."""
        told = self.call("run", "--python", PYTHON, *words, "-c", code, **more)
        assert told.returncode == 0, told.stderr
        return told.stdout

    def refused(self, *words: str | Path, code: str = "print('ran')", **more: str) -> str:
        """The one message with which belljar declines to run code with these words."""
        told = self.call("run", "--python", PYTHON, *words, "-c", code, **more)
        assert (told.returncode, told.stdout) == (125, ""), (told.returncode, told.stdout, told.stderr)
        return message(told.stderr)

    def environments(self) -> list[Path]:
        """Those that are in their place."""
        return sorted(path for path in (self.cache / "environments").glob("*") if not path.name.startswith("."))

    def staging(self) -> list[Path]:
        """What builds left behind, or are at."""
        places = {"uv/building": "*", "builds": "*", "environments": ".*", "uv/wheels": ".tmp*"}
        return sorted(path for place, names in places.items() for path in (self.cache / place).glob(names))

    def file(self, name: str) -> Path:
        """A file of the one environment there is."""
        [found] = [path for folder in self.environments() for path in folder.rglob(name) if path.is_file()]
        return found

    def listed(self) -> list[dict[str, object]]:
        told = self.call("env", "list", "--json")
        assert told.returncode == 0, told.stderr
        listed = json.loads(told.stdout)["environments"]
        assert isinstance(listed, list)
        return listed


def message(stderr: str) -> str:
    """What is said, without the lines that a build has begun and ended."""
    return re.sub(
        r"^belljar: (building an environment for |environment for .* built: ).*\n", "", stderr, flags=re.MULTILINE
    )


def python(desk: Desk, source: str, **more: str) -> str:
    """What a program of its own prints."""
    told = subprocess.run(
        [sys.executable, "-c", source],
        env=desk.environment(PYTHONPATH=str(PACKAGE), BELLJAR_BIN=desk.words()[-1], **more),
        cwd=desk.folder, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    return told.stdout


def uv(
    folder: Path, index: str, *words: str | Path, check: bool = True, seconds: float = 100
) -> subprocess.CompletedProcess[str]:
    """Plain uv, for controls: what would have happened without a jar."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    told = subprocess.run(
        [str(UV), *map(str, words)],
        env={**kept, "HOME": str(folder), "UV_DEFAULT_INDEX": index, "UV_CACHE_DIR": str(folder / "plain-cache"), "NO_COLOR": "1"},
        capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert not check or told.returncode == 0, told.stderr
    return told


def plain_install(folder: Path, index: str, *words: str) -> Path:
    """A virtualenv into which plain uv installed something; its interpreter."""
    uv(folder, index, "venv", "--quiet", "--python", PYTHON, folder / "plain")
    python = folder / "plain" / "bin" / "python"
    uv(folder, index, "pip", "install", "--python", python, *words)
    return python


def contents(*folders: Path) -> dict[str, tuple[int, str]]:
    """Mode and content of everything below, for comparing before and after."""
    found = {}
    for path in everything(*folders):
        about = path.lstat()
        if stat.S_ISREG(about.st_mode):
            found[str(path)] = (about.st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        elif stat.S_ISLNK(about.st_mode):
            found[str(path)] = (about.st_mode, os.readlink(path))
    return found


def everything(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for where, folders_in, files in os.walk(folder):
            yield from (Path(where, name) for name in (*folders_in, *files))


def escaped(mark: str, folders: Iterable[Path]) -> list[Path]:
    """Files called `mark` below these folders or beside any of their parents, but not where a package's own files belong."""
    # In an environment that is finished, and where uv unpacks one wheel.
    own = re.compile(r"/cache/(environments/[0-9a-f]{32}/env|uv/wheels/archive-v0/[^/]+)/")
    found = []
    for folder in folders:
        found += [parent / mark for parent in folder.parents if os.path.lexists(parent / mark)]
        found += [path for path in everything(folder) if path.name == mark and not own.search(str(path))]
    return found


def remove(folder: Path) -> None:
    """Removes what was made read-only, too."""
    for path in everything(folder):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
