"""Modules in a zip file: a zipapp, or an archive on sys.path. It is read as one file, by descriptor, and once."""

from __future__ import annotations

import io
import os

from .modules import SUFFIXES, real_path
from .read import MOST_BYTES, Full, content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from zipfile import ZipFile

    from .modules import Found


class Archives:
    """Archives that were opened, for the time of one look."""

    def __init__(self) -> None:
        self._open: dict[str, ZipFile | None] = {}

    def _get(self, path: str) -> ZipFile | None:
        if path not in self._open:
            from zipfile import BadZipFile, ZipFile

            data = content(real_path(path))
            try:
                self._open[path] = ZipFile(io.BytesIO(data)) if data is not None else None
            except (BadZipFile, OSError, ValueError):
                self._open[path] = None
        return self._open[path]

    def source(self, found: Found) -> bytes:
        """The source of one module."""
        place = found.name.rpartition(".")[2]
        prefix = found.spec.loader.prefix.replace(os.sep, "/")
        for name in (f"{prefix}{place}/__init__.py", f"{prefix}{place}.py"):
            data = self._read(found.archive or "", name)
            if data is not None:
                return data
        return b""

    def members(self, unit: Found) -> Iterator[tuple[str, bytes]]:
        """What is in a package, or the module alone: by the path below the unit, which begins with a slash or a dot."""
        archive = self._get(unit.archive or "")
        own = unit.spec.loader.prefix.replace(os.sep, "/") + unit.name.rpartition(".")[2]
        for member in sorted(archive.namelist()) if archive is not None else ():
            rest = member[len(own) :] if member.startswith(own) else ""
            if rest in SUFFIXES or (rest.startswith("/") and unit.is_package and not rest.endswith("/")):
                data = self._read(unit.archive or "", member)
                if data is not None:
                    yield rest, data

    def _read(self, path: str, member: str) -> bytes | None:
        archive = self._get(path)
        try:
            if archive is None:
                return None
            if archive.getinfo(member).file_size > MOST_BYTES:
                raise Full
            return archive.read(member)
        except Full:
            raise
        except Exception:
            # Not there, damaged, encrypted, or packed in a way that is not known.
            return None
