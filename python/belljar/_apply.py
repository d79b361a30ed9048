"""Writing a draft to its folder, after somebody has looked at it."""

from __future__ import annotations

import os
import stat
from functools import partial

from ._errors import BelljarError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._outcome import Changes, File

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Draft:
    """The folder that a draft is of, and when its run began."""

    __slots__ = ("folder", "since")

    def __init__(self, folder: str, since: float) -> None:
        self.folder = folder
        self.since = since

    def apply(self, changes: Changes, files: Mapping[str, File]) -> dict[str, str]:
        """Writes what was created and modified, removes what was deleted. Gives what was left alone, and why.

        No link is followed, and what was changed on the host since the run began stays as it is.
        """
        if changes.truncated:
            raise BelljarError("the draft is too large to be applied: its list of changes stops at a bound")
        skipped = dict(changes.skipped)
        root = os.open(self.folder, FOLDER & ~os.O_NOFOLLOW)
        try:
            for path in sorted(changes.deleted, reverse=True):
                self._try(root, path, skipped, self._remove)
            for path in [*changes.created, *changes.modified]:
                if path in files:
                    self._try(root, path, skipped, partial(self._write, files[path].bytes()))
                elif path not in skipped:
                    self._try(root, path, skipped, self._folder)
        finally:
            os.close(root)
        return skipped

    def _try(self, root: int, path: str, skipped: dict[str, str], act: Callable[[int, str], None]) -> None:
        *parents, name = path.split("/")
        if not name or any(part in ("", ".", "..") for part in (*parents, name)):
            skipped[path] = "not a path in the folder"
            return
        opened: list[int] = []
        try:
            where = root
            for part in parents:
                try:
                    where = os.open(part, FOLDER, dir_fd=where)
                except FileNotFoundError:
                    os.mkdir(part, 0o755, dir_fd=where)
                    where = os.open(part, FOLDER, dir_fd=where)
                opened.append(where)
            act(where, name)
        except OSError as error:
            skipped[path] = str(error.strerror or error)
        finally:
            for fd in opened:
                os.close(fd)

    def _unchanged(self, where: int, name: str) -> os.stat_result | None:
        """What is there now; raises if somebody has changed it meanwhile."""
        try:
            facts = os.stat(name, dir_fd=where, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(facts.st_mode) and facts.st_mtime > self.since:
            raise OSError("it was changed on the host since the run began")
        return facts

    def _write(self, data: bytes, where: int, name: str) -> None:
        facts = self._unchanged(where, name)
        if facts is not None and not stat.S_ISREG(facts.st_mode):
            raise OSError("something else than a file is there")
        mode = stat.S_IMODE(facts.st_mode) if facts is not None else 0o644
        # Beside it and then over it: whoever reads it sees the old or the new, never half.
        beside = f".{name[:200]}.belljar-{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(beside, flags, mode, dir_fd=where), "wb") as file:
                file.write(data)
            os.rename(beside, name, src_dir_fd=where, dst_dir_fd=where)
        except OSError:
            try:
                os.unlink(beside, dir_fd=where)
            except FileNotFoundError:
                pass
            raise

    def _remove(self, where: int, name: str) -> None:
        facts = self._unchanged(where, name)
        if facts is None:
            return
        if stat.S_ISDIR(facts.st_mode):
            os.rmdir(name, dir_fd=where)
        else:
            os.unlink(name, dir_fd=where)

    def _folder(self, where: int, name: str) -> None:
        """What came without content is a folder, or something that is not taken out of a jar."""
        if self._unchanged(where, name) is None:
            raise OSError("no regular file, or an empty folder; it is not applied")
