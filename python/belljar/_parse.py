"""`parse_error`: a Python traceback in any text, as type, message, line and hint."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
FRAME = re.compile(r'^ *File "(?P<file>[^"\n]*)", line (?P<line>[0-9]+)(?:, in (?P<function>.*))?$')
ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.<>]*)(?:: (?P<message>.*))?$")
START = "Traceback (most recent call last):"
HINTS = (
    (
        "ModuleNotFoundError",
        "the package is not there; install it, or give the guest a virtualenv that has it: venv=",
    ),
    ("ImportError", "the module is there, but not that name; look at dir() of it, or at its version"),
    ("NameError", "the name is not defined at that point; check its spelling, or import it"),
    ("UnboundLocalError", "the variable is assigned later in the function; give it a value first"),
    ("SyntaxError", "Python cannot read the line; look for a missing bracket, quote or colon at or before it"),
    ("IndentationError", "the indentation does not fit; use the same spaces for a block"),
    ("TabError", "tabs and spaces are mixed; use spaces alone"),
    ("KeyError", "there is no such key; look at the keys first, or use .get() with a default"),
    ("IndexError", "the index is past the end; check the length first"),
    ("AttributeError", "the object has no such attribute; check its type, it may be None"),
    ("TypeError", "an argument or operand has the wrong type; convert it, or check the call"),
    ("ZeroDivisionError", "the divisor is zero; check for it before dividing"),
    ("FileNotFoundError", "the file is not in the jar; give it with files=, mount= or workdir="),
    ("PermissionError", "the jar does not allow it; write to the working directory or /tmp"),
    ("RecursionError", "the recursion does not end; look at its base case"),
    ("MemoryError", "the memory limit is reached; work on smaller pieces, or allow more with memory="),
    ("TimeoutError", "it took too long; do less, or allow more with timeout="),
    ("UnicodeDecodeError", "the bytes are of another encoding; name it, such as encoding='latin-1'"),
    ("json.decoder.JSONDecodeError", "the text is no JSON; print its beginning to see what it is"),
    ("ConnectionError", "there is no network in a jar; the host can allow it with network="),
)


class ParsedError:
    """An exception as a traceback tells of it."""

    __slots__ = ("column", "file", "frames", "hint", "line", "message", "source", "type")

    def __init__(self, type: str, message: str, frames: Sequence[tuple[str, int, str]], source: str | None) -> None:
        #: The class, as it is printed.
        self.type = type
        self.message = message
        #: File, line and function, outermost first.
        self.frames = tuple(frames)
        own = [frame for frame in frames if "/lib/python" not in frame[0] and not frame[0].startswith("<frozen")]
        #: Where it happened in the user's own code.
        self.file: str | None = (own or frames)[-1][0] if frames else None
        self.line: int | None = (own or frames)[-1][1] if frames else None
        #: The text of that line.
        self.source = source
        self.hint = hint_for(type, message)

    def __repr__(self) -> str:
        where = f", line {self.line}" if self.line is not None else ""
        return f"<{self.type}: {self.message}{where}>"


def hint_for(name: str, message: str) -> str | None:
    """What to do about it."""
    if "Network is unreachable" in message or "name resolution" in message or "Name or service" in message:
        return HINTS[-1][1]
    return next((hint for known, hint in HINTS if name in (known, known.rpartition(".")[2])), None)


def of_group(lines: list[str]) -> list[str]:
    """A group's own traceback without its frame of bars; other texts as they are."""
    for number, line in enumerate(lines):
        if line.endswith(f"Exception Group {START}"):
            bars = [more[4:] for more in lines[number + 1 :] if more.startswith("  | ")]
            return [START, *bars]
    return lines


def parse_error(text: str | bytes) -> ParsedError | None:
    """The last exception in a text, such as what a program wrote to standard error; None if there is none."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    lines = [COLOURS.sub("", line.rstrip("\r")) for line in text[-1_000_000:].split("\n")]
    lines = of_group(lines)
    starts = [number for number, line in enumerate(lines) if line.strip().startswith(START)]
    # A SyntaxError of the program itself comes without a first line.
    first = starts[-1] + 1 if starts else next((n for n, line in enumerate(lines) if FRAME.match(line)), len(lines))
    frames: list[tuple[str, int, str]] = []
    source: str | None = None
    for number in range(first, len(lines)):
        line = lines[number]
        frame = FRAME.match(line)
        if frame:
            frames.append((frame["file"], int(frame["line"]), frame["function"] or ""))
            source = None
        elif line.startswith(" "):
            if frames and source is None and line.strip():
                source = line.strip()
        elif line.strip():
            error = ERROR.match(line)
            if error is None or not frames:
                continue
            message = [error["message"] or ""]
            message += [more for more in lines[number + 1 :] if more.strip()][:20] if error["message"] else []
            return ParsedError(error["type"], "\n".join(message).rstrip(), frames, source)
    return None
