"""What the demo prints: colours at a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURS else text


def bold(text: str) -> str:
    return paint("1", text)


def dim(text: str) -> str:
    return paint("2", text)


def good(text: str) -> str:
    return paint("32", text)


def bad(text: str) -> str:
    return paint("31", text)


def title(number: int, text: str) -> None:
    say(f"\n{bold(f'{number}. {text}')}")


def say(text: str) -> None:
    print(text, flush=True)


def code(text: str) -> None:
    """Python, as it is written in a file."""
    for line in text.strip().splitlines():
        say(f"   {paint('36', line)}" if line else "")


def time_line(what: str, seconds: float, remark: str) -> None:
    shown = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"
    say(f"   {what:<36}{bold(f'{shown:>9}')}   {dim(remark)}")
