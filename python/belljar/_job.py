"""One job as a request to the agent: what runs, with which files, input and limits."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Mapping

from . import _frames as frames
from ._errors import ValueRefused
from ._policy import a_size
from ._wait import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol, TypeAlias

    from ._agent import Agent
    from ._capture.own import Load
    from ._guest import Guest
    from ._policy import Policy
    from ._rooms import Room

    Content: TypeAlias = bytes | bytearray | memoryview | str | os.PathLike[str]
    Tell: TypeAlias = Callable[[str, str], object]

    class Place(Protocol):
        """Where jobs run: a policy, or a sandbox that is open."""

        @property
        def policy(self) -> Policy: ...
        def place(self, load: Load | None = None) -> tuple[Agent, Room]: ...
        def guest(self) -> Guest: ...


# What a run may leave, all files together, when it is not told otherwise.
COLLECT = 256 << 20
#: What functions and sandboxes take besides the policy, for each of their jobs.
GIVEN = ("files", "collect")


def text(value: str | os.PathLike[str]) -> str | list[int]:
    """Text that the system knows as bytes, as the protocol has it."""
    name = os.fspath(value)
    try:
        name.encode()
    except UnicodeEncodeError:
        return list(os.fsencode(name))
    return name


def content(what: str, value: Content) -> bytes | bytearray | memoryview:
    """The bytes of an input: bytes, text, or a file of the host."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return value
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= frames.MOST_BODY:
                return file.read()
        from ._bounds import SHOWN, too_large

        raise too_large(size, {what: value}, SHOWN)
    try:
        return memoryview(value).cast("B")
    except TypeError:
        raise ValueRefused(
            f"{what} is of type {type(value).__name__}", "give bytes, text, or a Path of the host"
        ) from None


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """What a job gets beside its policy, out of `options`, checked where it is written; None is the default."""
    given = {key: options.pop(key) for key in GIVEN if key in options}
    if given.get("files") is not None:
        given["files"] = checked_files(given["files"])
    if given.get("collect") is not None:
        given["collect"] = a_size(0, frames.MOST_BODY, "256M")("collect", given["collect"])
    return {key: value for key, value in given.items() if value is not None}


def checked_files(files: Any) -> dict[str, Content]:
    form = 'a dict of names and contents, such as {"in.csv": data} or {"in.csv": Path("in.csv")}'
    if not isinstance(files, Mapping):
        raise TypeError(f"files={shortened(files)}: is no dict; it takes {form}")
    for name, value in files.items():
        if not isinstance(name, (str, os.PathLike)):
            raise TypeError(f"files={{{shortened(name)}: …}}: is no name of a file; it takes {form}")
        if not isinstance(value, (str, os.PathLike)):
            content(f"files[{name!r}]", value)
    return dict(files)


def shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def job(
    place: Place,
    kind: str,
    parts: Sequence[frames.Buffer],
    *,
    name: str | os.PathLike[str] | None = None,
    args: Iterable[str | os.PathLike[str]] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    stdin: Content | None = None,
    files: Mapping[str, Content] | None = None,
    limits: Mapping[str, Any] | None = None,
    collect: int = 0,
    stream: bool = False,
    more: Mapping[str, Any] | None = None,
    load: Load | None = None,
) -> Request:
    """The request for a job; nothing is sent yet."""
    agent, room = place.place(load)
    body = list(parts)
    header: dict[str, Any] = {"sandbox": room.number, "kind": kind}
    if name is not None:
        header["name"] = text(name)
    if args:
        header["args"] = [text(arg) for arg in args]
    if env:
        header["env"] = dict(env)
    if cwd is not None:
        header["cwd"] = text(cwd)
    if stdin is not None:
        header["stdin"] = True
        body.append(content("stdin", stdin))
    if files:
        header["files"] = [text(path) for path in files]
        body += [content(f"files[{path!r}]", value) for path, value in files.items()]
    if not frames.fits(body):
        from ._bounds import SHOWN, refused

        names = (
            ["the code"] * len(parts) + ["stdin"] * (stdin is not None) + [f"files[{path!r}]" for path in files or ()]
        )
        raise refused(body, dict(zip(names, body, strict=True)), SHOWN)
    if limits:
        header["limits"] = dict(limits)
    if collect:
        header["collect"] = {"send": collect}
    if stream:
        header["stream"] = True
    if more:
        header.update(more)
    header["parts"] = [len(part) for part in body]
    return Request(agent, room, frames.JOB, header, body)


class Teller:
    """Gives output to a function as text, whole characters at a time."""

    __slots__ = ("_decoders", "_tell")

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}

    def __call__(self, frame: frames.Frame) -> Any:
        stream = frame.head()["stream"]
        decoder = self._decoders.get(stream)
        if decoder is None:
            decoder = self._decoders[stream] = codecs.getincrementaldecoder("utf-8")("replace")
        piece = decoder.decode(bytes(frame.body))
        return self._tell(stream, piece) if piece else None


def to_own_streams(stream: str, piece: str) -> None:
    """The caller's own standard output and standard error, whatever they are now."""
    target = sys.stderr if stream == "stderr" else sys.stdout
    if target is not None:
        target.write(piece)
        target.flush()
