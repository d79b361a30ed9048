"""`run`, `run_file`, `run_command` and their async twins: code in, an Outcome out."""

from __future__ import annotations

import os
import time

from . import _frames as frames
from ._apply import Draft
from ._errors import SetupError, ValueRefused
from ._job import COLLECT, Teller, checked, job
from ._outcome import read
from ._place import PolicyPlace, ready
from ._policy import AUTO, Policy
from ._values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from typing_extensions import Unpack

    from ._job import Place
    from ._keywords import RunKeywords
    from ._outcome import Outcome
    from ._wait import Answer, Request

#: What a run takes besides the policy.
OPTIONS = ("args", "files", "inputs", "stdin", "on_output", "collect")


def place_for(given: Mapping[str, Any], source: str | bytes | None) -> tuple[Place, dict[str, str]]:
    """Where a single run takes place, and its own variables: those need no sandbox of their own."""
    if "raises" in given:
        raise TypeError("raises= is for functions: @sandbox(raises=[…]), or Sandbox(raises=[…]).call")
    policy = Policy(given, OPTIONS)
    env = policy.values.pop("env", {})
    return PolicyPlace(policy, source), env


class Runner:
    """Runs of one place. Each kind of run is a request; both worlds wait for it in their own way."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    def code(self, source: str, more: dict[str, Any]) -> Request:
        if not isinstance(source, str):
            raise TypeError(f"run() takes Python source as a str, not {type(source).__name__}; run_file() takes a path")
        inputs = more.pop("inputs", None)
        parts: list[frames.Buffer] = [source.encode()]
        if inputs:
            from ._capture.call import encoded_inputs

            encoded, more["load"] = encoded_inputs(self._place.guest(), inputs)
            parts += encoded
        return self._job("evaluate", parts, more)

    def file(self, path: str | os.PathLike[str], more: dict[str, Any]) -> Request:
        with open(path, "rb") as file:
            source = file.read()
        return self._job("script", [source], {**more, "name": os.path.basename(os.fspath(path))})

    def command(self, words: Sequence[str | os.PathLike[str]], more: dict[str, Any]) -> Request:
        if isinstance(words, (str, bytes)) or not words:
            raise TypeError(
                f'run_command() takes a list such as ["ls", "/"], not {words!r}; a shell is ["sh", "-c", "…"]'
            )
        program, *args = words
        return self._job("command", [], {**more, "name": program, "args": args})

    def _job(self, kind: str, parts: list[frames.Buffer], more: dict[str, Any]) -> Request:
        more.setdefault("collect", COLLECT)
        return drafted(job(self._place, kind, parts, **more), self._place)


def drafted(request: Request, place: Place) -> Request:
    """The same request; where its changes are a draft, it knows the folder."""
    folder = place.policy.draft_folder()
    if folder is not None:
        request.draft = Draft(folder, time.time())
    return request


def finish(request: Request, answer: Answer, annotation: Any = None) -> Outcome:
    """The outcome of a run, with its value. One that cannot be read is told of in the outcome, not raised."""
    value, frame = answer
    if frame is None:
        raise SetupError("the agent gave a value where an outcome was asked for")
    outcome = remembered(read(frame.parts(frame.head()["parts"])), request)
    if value is not None:
        try:
            outcome.value = decoded(value, annotation)
        except ValueRefused as error:
            outcome.refused = str(error)
    return outcome


def decoded(frame: frames.Frame, annotation: Any = None) -> Any:
    """The value in a frame."""
    head, *buffers = frame.parts(frame.head()["parts"])
    return decode(head, buffers, annotation)


def source_of(kind: str, what: Any) -> str | bytes | None:
    """What says by itself which packages it needs."""
    if kind == "file":
        with open(what, "rb") as file:
            return file.read()
    return what if kind == "code" else None


def prepared(kind: str, what: Any, options: dict[str, Any]) -> tuple[Place, dict[str, Any], Teller | None]:
    """Where a single run with these keywords goes, what the job itself takes, and who is told of its output."""
    tell = options.pop("on_output", None)
    more = {**checked(options), **{key: options.pop(key) for key in OPTIONS if key in options}}
    place, env = place_for(options, source_of(kind, what) if options.get("dependencies") == AUTO else None)
    # A header counts unless the caller says what the guest has.
    if kind == "file" and not {"dependencies", "venv"} & options.keys():
        from ._script import header

        place.policy.script = header(what)
    if env:
        more["env"] = env
    if tell is not None:
        more["stream"] = True
    return place, more, Teller(tell) if tell is not None else None


def started(kind: str, what: Any, options: dict[str, Any]) -> tuple[Request, Teller | None]:
    """The request for a single run with these keywords, and who is told of its output."""
    place, more, tell = prepared(kind, what, options)
    return getattr(Runner(place), kind)(what, more), tell


async def astarted(kind: str, what: Any, options: dict[str, Any]) -> tuple[Request, Teller | None]:
    """The same for a task."""
    place, more, tell = prepared(kind, what, options)
    await ready(place)
    return getattr(Runner(place), kind)(what, more), tell


def remembered(outcome: Outcome, request: Request) -> Outcome:
    """The outcome, with what was asked for."""
    outcome._draft = request.draft
    names = request.header.get("files", ())
    outcome._given = [name if isinstance(name, str) else os.fsdecode(bytes(name)) for name in names]
    if request.header.get("kind") in ("evaluate", "script"):
        outcome._source = bytes(request.parts[0]).decode("utf-8", "replace")
    return outcome


def completed(request: Request, tell: Teller | None) -> Outcome:
    """Waits for a run."""
    return finish(request, request.wait(tell))


async def acompleted(request: Request, tell: Teller | None) -> Outcome:
    """The same for a task."""
    return finish(request, await request.await_(tell))


def run(code: str, **options: Unpack[RunKeywords]) -> Outcome:
    """Runs Python source in a jar of its own. What the guest does is in the outcome and never raises."""
    request, tell = started("code", code, dict(options))
    return completed(request, tell)


def run_file(path: str | os.PathLike[str], **options: Unpack[RunKeywords]) -> Outcome:
    """Runs a script of the host. The guest sees only this file, as `/script/NAME`."""
    request, tell = started("file", path, dict(options))
    return completed(request, tell)


def run_command(command: Sequence[str | os.PathLike[str]], **options: Unpack[RunKeywords]) -> Outcome:
    """Runs any program in a jar."""
    request, tell = started("command", command, dict(options))
    return completed(request, tell)


async def arun(code: str, **options: Unpack[RunKeywords]) -> Outcome:
    """Async `run`: it does not block the event loop, and cancelling the task ends the job."""
    request, tell = await astarted("code", code, dict(options))
    return await acompleted(request, tell)


async def arun_file(path: str | os.PathLike[str], **options: Unpack[RunKeywords]) -> Outcome:
    """Async `run_file`."""
    request, tell = await astarted("file", path, dict(options))
    return await acompleted(request, tell)


async def arun_command(command: Sequence[str | os.PathLike[str]], **options: Unpack[RunKeywords]) -> Outcome:
    """Async `run_command`."""
    request, tell = await astarted("command", command, dict(options))
    return await acompleted(request, tell)
