"""Which globals code reads and what it imports, by its instructions: names of attributes are none of them."""

from __future__ import annotations

import sys
from opcode import opmap
from types import CodeType
from typing import NamedTuple
from weakref import WeakKeyDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# How an instruction's argument leads to a name; instructions that another version of Python has are in neither.
READS = {
    opmap[name]: shift
    for name, shift in {
        # From 3.11 on its lowest bit says something else.
        "LOAD_GLOBAL": int(sys.version_info >= (3, 11)),
        "LOAD_NAME": 0,
        "LOAD_FROM_DICT_OR_GLOBALS": 0,
        "DELETE_GLOBAL": 0,
    }.items()
    if name in opmap
}
EXTENDED, IMPORT, CONSTANT = opmap["EXTENDED_ARG"], opmap["IMPORT_NAME"], opmap["LOAD_CONST"]
SMALL = opmap.get("LOAD_SMALL_INT", -1)
# Python 3.14 keeps annotations in a function of this name, which is not run.
ANNOTATE = "__annotate__"


class Import(NamedTuple):
    """`from ..name import parts`: the dots are the level."""

    level: int
    name: str
    parts: tuple[str, ...]


class Names(NamedTuple):
    """What one function and all functions inside it name."""

    reads: tuple[str, ...]
    imports: tuple[Import, ...]


_known: WeakKeyDictionary[CodeType, Names] = WeakKeyDictionary()


def named(code: CodeType) -> Names:
    """The names in a function, also in those inside it."""
    found = _known.get(code)
    if found is None:
        reads: dict[str, None] = {}
        imports: dict[Import, None] = {}
        for one in nested(code):
            scan(one, reads, imports)
        found = _known[code] = Names(tuple(reads), tuple(imports))
    return found


def nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for item in code.co_consts:
        if type(item) is CodeType and item.co_name != ANNOTATE:
            yield from nested(item)


def scan(code: CodeType, reads: dict[str, None], imports: dict[Import, None]) -> None:
    names = code.co_names
    for _, kind, argument in instructions(code):
        if kind in READS:
            reads[names[argument >> READS[kind]]] = None
    imports.update((what, None) for _, what in imported(code))


def imported(code: CodeType) -> Iterator[tuple[int, Import]]:
    """What this code itself imports, and where in it."""
    if IMPORT not in code.co_code[::2]:
        return
    consts = code.co_consts
    last: list[Any] = [None, None]
    for at, kind, argument in instructions(code):
        if kind == CONSTANT:
            last = [last[1], consts[argument]]
        elif kind == SMALL:
            last = [last[1], argument]
        elif kind == IMPORT:
            # The last two constants are the level and what is taken from the module.
            level, parts = last
            given = Import(level if isinstance(level, int) else 0, code.co_names[argument], parts or ())
            yield at, given


def instructions(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Place, kind and argument of each instruction."""
    raw, above = code.co_code, 0
    for at in range(0, len(raw), 2):
        kind, argument = raw[at], raw[at + 1] | above
        above = argument << 8 if kind == EXTENDED else 0
        if kind != EXTENDED:
            yield at, kind, argument
