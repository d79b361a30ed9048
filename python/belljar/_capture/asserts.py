"""Functions of a test module: pytest rewrites its asserts into calls of its own, which no guest has."""

from __future__ import annotations

from types import CodeType

from .names import nested
from .read import module

MARK = "@pytest_ar"
# Code objects of the files that were compiled again.
_plain: dict[str, list[CodeType]] = {}


def is_rewritten(code: CodeType) -> bool:
    """Whether pytest has rewritten asserts of this function, or of one inside it."""
    return any(MARK in one.co_names for one in nested(code))


def plain(code: CodeType) -> CodeType:
    """The code as its author wrote it; as it is, where the source does not tell."""
    if not is_rewritten(code):
        return code
    file = code.co_filename
    if file not in _plain:
        try:
            _plain[file] = list(nested(compile(module(file) or b"", file, "exec", 0, True)))
        except (SyntaxError, ValueError):
            _plain[file] = []
    for one in _plain[file]:
        if (one.co_name, one.co_firstlineno, one.co_freevars) == (code.co_name, code.co_firstlineno, code.co_freevars):
            return one
    return code
