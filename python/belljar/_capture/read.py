"""Reads files by descriptor and follows no link: whoever can write there meanwhile must not lead us elsewhere."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from .modules import real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most bytes that are sent as source.
MOST_BYTES = 64 << 20
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Full(Exception):
    """More than is ever sent."""


def content(path: str, folder: int | None = None) -> bytes | None:
    """What a regular file holds; None of anything else, a link among it."""
    try:
        descriptor = os.open(path, FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MOST_BYTES:
            raise Full
        parts, size = [], 0
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise Full
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def module(path: str) -> bytes | None:
    """The file of a module. It may be a link to one of the same name, as build tools make them, but no other: a link
    to a key must not go in as source."""
    data = content(path)
    return content(real_path(path)) if data is None and same_name(path) else data


def same_name(path: str) -> bool:
    """Whether a path that may be a link leads to something of its own name."""
    return os.path.basename(real_path(path)) == os.path.basename(path)


@contextmanager
def opened(path: str, folder: int | None = None) -> Iterator[int]:
    """A folder, to be looked into by its descriptor; a link only where it is the first of all."""
    descriptor = os.open(path, FOLDER if folder is None else FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
