"""An outcome as a language model can use it: what happened, where, what to change, and what was printed."""

from __future__ import annotations

from ._hints import in_python
from ._verdict import ENDS, signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._outcome import Outcome

# What a guest meets at the glass, in the words of its exceptions, and how the host would allow it.
DENIED = (
    (("Network is unreachable", "Name or service not known", "name resolution", "No address associated"),
     "the sandbox has no network; work with the data that is there (the host can allow it with network=\"host\")"),
    (("Read-only file system",), "only /jar, /tmp and mounts marked rw can be written; write to the working directory"),
    (("Operation not permitted",), "the sandbox denies this system call; do it without"),
    (("No module named",), "the package is not in the sandbox; use another (the host can add it with dependencies=)"),
    (("No space left on device",), "the disk of the sandbox is full; write less (the host can allow more with disk=)"),
)  # fmt: skip


def describe(outcome: Outcome, limit: int) -> str:
    """The text, of about `limit` characters at most."""
    lines = [happened(outcome)]
    told = outcome._exception
    if told is not None:
        lines += where(told)
        hint = in_python(told.get("hint")) or denied(f"{told['type']}: {told['message']}")
        if hint:
            lines.append(f"Hint: {hint}")
    elif not outcome.ok:
        hint = denied(outcome.stderr)
        if hint:
            lines.append(f"Hint: {hint}")
    if outcome.limit in ENDS and outcome.status not in ("out_of_memory", "timed_out"):
        lines.append(f"Limit: {ENDS[outcome.limit][0]}.")
    if outcome.refused:
        lines.append(f"The value could not be returned: {outcome.refused}")
    elif outcome.value is not None:
        lines.append(f"Value: {trimmed(repr(outcome.value), limit // 4)}")
    changed = [*outcome.changes.created, *outcome.changes.modified]
    if changed:
        more = f" and {len(changed) - 20} more" if len(changed) > 20 else ""
        lines.append(f"Files written: {', '.join(changed[:20])}{more}")
    if outcome.changes.deleted:
        lines.append(f"Files deleted: {', '.join(outcome.changes.deleted[:20])}")
    room = max(limit - sum(map(len, lines)), 200)
    # The traceback is told above; what else was written to standard error may matter.
    stderr = outcome.stderr if told is None else outcome.stderr.partition("Traceback (most recent call last):")[0]
    for name, text in (("stdout", outcome.stdout), ("stderr", stderr)):
        if text.strip():
            lines.append(f"{name}:\n{trimmed(text.rstrip(), room // 2)}")
    if not outcome.stdout.strip() and outcome.value is None and outcome.ok and not changed:
        lines.append("Nothing was printed; print what you want to see.")
    return "\n".join(lines)


def happened(outcome: Outcome) -> str:
    """How it ended, in a sentence."""
    told = outcome._exception
    if outcome.status == "raised" and told is not None:
        return f"The code raised {told['type']}: {trimmed(told['message'], 500)}"
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


def where(told: dict[str, object]) -> list[str]:
    """The line in the user's code, with its text."""
    line = told.get("line")
    if line is None:
        return []
    frames = told.get("frames")
    for frame in reversed(frames if isinstance(frames, list) else []):
        if frame.get("line") == line and frame.get("source"):
            return [f"At line {line}: {frame['source'].strip()}"]
    return [f"At line {line}."]


def denied(text: str) -> str | None:
    """The hint for what was denied."""
    for needles, hint in DENIED:
        if any(needle in text for needle in needles):
            return hint
    return None


def trimmed(text: str, room: int) -> str:
    """The beginning and the end, which is where programs say what matters."""
    if len(text) <= room:
        return text
    head, tail = room // 3, room - room // 3
    return f"{text[:head]}\n[… {len(text) - room} characters left out …]\n{text[-tail:]}"
