"""What a script says of itself (PEP 723), in a comment. It is only found here; the agent reads it, strictly."""

from __future__ import annotations

BEGIN, END = "# /// script", "# ///"
# A header is at the top of a script.
MOST = 256 << 10


def header(path: str) -> str | None:
    """The header of a script, with its first and last line; None where it has none."""
    with open(path, "rb") as file:
        source = file.read(MOST)
    if BEGIN.encode() not in source:
        return None
    lines = source.decode("utf-8", "replace").splitlines()
    if BEGIN not in lines:
        return None
    first = last = lines.index(BEGIN)
    # It goes on as long as lines are comments; the last of them that could end it does.
    for number in range(first + 1, len(lines)):
        if not lines[number].startswith("#"):
            break
        if lines[number] == END:
            last = number
    return "\n".join(lines[first : last + 1]) + "\n" if last > first else None
