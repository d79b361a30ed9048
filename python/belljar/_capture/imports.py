"""What a module's source imports: all of it, quickly, and what it cannot do without, exactly."""

from __future__ import annotations

import re
from typing import NamedTuple

from .names import Import, imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Statements that import, also behind a colon or a semicolon, and also what only looks like one, in a text: each is
# looked up before anything comes of it. To compile a module takes thirty times as long.
STATEMENT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n;#]*)|import[ \t]+([^\n;#]+))",
    re.M,
)
COMMENT = re.compile(r"#[^\n]*")
JOINED = re.compile(r"\\\r?\n")


class Needed(NamedTuple):
    """An import that runs with its module, whatever happens, and its line."""

    line: int
    what: Import


def text_of(source: bytes) -> str:
    """Source as text; names that are not of its encoding are of no interest here."""
    return source.decode("utf-8", "replace")


def all_of(source: bytes) -> list[Import]:
    """Everything that a module imports somewhere."""
    found: dict[Import, None] = {}
    text = text_of(source)
    if "\\" in text:
        text = JOINED.sub(" ", text)
    for dots, name, parts, plain in STATEMENT.findall(text):
        if plain:
            for one in plain.split(","):
                words = one.split()
                if words:
                    found[Import(0, words[0], ())] = None
        else:
            inside = COMMENT.sub("", parts).strip("() \t\r\n").split(",")
            found[Import(len(dots), name, tuple(one.split()[0] for one in inside if one.split()))] = None
    return list(found)


def unconditional(source: bytes) -> Iterator[Needed]:
    """What is imported by the module's own statements, in their order: not in a function, a condition or a `try`."""
    try:
        code = compile(source, "", "exec", 0, True)
    except (SyntaxError, ValueError):
        return
    # Only statements that are no part of another begin a line.
    begins = [line.startswith(("import ", "import\t", "from ", "from\t")) for line in text_of(source).splitlines()]
    lines = list(code.co_lines())
    for at, what in imported(code):
        line = next((line for start, end, line in lines if start <= at < end), None)
        if line is not None and line <= len(begins) and begins[line - 1]:
            yield Needed(line, what)
