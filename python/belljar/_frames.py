"""Frames of the agent's socket (docs/reference/agent.md): prefix, JSON header, body in the stream or a sealed memfd."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import stat
from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

HELLO, OPEN, JOB, CANCEL, INTERRUPT, CLOSE, STATS, PARSE, WARM = range(1, 10)
MORE = 32
WELCOME, OPENED, OUTPUT, VALUE, OUTCOME, ERROR, CLOSED, FIGURES, PARSED, WARMED = range(64, 74)
ITEM = 96

# One for all: `json.dumps` makes another for each call.
to_json = json.JSONEncoder(separators=(",", ":")).encode
# Without a look at encodings and at what is around it: the agent sends neither.
from_json: Callable[[str, int], tuple[dict[str, Any], int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
PREFIX = Struct("<BBBBIQQ")
INLINE = 64 << 10
MOST_HEADER = 1 << 20
MOST_BODY = 1 << 30
MOST_PARTS = 1 << 16
ALIGN = 64
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
# It cannot be made executable: a kernel may add this seal by itself.
SEAL_EXEC = 0x20
NOEXEC_SEAL = 0x8


class FrameError(Exception):
    """Bytes that are no frame: nothing after them can be read."""


class TooLarge(Exception):
    """A header over the cap of a frame, and its size; bodies are checked by whoever can name what is in them."""


class Frame:
    """One frame as it came; the header is read only by whoever needs it."""

    __slots__ = ("_head", "body", "header", "kind")

    def __init__(self, kind: int, header: bytes, body: Buffer) -> None:
        self.kind = kind
        self.header = header
        self.body = body
        self._head: dict[str, Any] | None = None

    def head(self) -> dict[str, Any]:
        """The header as an object."""
        if self._head is None:
            self._head = from_json(self.header.decode(), 0)[0]
        return self._head

    def is_last(self) -> bool:
        """Whether no other frame answers the same request."""
        if self.kind == VALUE:
            return bool(self.head()["last"])
        return self.kind not in (OUTPUT, ITEM)

    def parts(self, lengths: Sequence[int]) -> list[memoryview]:
        """The parts of the body, which begin at multiples of 64."""
        view, parts, at = memoryview(self.body), [], 0
        for length in lengths:
            at += -at % ALIGN
            if length < 0 or at + length > len(view):
                raise FrameError("a body is shorter than its parts")
            parts.append(view[at : at + length])
            at += length
        return parts


def encode(kind: int, number: int, header: dict[str, Any], parts: Sequence[Buffer] = ()) -> tuple[bytes, int]:
    """The bytes for the stream, and the descriptor that goes with the first of them, or -1."""
    text = to_json(header).encode()
    if len(text) > MOST_HEADER:
        raise TooLarge(len(text))
    size = body_size(parts)
    if size < INLINE:
        return b"".join((PREFIX.pack(kind, 1, 0, 0, len(text), number, size), text, *padded(parts))), -1
    return PREFIX.pack(kind, 1, 1, 0, len(text), number, size) + text, sealed(parts)


def body_size(parts: Sequence[Buffer]) -> int:
    """How long the body is that has these parts."""
    size = 0
    for part in parts:
        size += -size % ALIGN + len(part)
    return size


def fits(parts: Sequence[Buffer]) -> bool:
    """Whether a body can have these parts."""
    return len(parts) <= MOST_PARTS and body_size(parts) <= MOST_BODY


def single(kind: int, number: int, head: bytes, pieces: tuple[bytes, ...]) -> bytes:
    """A frame with one small part, in pieces; its header is there but for its end."""
    size = sum(map(len, pieces))
    text = b'%b,"parts":[%d]}' % (head, size)
    return b"".join((PREFIX.pack(kind, 1, 0, 0, len(text), number, size), text, *pieces))


def padded(parts: Iterable[Buffer]) -> Iterable[Buffer]:
    """The parts with zeros between them, so that each begins at a multiple of 64."""
    at = 0
    for part in parts:
        if at % ALIGN:
            yield bytes(-at % ALIGN)
            at += -at % ALIGN
        yield part
        at += len(part)


def sealed(parts: Iterable[Buffer]) -> int:
    """A memfd with the parts, which nobody can change any more."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create("belljar", flags | NOEXEC_SEAL)
    except OSError:
        # Linux before 6.3 does not know the flag; later ones may insist on it.
        fd = os.memfd_create("belljar", flags)
    try:
        for piece in padded(parts):
            view = memoryview(piece).cast("B") if len(piece) else memoryview(b"")
            while len(view):
                # A write of 2 GiB and more is cut by the kernel.
                view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def mapped(fd: int, size: int) -> mmap.mmap:
    """A private, writable map of a body that came as a descriptor; the descriptor is closed."""
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size != size or facts.st_blocks * 512 < size:
            raise FrameError("the descriptor of a body is not a whole file of the size that was named")
        if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & ~SEAL_EXEC != SEALS:
            raise FrameError("the descriptor of a body is not sealed")
        return mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    finally:
        os.close(fd)


def own(data: bytes, number: int) -> list[Frame] | None:
    """The frames in these bytes, if they are whole, for this number, and with nothing beside them."""
    found: list[Frame] = []
    at, end = 0, len(data)
    while at < end:
        if end - at < PREFIX.size:
            return None
        kind, layout, flags, zero, header, whose, body = PREFIX.unpack_from(data, at)
        begin = at + PREFIX.size
        middle = begin + header
        at = middle + body
        if whose != number or layout != 1 or flags or zero or at > end or body >= INLINE:
            return None
        found.append(Frame(kind, data[begin:middle], bytearray(data[middle:at])))
    return found


class Decoder:
    """Cuts a stream into frames. Descriptors wait in the order in which they came."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def push(self, data: bytes, descriptors: Iterable[int] = ()) -> list[tuple[int, Frame]]:
        """All frames, by id, that are whole with these bytes."""
        self._bytes += data
        self._descriptors += descriptors
        frames: list[tuple[int, Frame]] = []
        used = 0
        while len(self._bytes) - used >= PREFIX.size:
            kind, layout, flags, zero, header, number, body = PREFIX.unpack_from(self._bytes, used)
            if layout != 1 or flags & ~1 or zero or header > MOST_HEADER or body > MOST_BODY:
                raise FrameError("the agent's answer is no frame")
            inline = 0 if flags else body
            if inline >= INLINE:
                raise FrameError("a large body is in the stream")
            begin = used + PREFIX.size
            end = begin + header + inline
            if len(self._bytes) < end:
                break
            text = bytes(self._bytes[begin : begin + header])
            if flags:
                if not self._descriptors:
                    raise FrameError("a frame came without its descriptor")
                content: Buffer = mapped(self._descriptors.pop(0), body)
            else:
                # Arrays are made over it, so it is writable as a map is.
                content = self._bytes[begin + header : end]
            frames.append((number, Frame(kind, text, content)))
            used = end
        del self._bytes[:used]
        return frames

    def is_between(self) -> bool:
        """Whether no part of a frame is here."""
        return not self._bytes and not self._descriptors

    def close(self) -> None:
        """Closes what came and was not asked for."""
        for fd in self._descriptors:
            os.close(fd)
        self._descriptors.clear()
