"""Wheels and source distributions written entry by entry, so that any of them can be malformed."""

from __future__ import annotations

import base64
import hashlib
import io
import stat
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ANY = "py3-none-any"


@dataclass(frozen=True)
class Artifact:
    """A file of an index."""

    name: str
    version: str
    filename: str
    data: bytes = field(repr=False)
    metadata: bytes | None = field(default=None, repr=False)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Entry:
    """A member of an archive, with whatever name and nature."""

    name: str
    data: bytes = b""
    link: bool = False
    mode: int = 0o644


def metadata(name: str, version: str, requires: Iterable[str] = (), requires_python: str | None = None) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Python: {requires_python}"] if requires_python else []
    lines += [f"Requires-Dist: {wish}" for wish in requires]
    return ("\n".join(lines) + "\n").encode()


def wheel(
    name: str,
    version: str = "1",
    files: Mapping[str, str] | None = None,
    *,
    requires: Iterable[str] = (),
    requires_python: str | None = None,
    entry_points: str | None = None,
    entries: Iterable[Entry] = (),
    record: Iterable[str] = (),
    tag: str = ANY,
) -> Artifact:
    """A wheel whose module has the package's name and its version; `entries` and lines of `record` go in as they are."""
    folder = f"{name}-{version}.dist-info"
    about = metadata(name, version, requires, requires_python)
    module = {f"{name}.py": f"version = {version!r}\n"}
    members = [Entry(path, text.encode()) for path, text in (module if files is None else files).items()]
    members += entries
    members += [
        Entry(f"{folder}/METADATA", about),
        Entry(f"{folder}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()),
    ]
    if entry_points is not None:
        members.append(Entry(f"{folder}/entry_points.txt", entry_points.encode()))
    lines = [f"{entry.name},sha256={_digest(entry.data)},{len(entry.data)}" for entry in members]
    text = "\n".join([*lines, *record, f"{folder}/RECORD,,"]) + "\n"
    data = archive([*members, Entry(f"{folder}/RECORD", text.encode())])
    return Artifact(name, version, f"{name}-{version}-{tag}.whl", data, about)


def archive(entries: Iterable[Entry]) -> bytes:
    """A zip with these members, duplicates and all."""
    store = io.BytesIO()
    with zipfile.ZipFile(store, "w", zipfile.ZIP_DEFLATED) as file, warnings.catch_warnings():
        # "Duplicate name": meant.
        warnings.simplefilter("ignore")
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, (2020, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = ((stat.S_IFLNK | 0o777) if entry.link else (stat.S_IFREG | entry.mode)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, entry.data)
    return store.getvalue()


def with_local_name(data: bytes, name: str, other: str) -> bytes:
    """A zip whose local header calls a member `other` and whose directory calls it `name`: readers differ in which they believe."""
    assert len(name) == len(other)
    start = data.index(name.encode())
    assert data[start - 30 : start - 26] == b"PK\x03\x04", "the first hit is the local header"
    return data[:start] + other.encode() + data[start + len(other) :]


def bomb(name: str, size: int) -> Artifact:
    """A wheel of a few megabytes with one file of `size` zeros, made without compressing that many."""
    block = 1 << 20
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = squeeze.compress(bytes(block)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    rest = squeeze.compress(bytes(size % block)) + squeeze.flush(zlib.Z_FINISH)
    packed = piece * (size // block) + rest
    harmless = wheel(name, "1", {f"{name}.py": "version = '1'\n", f"{name}.bin": ""})
    with zipfile.ZipFile(io.BytesIO(harmless.data)) as file:
        texts = {info.filename: file.read(info) for info in file.infolist()}
    members = [(path, zlib.crc32(text), len(text), text, 0) for path, text in texts.items() if path != f"{name}.bin"]
    data = _zip([*members, (f"{name}.bin", _zeros_crc(size), size, packed, zipfile.ZIP_DEFLATED)])
    return Artifact(name, "1", harmless.filename, data, harmless.metadata)


def _zip(members: Iterable[tuple[str, int, int, bytes, int]]) -> bytes:
    """A zip of members that are packed already: name, checksum, size, packed bytes, and how they are packed."""
    local, directory, count = bytearray(), bytearray(), 0
    for name, crc, size, packed, how in members:
        count += 1
        # What has no room in 32 bits stands in a field of its own.
        large = size >= 1 << 32
        more = struct.pack("<HHQQ", 1, 16, size, len(packed)) if large else b""
        sizes = (0xFFFFFFFF, 0xFFFFFFFF) if large else (len(packed), size)
        facts = struct.pack("<HHHHHIIIHH", 45, 0, how, 0, 0x5021, crc, *sizes, len(name), len(more))
        mode = (stat.S_IFREG | 0o644) << 16
        directory += b"PK\x01\x02" + struct.pack("<H", 45 | 3 << 8) + facts
        directory += struct.pack("<HHHII", 0, 0, 0, mode, len(local)) + name.encode() + more
        local += b"PK\x03\x04" + facts + name.encode() + more + packed
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(local), 0)
    return bytes(local + directory + end)


def sdist(name: str, version: str, files: Mapping[str, str], entries: Iterable[tarfile.TarInfo] = ()) -> Artifact:
    """A source distribution; `entries` (links, names that climb) go in as they are."""
    store = io.BytesIO()
    root = f"{name}-{version}"
    about = metadata(name, version)
    with tarfile.open(fileobj=store, mode="w:gz", format=tarfile.PAX_FORMAT) as file:
        for path, text in {"PKG-INFO": about.decode(), **files}.items():
            info = tarfile.TarInfo(f"{root}/{path}")
            info.size = len(text.encode())
            file.addfile(info, io.BytesIO(text.encode()))
        for info in entries:
            file.addfile(info, io.BytesIO(bytes(info.size)))
    return Artifact(name, version, f"{root}.tar.gz", store.getvalue())


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zeros_crc(size: int) -> int:
    """The CRC-32 of so many zeros: half a second a GiB."""
    crc, block = 0, bytes(1 << 20)
    for _ in range(size >> 20):
        crc = zlib.crc32(block, crc)
    return zlib.crc32(block[: size % len(block)], crc)
