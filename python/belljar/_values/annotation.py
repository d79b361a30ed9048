"""The classes that an annotation names, and how each is made again from what a guest sent."""

from __future__ import annotations

import dataclasses
import enum
import typing
from typing import Any

from belljar._errors import ValueRefused

CLASSES = 10_000
ERRORS = 20
# Python keeps every combination of flags for ever, as two that are equal must be one; so guests may ask for so many of
# a class, and none is made of more bits.
COMBINATIONS, BITS = 1 << 16, 1 << 10


class Classes:
    """Every dataclass, named tuple, enum and pydantic model that an annotation names, also in the fields of those."""

    def __init__(self, annotation: Any) -> None:
        self.named: dict[tuple[str, str, str], type] = {}
        self.short: dict[tuple[str, str], list[type]] = {}
        seen: set[int] = set()
        # What is looked at stays alive, so that no id is given twice.
        todo, alive = [annotation], []
        while todo and len(seen) < CLASSES:
            item = todo.pop()
            if id(item) in seen or item is None:
                continue
            seen.add(id(item))
            alive.append(item)
            todo += typing.get_args(item)
            todo += [typing.get_origin(item), getattr(item, "__value__", None), getattr(item, "__supertype__", None)]
            if isinstance(item, typing.TypeVar):
                todo += [item.__bound__, *item.__constraints__]
            if isinstance(item, type):
                self.add(item)
                todo += fields(item)

    def add(self, kind: type) -> None:
        found = flavour(kind)
        if found is not None:
            self.named[found, kind.__module__, kind.__qualname__] = kind
            for name in {kind.__qualname__, kind.__name__}:
                self.short.setdefault((found, name), []).append(kind)

    def find(self, flavour: str, module: str, name: str) -> type | None:
        """By module and name; by name alone if that is clear, as a script's module has another name elsewhere.

        A class that is sent by value has lost the function that it is defined in.
        """
        exact = self.named.get((flavour, module, name))
        if exact is not None:
            return exact
        found = self.short.get((flavour, name), [])
        return found[0] if len(found) == 1 else None


def flavour(kind: type) -> str | None:
    if issubclass(kind, enum.Enum):
        return "e"
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return "n"
    if hasattr(kind, "__pydantic_fields__") and hasattr(kind, "model_validate"):
        return "p"
    return "d" if dataclasses.is_dataclass(kind) else None


def fields(kind: type) -> list[Any]:
    """Annotations of its fields, as far as they can be resolved."""
    if flavour(kind) is None and not typing.is_typeddict(kind):
        return []
    try:
        return list(typing.get_type_hints(kind).values())
    except Exception:
        return [hint for hint in getattr(kind, "__annotations__", {}).values() if not isinstance(hint, str)]


def refused(kind: type, error: Exception) -> ValueRefused:
    # What pydantic says of a million wrong items takes a hundred times as much as they did.
    count = error.error_count() if hasattr(error, "error_count") else 0
    reason = f"{count} errors" if count > ERRORS else str(error)
    return ValueRefused(
        f"{kind.__qualname__} does not take what the guest sent: {type(error).__name__}: {reason}"[:1000]
    )


def listed(names: list[str]) -> str:
    """Names that a guest chose, in a message."""
    return ", ".join([name if name.isidentifier() else repr(name[:60]) for name in names[:100]])


def member(kind: Any, name: object, value: object) -> Any:
    try:
        if issubclass(kind, enum.Flag):
            check_flags(kind, value)
        return kind(value)
    except Exception as error:
        if type(name) is str and name in kind.__members__:
            return kind[name]
        raise refused(kind, error) from error


def check_flags(kind: Any, value: Any) -> None:
    """Refuses a combination that would be one too many."""
    known = kind._value2member_map_
    if type(value) is not int or value.bit_length() > BITS:
        raise ValueError("no such combination of flags")
    if value not in known and len(known) >= COMBINATIONS + len(kind.__members__):
        raise ValueError(f"{COMBINATIONS} combinations of its flags came back already; return value of it")


def named_tuple(kind: Any, names: list[str], row: tuple[Any, ...]) -> Any:
    if list(kind._fields) != names:
        raise refused(kind, TypeError(f"its fields are {listed(names)}"))
    try:
        return kind(*row)
    except Exception as error:
        raise refused(kind, error) from error


def data_class(kind: Any, names: list[str], row: dict[str, Any]) -> Any:
    """Through its own `__init__`, so that what it checks is checked.

    What that takes from nobody, no guest chooses either; only where the class gives it no value has it the guest's.
    """
    known = {field.name: field for field in dataclasses.fields(kind)}
    try:
        if known.keys() != row.keys():
            raise TypeError(f"its fields are {listed(names)}")
        made = kind(**{name: value for name, value in row.items() if known[name].init})
        for name, value in row.items():
            if not known[name].init and not hasattr(made, name):
                object.__setattr__(made, name, value)
        return made
    except Exception as error:
        raise refused(kind, error) from error


def model(kind: Any, names: list[str], row: tuple[dict[str, Any], set[str]]) -> Any:
    """Validated as any input is. A field that was left to its default stays so."""
    values, chosen = row
    known = kind.__pydantic_fields__
    given = {}
    for name, value in values.items():
        alias = getattr(known.get(name), "validation_alias", None)
        words = [word for word in (alias, *getattr(alias, "choices", ())) if isinstance(word, str)]
        given[words[0] if words else name] = value
    try:
        made = kind.model_validate(given)
        made.__pydantic_fields_set__.intersection_update(chosen)
        return made
    except Exception as error:
        raise refused(kind, error) from error


BUILDERS: dict[str, Any] = {"n": named_tuple, "d": data_class, "p": model}
