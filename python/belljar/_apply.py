"""Writing a draft to its folder, after somebody has looked at it."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from ._errors import BelljarError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ._outcome import Changes, File

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PROTECTED = "protected: "
FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Draft:
    """The folder that a draft is of, and when its run began."""

    __slots__ = ("folder", "since")

    def __init__(self, folder: str, since: float) -> None:
        self.folder = folder
        self.since = since

    def apply(
        self, changes: Changes, steps: Iterable[Mapping[str, Any]], files: Mapping[str, File], allow: Iterable[str]
    ) -> dict[str, str]:
        """Does what the agent says a draft does, in that order. Gives what was left alone, and why.

        Which paths and links may be applied is decided there, by the rules of `belljar run --apply`; `allow` names
        protected ones. No link is followed, and what was changed on the host since the run began stays as it is.
        """
        if changes.truncated:
            raise BelljarError(
                "the draft is too large to be applied: its list of changes stops at a bound, so nothing was written",
                "let the run change fewer or smaller files, or let it write the folder itself: workdir= without draft=",
            )
        skipped = dict(changes.skipped)
        allowed = tuple(path.rstrip("/") for path in allow)
        root = os.open(self.folder, FOLDER & ~os.O_NOFOLLOW)
        try:
            for step in steps:
                path, reason = step["path"], step.get("refused")
                if reason and not (reason.startswith(PROTECTED) and named(path, allowed)):
                    skipped[path] = in_python(path, reason)
                    continue
                try:
                    self._do(root, bytes(step["name"]), step["step"], files.get(path))
                except Absent:
                    # Its content was not sent, and the reason is there already.
                    skipped.setdefault(path, "its content did not come out of the jar")
                except OSError as error:
                    skipped[path] = str(error.strerror or error)
        finally:
            os.close(root)
        return skipped

    def _do(self, root: int, path: bytes, step: Any, file: File | None) -> None:
        """One step, with every folder on the way opened by its name and without links."""
        *parents, name = path.split(b"/")
        if not name or any(part in (b"", b".", b"..") for part in (*parents, name)):
            raise OSError("not a path in the folder")
        opened: list[int] = []
        try:
            where = root
            for part in parents:
                where = os.open(part, FOLDER, dir_fd=where)
                opened.append(where)
            if step == "delete":
                self._remove(where, name)
            elif step == "folder":
                self._folder(where, name)
            elif "link" in step:
                self._link(where, name, bytes(step["link"]["target"]))
            elif file is None:
                raise Absent
            else:
                self._write(where, name, file.bytes(), bool(step["file"]["executable"]))
        finally:
            for fd in opened:
                os.close(fd)

    def _unchanged(self, where: int, name: bytes) -> os.stat_result | None:
        """What is there now; raises if somebody has changed it meanwhile."""
        try:
            facts = os.stat(name, dir_fd=where, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(facts.st_mode) and facts.st_mtime > self.since:
            raise OSError("it was changed on the host since the run began")
        return facts

    def _write(self, where: int, name: bytes, data: bytes, executable: bool) -> None:
        old = self._unchanged(where, name)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise OSError("something else than a file is there")
        with beside(where, name) as temporary:
            # Closed until the old mode is set, for it may have been a secret.
            mode = 0o600 if old is not None else 0o777 if executable else 0o666
            with os.fdopen(os.open(temporary, FRESH, mode, dir_fd=where), "wb") as file:
                file.write(data)
                if old is not None:
                    keep_owner(file.fileno(), old)
                    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode) & 0o777)

    def _link(self, where: int, name: bytes, target: bytes) -> None:
        old = self._unchanged(where, name)
        if old is not None and not stat.S_ISLNK(old.st_mode):
            raise OSError("something else than a link is there")
        with beside(where, name) as temporary:
            os.symlink(target, temporary, dir_fd=where)

    def _remove(self, where: int, name: bytes) -> None:
        facts = self._unchanged(where, name)
        if facts is None:
            return
        if stat.S_ISDIR(facts.st_mode):
            os.rmdir(name, dir_fd=where)
        else:
            os.unlink(name, dir_fd=where)

    def _folder(self, where: int, name: bytes) -> None:
        facts = self._unchanged(where, name)
        if facts is None:
            os.mkdir(name, 0o777, dir_fd=where)
        elif not stat.S_ISDIR(facts.st_mode):
            raise OSError("something else than a folder is there")


class Absent(Exception):
    """A file whose content is not there."""


@contextmanager
def beside(where: int, name: bytes) -> Iterator[bytes]:
    """Beside it and then over it: whoever reads it sees the old or the new, never half."""
    # A name that nobody can have planted a link at.
    temporary = b".belljar-" + os.urandom(8).hex().encode()
    try:
        yield temporary
        os.rename(temporary, name, src_dir_fd=where, dst_dir_fd=where)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=where)
        raise


def keep_owner(fd: int, old: os.stat_result) -> None:
    """Root keeps the file its owner's; to anybody else it is their own already, or cannot be given away."""
    with suppress(OSError):
        os.fchown(fd, old.st_uid, old.st_gid)


def in_python(path: str, reason: str) -> str:
    """Why a path was left out. The binary tells what its flags can do about a protected one."""
    if not reason.startswith(PROTECTED):
        return reason
    return f"{reason.partition('; --apply')[0]}; apply(allow=[{path!r}]) of a draft writes it"


def named(path: str, allowed: tuple[str, ...]) -> bool:
    """Whether a path, or a folder that it is in, is among those."""
    return any(path == each or path.startswith(f"{each}/") for each in allowed)
