"""What happened: the object of docs/reference/outcome.md, with files and a way to raise."""

from __future__ import annotations

import json
import os

from . import _errors as errors
from ._hints import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ._apply import Draft
    from ._known import Known


class File:
    """A file that the run left behind."""

    __slots__ = ("_content", "path")

    def __init__(self, path: str, content: memoryview) -> None:
        #: The path, relative to the working directory.
        self.path = path
        self._content = content

    def bytes(self) -> bytes:
        """The content as bytes."""
        return bytes(self._content)

    def text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The content as text."""
        return str(self._content, encoding, errors)

    def save(self, target: str | os.PathLike[str] = ".") -> str:
        """Writes the file to a path or into a folder, and returns the path. Never follows a link."""
        path = os.fspath(target)
        if os.path.isdir(path):
            path = os.path.join(path, os.path.basename(self.path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
            file.write(self._content)
        return path

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"<file {self.path!r}, {len(self)} bytes>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _file, (self.path, self.bytes())


def _file(path: str, content: bytes) -> File:
    return File(path, memoryview(content))


class Record:
    """A part of an outcome; its fields are attributes."""

    __slots__ = ("_fields",)
    _fields: Mapping[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            known = ", ".join(self._fields)
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {known}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __dir__(self) -> list[str]:
        return sorted(self._fields)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(tuple(self._fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self._fields),)


class Changes(Record):
    """Paths in the working directory that were created, modified or deleted; and skipped paths with reasons."""

    __slots__ = ()
    created: Sequence[str]
    modified: Sequence[str]
    deleted: Sequence[str]
    skipped: Mapping[str, str]
    notable: Mapping[str, str]
    applied: bool
    truncated: bool


class Usage(Record):
    """What the run used: `wall` and `cpu` in seconds, `memory_peak` and `processes_peak` if there is a cgroup.

    `cpu_estimated` means that no cgroup counted the processor time, so `cpu` is an estimate.
    """

    __slots__ = ()
    wall: float
    cpu: float
    cpu_estimated: bool
    memory_peak: int | None
    processes_peak: int | None


class Isolation(Record):
    """What belljar enforced: the `tier`, and for each of the `layers` its `state` and a `detail`."""

    __slots__ = ()
    tier: str
    layers: Mapping[str, Mapping[str, str]]


class Outcome:
    """How a run ended. Only `check()` raises: a failure of the guest is a fact about the run."""

    def __init__(self, fields: dict[str, Any], streams: Sequence[bytes], files: Mapping[str, File]) -> None:
        #: `returned`, `raised`, `exited`, `signalled`, `timed_out`, `out_of_memory` or `cancelled`.
        self.status: str = fields["status"]
        #: The limit that the guest hit, even if it went on running: `memory`, `cpu`, `processes`, `disk`, `files`,
        #: `output` or `time`.
        self.limit: str | None = fields["limit"]
        self.exit_code: int | None = fields["exit_code"]
        self.signal: int | None = fields["signal"]
        #: The value of the last expression, or of the call.
        self.value: Any = None
        refused = fields.get("refused")
        #: Why the value could not be sent back, if it could not.
        self.refused: str | None = refused["message"] if refused else None
        self.stdout_bytes, self.stderr_bytes = streams
        self.dropped: Mapping[str, int] = fields["dropped"]
        #: Files that the run left in a fresh working directory or created in a draft, by path.
        self.files = files
        # What a draft would do, for apply().
        self._steps: Sequence[Mapping[str, Any]] = fields["changes"].pop("draft", ())
        if fields["changes"]["skipped"]:
            from ._apply import in_python

            skipped = fields["changes"]["skipped"]
            skipped.update({path: in_python(path, reason) for path, reason in skipped.items()})
        self.changes = Changes(fields["changes"])
        self.usage = Usage(fields["usage"])
        self.isolation = Isolation(fields["isolation"])
        #: Why the job ran in a fresh interpreter instead of on a warm worker; None if it ran warm.
        self.cold: str | None = fields.get("cold")
        self._exception: dict[str, Any] | None = fields["exception"]
        self._draft: Draft | None = None
        # The classes of the caller's own that it may raise.
        self._known: Known | None = None
        # What the run was given, for those who are told what it lacks: names of files, and its code.
        self._given: Sequence[str] = ()
        self._source: str | None = None

    @property
    def stdout(self) -> str:
        """Standard output as text. A line in it says where bytes were dropped."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """Standard error as text."""
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        """Whether the run returned, or exited with code 0."""
        return self.status == "returned" or (self.status == "exited" and self.exit_code == 0)

    @property
    def exception(self) -> errors.GuestError | None:
        """The failure as a `GuestError`, or None. If the guest raised a class of yours, `check()` raises that class."""
        from ._verdict import error

        return error(self)

    def check(self) -> Outcome:
        """Raises what the guest raised, or the limit that ended it. Returns the outcome itself otherwise."""
        error = self.exception
        if error is not None:
            from ._verdict import throw, whole

            throw(whole(self, error))
        if self.status == "cancelled":
            from ._verdict import keep

            raise keep(errors.JobCancelled("the job was cancelled"), self)
        return self

    def apply(self, allow: Iterable[str] = ()) -> Mapping[str, str]:
        """Writes the draft to its folder. Returns the paths that it left alone, with reasons.

        Works like `belljar run --apply`: it writes links only if they stay in the folder. Tools on the host obey some
        paths by themselves (`.git`, `.envrc`): it writes those only if `allow` names them or a folder around them.
        """
        if self._draft is None:
            raise errors.BelljarError("there is no draft to apply", "run with workdir= and draft=True")
        if self.changes.applied:
            raise errors.BelljarError("the draft was applied already")
        skipped = self._draft.apply(self.changes, self._steps, self.files, allow)
        self.changes = Changes({**self.changes._fields, "applied": True, "skipped": skipped})
        return skipped

    def for_model(self, limit: int = 4000) -> str:
        """A short text for a language model: what happened, where, what to change, and the output.

        Its advice is about the code, which the model can change. Advice for you is in `exception.hint`.
        """
        from ._model import describe

        return describe(self, limit)

    def json(self) -> dict[str, Any]:
        """The object that `belljar run --json` prints, without the value."""
        told = self._exception
        return {
            "status": self.status,
            "limit": self.limit,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "exception": told and {**told, "hint": in_python(told.get("hint"))},
            "stdout": self.stdout,
            "stderr": self.stderr,
            "dropped": dict(self.dropped),
            "changes": dict(self.changes._fields),
            "usage": dict(self.usage._fields),
            "isolation": dict(self.isolation._fields),
        }

    def __getstate__(self) -> dict[str, Any]:
        # A function need not pickle.
        return {**self.__dict__, "_known": None}

    def _repr_html_(self) -> str:
        """How a notebook shows it. What a guest chose is text there, and never an element."""
        from ._notebook import shown

        return shown(self)

    def __repr__(self) -> str:
        more = f" {errors.printable(str(self._exception['type']))}" if self._exception else ""
        return f"<Outcome {self.status}{more}, {self.usage.wall:.3f} s>"


def read(parts: Sequence[memoryview]) -> Outcome:
    """The outcome in the parts of an `outcome` frame."""
    fields: dict[str, Any] = json.loads(bytes(parts[0]))
    dropped = fields["dropped"]
    streams = [
        joined(parts[2], parts[3], dropped["stdout"]),
        joined(parts[4], parts[5], dropped["stderr"]),
    ]
    files = {path: File(path, content) for path, content in zip(fields["files"], parts[6:], strict=True)}
    return Outcome(fields, streams, files)


def joined(head: memoryview, tail: memoryview, dropped: int) -> bytes:
    """The first and the last bytes of a stream, with a line between where some were dropped."""
    if not dropped:
        return bytes(head) + bytes(tail)
    newline = b"" if len(head) and head[-1] == 10 else b"\n"
    return bytes(head) + newline + b"[belljar: %d bytes dropped]\n" % dropped + bytes(tail)
