"""Hints as the agent sends them: words, and settings as data, which are named here as keywords."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LISTS = ("mount", "dependencies", "require_layers")


def in_python(hint: dict[str, Any] | None) -> str | None:
    """The whole text: `network="host"`, `dependencies=["six"]`, `memory=`."""
    if not hint:
        return None
    pieces = (piece if isinstance(piece, str) else keyword(piece) for piece in hint["caller"])
    return "".join((hint["code"], *pieces))


def keyword(piece: dict[str, Any]) -> str:
    """A setting, with the values that it should have."""
    name, values = piece["setting"], [f'"{value}"' for value in piece["values"]]
    if not values:
        return f"{name}="
    return f"{name}=[{', '.join(values)}]" if name in LISTS else f"{name}={values[0]}"


def for_caller(text: str) -> dict[str, Any]:
    """A hint of the package's own."""
    return {"code": "", "caller": [text]}


def for_code(hint: dict[str, Any] | None) -> str | None:
    """What of a hint is about the code: whoever wrote that cannot change the policy. None where all is about that."""
    return (hint or {}).get("code") or None
