"""An outcome as a language model can use it: what happened, where, what to change, and what was printed.

The model can change its code and nothing else, so no keyword of the policy is named here; those are in the hint of
`Outcome.exception`. What a guest has chosen is quoted in one line, or indented, and without control characters.
"""

from __future__ import annotations

import re

from ._errors import printable
from ._hints import for_code
from ._verdict import ENDS, signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._outcome import Outcome

MESSAGE, NAMED, CAUSES, MEMBERS = 500, 20, 3, 10
# A guest may leave any number of files; so many are looked at for the one that was meant.
SEARCHED = 200
ENOENT = 2
# What programs say of the glass, for those that are not Python.
DENIED = (
    (("Network is unreachable", "Name or service not known", "name resolution", "No address associated"),
     "the network cannot be reached from the sandbox; work with the data that you have"),
    (("Read-only file system",), "only /jar and /tmp can be written; write to the working directory"),
    (("Operation not permitted",), "the sandbox denies this system call; do it without"),
    (("No module named",), "the package is not in the sandbox; use another"),
    (("No space left on device",), "the disk of the sandbox is full; write less"),
)  # fmt: skip
TRACEBACK = "Traceback (most recent call last):"
# Lines of a traceback in the user's code.
PLACES = tuple(f'  File "{file}' for file in ("<string>", "/script/", "/jar/"))


def describe(outcome: Outcome, limit: int) -> str:
    """The text, of about `limit` characters at most."""
    lines = [happened(outcome)]
    told = outcome._exception
    if told is not None:
        lines += where(told, outcome._source)
        lines += members(told)
        lines += [f"Caused by {quoted(str(cause))}" for cause in (told.get("causes") or ())[:CAUSES]]
    hint = advice(outcome)
    if hint:
        lines.append(f"Hint: {quoted(hint, 800)}")
    if outcome.limit in ENDS and outcome.status not in ("out_of_memory", "timed_out"):
        lines.append(f"Limit: {ENDS[outcome.limit][0].replace('the guest', 'the code')}.")
    if outcome.refused:
        lines.append(f"The value could not be returned: {quoted(outcome.refused)}")
    elif outcome.value is not None:
        lines.append(f"Value: {indented(trimmed(shown(outcome.value), limit // 4))}")
    changed = [*created(outcome), *outcome.changes.modified]
    if changed:
        lines.append(f"Files written: {listed(changed)}")
    if outcome.changes.deleted:
        lines.append(f"Files deleted: {listed(outcome.changes.deleted)}")
    lines = [trimmed("\n".join(lines), limit)]
    room = max(limit - len(lines[0]), 200)
    for name, text in (("stdout", outcome.stdout), ("stderr", without_traceback(outcome))):
        if text.strip():
            lines.append(f"{name}:\n{trimmed(plain(text.rstrip()), room // 2)}")
    if not outcome.stdout.strip() and outcome.value is None and outcome.ok and not changed:
        lines.append("Nothing was printed; print what you want to see.")
    return "\n".join(lines)


def happened(outcome: Outcome) -> str:
    """How it ended, in a sentence."""
    told = outcome._exception
    if outcome.status == "raised" and told is not None:
        message = indented(trimmed(plain(str(told["message"])), MESSAGE))
        return f"The code raised {quoted(str(told['type']), 200)}{': ' if message else ''}{message}"
    if outcome.status == "timed_out":
        return f"The code was stopped at its deadline, after {outcome.usage.wall:.3g} s. Do less, or do it faster."
    if outcome.status == "out_of_memory":
        return "The code used more memory than it may and was stopped. Work on smaller pieces."
    if outcome.status == "signalled":
        return f"The program was ended by {signal_name(outcome.signal)}."
    if outcome.status == "exited":
        return f"The program exited with code {outcome.exit_code}."
    if outcome.status == "cancelled":
        return "The run was cancelled."
    return "The code ran to its end." if outcome.status == "returned" else "The code raised an exception."


def where(told: dict[str, Any], source: str | None) -> list[str]:
    """The line in the user's code, with its text."""
    line = told.get("line")
    if not isinstance(line, int):
        return []
    frames = told.get("frames") or ()
    frame: dict[str, Any] = next((each for each in reversed(frames) if each.get("line") == line), {})
    file, text = str(frame.get("file") or told.get("filename") or ""), frame.get("source")
    of = f" of {quoted(file[5:])}" if file.startswith("/jar/") else ""
    if not text and source is not None and (file == "<string>" or file.startswith("/script/")):
        text = next(iter(source.split("\n")[line - 1 : line]), None)
    return [f"At line {line}{of}: {quoted(text.strip())}" if text and text.strip() else f"At line {line}{of}."]


