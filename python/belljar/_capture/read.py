"""Reads files by descriptor and follows no link: whoever can write there meanwhile must not lead us elsewhere."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from .modules import real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .modules import Found

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
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Full
    return data


def module(path: str) -> bytes | None:
    """The file of a module. It may be a link to one of the same name, as build tools make them, but no other: a link
    to a key must not go in as source."""
    data = content(path)
    if data is None:
        real = real_path(path)
        if os.path.basename(real) == os.path.basename(path):
            data = content(real)
    return data


@contextmanager
def opened(path: str, folder: int | None = None) -> Iterator[int]:
    """A folder, to be looked into by its descriptor; a link only where it is the first of all."""
    descriptor = os.open(path, FOLDER if folder is None else FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def source_of(found: Found) -> bytes:
    """The source of a module that is one, for its imports; nothing of any other."""
    if found.archive is not None:
        loader = found.spec.loader
        try:
            return (loader.get_source(found.name) or "").encode("utf-8", "replace")
        except Exception:
            return b""
    if found.path is None or not found.path.endswith(".py"):
        return b""
    return module(found.path) or b""
