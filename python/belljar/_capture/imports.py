"""What a module's source imports: all of it, quickly, and what it cannot do without, exactly."""

from __future__ import annotations

import re
from typing import NamedTuple

from .names import Import, imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Statements that import, also behind a colon or a semicolon, and also what only looks like one, in a text: each is
# looked up before anything comes of it. To compile a module takes thirty times as long. No pattern here looks at a
# place more than once for each of its words: the text may be a stranger's.
STATEMENT = re.compile(r"(?:^|[;:])[ \t\f]*(from|import)\b([^\n;]*)", re.M)
TAKES = re.compile(r"(?<![\w])import(?![\w])")
# Names in brackets may go on for so many characters.
MOST_NAMES = 20_000
# More source than this is not compiled: no signal ends that, and this may take seconds already.
MOST_SOURCE = 2 << 20


class Needed(NamedTuple):
    """An import that runs with its module, whatever happens, and its line."""

    line: int
    what: Import


def text_of(source: bytes) -> str:
    """Source as text; names that are not of its encoding are of no interest here."""
    return source.decode("utf-8-sig", "replace")


def all_of(source: bytes) -> list[Import]:
    """Everything that a module imports somewhere."""
    found: dict[Import, None] = {}
    text = text_of(source).replace("\\\r\n", " ").replace("\\\n", " ")
    closed = text.rfind(")")
    for match in STATEMENT.finditer(text):
        word, rest = match.groups()
        rest = rest.partition("#")[0]
        if word == "import":
            for one in rest.split(","):
                words = one.split()
                if words:
                    found[Import(0, words[0], ())] = None
            continue
        takes = TAKES.search(rest)
        if takes is None:
            continue
        name, names = "".join(rest[: takes.start()].split()), rest[takes.end() :].strip()
        if names.startswith("(") and ")" not in names and match.end() < closed:
            names = brackets(text, match.end() - len(match[2]) + rest.index("("))
        parts = tuple(words[0] for one in names.strip("() \t\r\n\f").split(",") if (words := one.split()))
        bare = name.lstrip(".")
        found[Import(len(name) - len(bare), bare, parts)] = None
    return list(found)


def brackets(text: str, start: int) -> str:
    """What stands between brackets, which may go on over lines and have comments."""
    end = text.find(")", start, start + MOST_NAMES)
    lines = text[start : end if end != -1 else start].splitlines()
    return " ".join(line.partition("#")[0] for line in lines)


def unconditional(source: bytes) -> Iterator[Needed]:
    """What is imported by the module's own statements, in their order: not in a function, a condition or a `try`."""
    import warnings

    if len(source) > MOST_SOURCE:
        return
    try:
        with warnings.catch_warnings():
            # Those of somebody's source were told when it was imported here.
            warnings.simplefilter("ignore")
            code = compile(source, "", "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return
    # Only statements that are no part of another begin a line. A form feed ends none for Python.
    lines_of = text_of(source).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    begins = [line.lstrip("\f").startswith(("import ", "import\t", "from ", "from\t", "from.")) for line in lines_of]
    # Both are in the order of the code.
    lines, end, line = code.co_lines(), 0, None
    for at, what in imported(code):
        while end <= at:
            _, end, line = next(lines, (at, at + 1, None))
        if line is not None and line <= len(begins) and begins[line - 1]:
            yield Needed(line, what)
