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
        protected ones. No link is followed, and what is no longer as the run found it stays as it is.
        """
        if changes.truncated:
            raise BelljarError(
                "the draft is too large to be applied: its list of changes stops at a bound, so nothing was written",
                "let the run change fewer or smaller files, or let it write the folder itself: workdir= without draft=",
            )
        skipped = dict(changes.skipped)
        allowed = tuple(path.rstrip("/") for path in allow)
        todo = []
        root = os.open(self.folder, FOLDER & ~os.O_NOFOLLOW)
        try:
            for step in steps:
                path, reason = step["path"], step.get("refused")
                if reason and not (reason.startswith(PROTECTED) and named(path, allowed)):
                    skipped[path] = in_python(path, reason)
                else:
                    todo.append(step)
            # All before any: to write one name of a file changes what is known of its other names.
            gone = {step["path"] for step in todo if step["step"] == "delete"}
            changed = {step["path"] for step in todo if not self._as_found(root, step, gone)}
            for step in todo:
                path = step["path"]
                try:
                    if path in changed:
                        raise OSError("it was changed on the host since the run began")
                    self._do(root, bytes(step["name"]), step["step"], files.get(path))
                except Absent:
                    # Its content was not sent, and the reason is there already.
                    skipped.setdefault(path, "its content did not come out of the jar")
                except OSError as error:
                    skipped[path] = str(error.strerror or error)
        finally:
            os.close(root)
        return skipped

    def _as_found(self, root: int, step: Mapping[str, Any], gone: set[str]) -> bool:
        """Whether nobody has touched a path since the run began, nor since the draft was read."""
        was = step.get("was")
        try:
            with opened(root, bytes(step["name"])) as (where, name):
                facts = os.stat(name, dir_fd=where, follow_symlinks=False)
        except OSError:
            # What the folder around it is will be told when something is to be made there.
            return was is None
        is_folder = stat.S_ISDIR(facts.st_mode)
        if was is None:
            return step["path"] in gone or (is_folder and step["step"] == "folder")
        if is_folder:
            return bool(facts.st_ino == was["inode"])
        now = {
            "inode": facts.st_ino,
            "size": facts.st_size,
            "modified": facts.st_mtime_ns,
            "changed": facts.st_ctime_ns,
        }
        return bool(now == was and facts.st_ctime_ns <= self.since * 1e9)

    def _do(self, root: int, path: bytes, step: Any, file: File | None) -> None:
        """One step."""
        with opened(root, path) as (where, name):
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

    def _write(self, where: int, name: bytes, data: bytes, executable: bool) -> None:
        old = there(where, name)
        if old is not None and not stat.S_ISREG(old.st_mode):
            raise OSError("another kind of entry is in its place")
        with beside(where, name) as temporary:
            # Closed until the old mode is set, for it may have been a secret.
            mode = 0o600 if old is not None else 0o777 if executable else 0o666
            with os.fdopen(os.open(temporary, FRESH, mode, dir_fd=where), "wb") as file:
                file.write(data)
                if old is not None:
                    keep_owner(file.fileno(), old)
                    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode) & 0o777)

    def _link(self, where: int, name: bytes, target: bytes) -> None:
        old = there(where, name)
        if old is not None and not stat.S_ISLNK(old.st_mode):
            raise OSError("another kind of entry is in its place")
        with beside(where, name) as temporary:
            os.symlink(target, temporary, dir_fd=where)

    def _remove(self, where: int, name: bytes) -> None:
        facts = there(where, name)
        if facts is None:
            return
        if stat.S_ISDIR(facts.st_mode):
            os.rmdir(name, dir_fd=where)
        else:
            os.unlink(name, dir_fd=where)

    def _folder(self, where: int, name: bytes) -> None:
        facts = there(where, name)
        if facts is None:
            os.mkdir(name, 0o777, dir_fd=where)
        elif not stat.S_ISDIR(facts.st_mode):
            raise OSError("another kind of entry is in its place")


@contextmanager
def opened(root: int, path: bytes) -> Iterator[tuple[int, bytes]]:
    """The folder that a path of a draft is in, opened name by name and without links, and its last name."""
    *parents, name = path.split(b"/")
    if not name or any(part in (b"", b".", b"..") for part in (*parents, name)):
        raise OSError("not a path in the folder")
    folders: list[int] = []
    try:
        for part in parents:
            folders.append(os.open(part, FOLDER, dir_fd=folders[-1] if folders else root))
        yield folders[-1] if folders else root, name
    finally:
        for fd in folders:
            os.close(fd)


def there(where: int, name: bytes) -> os.stat_result | None:
    """What is there now."""
    try:
        return os.stat(name, dir_fd=where, follow_symlinks=False)
    except FileNotFoundError:
        return None


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