def members(told: dict[str, Any]) -> list[str]:
    """The members of a group, also of groups in it, as its traceback shows them."""
    if "BaseExceptionGroup" not in (told.get("bases") or ()):
        return []
    found: list[list[str]] = []
    for line in str(told.get("traceback") or "").split("\n"):
        margin = line.lstrip(" ")
        if margin.startswith("+-"):
            # Above each member stands its number, below the last of them nothing.
            found += [[]] if margin.strip("+- ") else []
        elif margin.startswith("| ") and found:
            found[-1].append(margin[2:])
    more = [f"- and {len(found) - MEMBERS} more"] if len(found) > MEMBERS else []
    return ["Its members:", *map(member, found[:MEMBERS]), *more]


def member(lines: list[str]) -> str:
    """One of them, and the line where it was raised. What led to it stands before it."""
    while any(line.endswith(TRACEBACK) for line in lines):
        lines = lines[next(at for at, line in enumerate(lines) if line.endswith(TRACEBACK)) + 1 :]
    title = next((line for line in lines if line[:1].strip()), "an exception")
    places = [line.partition('", line ')[2].partition(",")[0] for line in lines if line.startswith(PLACES)]
    own = f" (line {places[-1]})" if places and places[-1].isdecimal() else ""
    return f"- {quoted(title, 200)}{own}"


def advice(outcome: Outcome) -> str | None:
    """What to change in the code."""
    told = outcome._exception
    if told is None:
        return None if outcome.ok else denied(outcome.stderr)
    if outcome.status == "timed_out":
        # Where it was is all that is known.
        return None
    message, kinds = str(told["message"]), told.get("bases") or ()
    own, more = for_code(told.get("hint")), (told.get("hint") or {}).get("caller")
    if told.get("errno") == ENOENT and "there is no program" not in (own or ""):
        return missing_file(outcome, told, own)
    if "ModuleNotFoundError" in kinds and more and not (own or "").startswith("did you mean"):
        name = re.search(r"No module named '([^']+)'", message)
        return f"{name[1] if name else 'it'} is not installed here, and nothing can be installed; use another module"
    return re.sub(r"\b(?:a|the|this) jar\b", "the sandbox", own) if own else denied(f"{told['type']}: {message}")


def missing_file(outcome: Outcome, told: dict[str, Any], hint: str | None) -> str:
    """Names the files that are there, and first the one that may be meant."""
    import difflib

    path = str(told.get("filename") or "")
    gone = set(outcome.changes.deleted)
    there = [name for name in (*outcome._given, *created(outcome)) if name not in gone]
    # A path of another machine may end with the name of a file that is here.
    some = {name.lower(): name for name in there[:SEARCHED]}
    some |= {name.rpartition("/")[2]: some[name] for name in reversed(some)}
    wanted, last = path.removeprefix("/jar/").removeprefix("./").lower()[:300], path.rpartition("/")[2].lower()[:300]
    near = difflib.get_close_matches(wanted, some, 1) or difflib.get_close_matches(last, some, 1)
    meant = f"did you mean {some[near[0]]!r}? " if near else ""
    if "os.listdir()" in (hint or ""):
        # The working folder is one of the host's, and has more.
        return f"{meant}{hint}"
    has = f"has {listed(there)}" if there else "is empty"
    return f"{meant}the working directory {has}, and files outside the sandbox cannot be seen"


def created(outcome: Outcome) -> list[str]:
    """What is new in the working folder; folders of what was put there are not."""
    parents = {given[:at] for given in outcome._given for at, letter in enumerate(given) if letter == "/"}
    return [name for name in outcome.changes.created if name not in parents]


def denied(text: str) -> str | None:
    """The hint for what was denied."""
    for needles, hint in DENIED:
        if any(needle in text for needle in needles):
            return hint
    return None


def without_traceback(outcome: Outcome) -> str:
    """Standard error, without the traceback at its end, which is told already."""
    text, traceback = outcome.stderr, str((outcome._exception or {}).get("traceback") or "").rstrip()
    first, last = traceback.partition("\n")[0], traceback.rpartition("\n")[2]
    if not first or not text.rstrip().endswith(last):
        return text
    # Exceptions that led to it have tracebacks of their own before it.
    return text.rsplit(first, traceback.count(first))[0]


def shown(value: object) -> str:
    """A value as Python shows it, printable; its class may be the caller's own."""
    try:
        return plain(repr(value))
    except Exception:
        return f"<{type(value).__name__}, which cannot be shown>"


def plain(text: str) -> str:
    """Without control characters but for tabs and newlines."""
    return printable(text.replace("\r\n", "\n"))


def quoted(text: str, room: int = 300) -> str:
    """A guest's text as part of a line."""
    text = plain(text).replace("\n", "\\n").replace("\t", " ")
    return text if len(text) <= room else f"{text[: room // 2]} … {text[-(room // 2) :]}"


def indented(text: str) -> str:
    """A guest's text that may have several lines: none of them looks like one of ours."""
    return text.replace("\n", "\n    ")


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(quoted(name, 100) for name in names[:NAMED]) + more


def trimmed(text: str, room: int) -> str:
    """The beginning and the end, which is where programs say what matters."""
    if len(text) <= room:
        return text
    head, tail = room // 3, room - room // 3
    return f"{text[:head]}\n[… {len(text) - room} characters left out …]\n{text[-tail:]}"
