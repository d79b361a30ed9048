"""`parse_error`: a Python traceback in any text, as type, message, line and hint.

The agent reads it: what guests raise and what stands in a text get their hints from one place.
"""

from __future__ import annotations

from . import _agent
from . import _frames as frames
from ._hints import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# As much of the end of a text as is looked at.
MOST = 1 << 20


class ParsedError:
    """An exception, read from a traceback."""

    __slots__ = ("causes", "column", "file", "frames", "hint", "line", "message", "source", "type")

    def __init__(self, told: dict[str, Any]) -> None:
        #: The class, as it is printed.
        self.type: str = told["type_name"]
        self.message: str = told["message"]
        #: File, line and function, outermost first.
        self.frames = tuple((each["file"], each["line"], each["function"]) for each in told["frames"])
        #: The line in the user's own code, with its `column` if known, its `file` and its text, `source`.
        self.line: int | None = told["line"]
        self.column: int | None = told["column"]
        places = [each for each in told["frames"] if each["line"] == self.line] or told["frames"][-1:]
        self.file: str | None = told.get("filename") or (places[-1]["file"] if places else None)
        self.source: str | None = places[-1]["source"] if places else None
        #: What led to it, as `Type: message`, nearest first.
        self.causes: tuple[str, ...] = tuple(told["causes"])
        #: What to do about it. A guest's own exceptions have the same hints.
        self.hint = in_python(told["hint"])

    def __repr__(self) -> str:
        where = f", line {self.line}" if self.line is not None else ""
        return f"<{self.type}: {self.message}{where}>"


def parse_error(text: str | bytes) -> ParsedError | None:
    """Reads the last exception in a text, such as the standard error of a program. None if there is none."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)
    frame = _agent.current().answered(frames.PARSE, [data[-MOST:]])
    import json

    told = json.loads(bytes(frame.parts(frame.head()["parts"])[0]))
    return None if told is None else ParsedError(told)
