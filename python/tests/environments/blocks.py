"""Code blocks of a page, run as they are written.

- ```python is a part of the page's one program; a ```text block right below it is what it prints.
- ```LANGUAGE title="NAME" is a file of that name.
- ```console has commands after `$`, each with what it prints; one that fails must show what it prints.

`…` stands for any text in what is printed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support import BINARY, PACKAGE

from .desk import PYTHON, Desk

BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$\n?(\n)?', re.MULTILINE | re.DOTALL)
# Between what two blocks print.
END = "\x1e"


@dataclass
class Block:
    language: str
    title: str | None
    text: str
    # Whether nothing but an empty line is between it and the block before.
    below: bool


def blocks(page: str) -> list[Block]:
    found, end = [], -1
    for match in BLOCK.finditer(page):
        found.append(Block(match[1], match[2], match[3], match.start() == end))
        end = match.end()
    return found


def alike(shown: str, printed: str) -> bool:
    pattern = ".*?".join(map(re.escape, shown.rstrip().split("…")))
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


def play(page: Path, desk: Desk) -> None:
    """Runs all blocks of a page, in order of their kind: files, the program, commands."""
    room = desk.folder / "room"
    room.mkdir()
    found = blocks(page.read_text(encoding="utf-8"))
    known = {"python", "text", "console"}
    for block in found:
        assert block.title or block.language in known, f"{page.name}: nothing runs a block of {block.language}"
        if block.title:
            (room / block.title).parent.mkdir(parents=True, exist_ok=True)
            (room / block.title).write_text(block.text, encoding="utf-8")
    program(page.name, [block for block in found if not block.title], room, desk)
    for block in found:
        if block.language == "console":
            commands(page.name, block.text, room, desk)


def program(name: str, found: list[Block], room: Path, desk: Desk) -> None:
    parts = [block for block in found if block.language == "python"]
    if not parts:
        return
    mark = f"\nprint({END!r}, flush=True)\n"
    (room / "page.py").write_text(mark.join(block.text for block in parts) + mark, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "page.py"],
        env=desk.environment(PYTHONPATH=str(PACKAGE), BELLJAR_BIN=str(BINARY)),
        cwd=room, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert told.returncode == 0, f"{name}: {told.stderr}"
    printed = iter(told.stdout.split(f"{END}\n"))
    said = ""
    for block in found:
        if block.language == "python":
            said = next(printed)
        elif block.language == "text" and block.below:
            assert alike(block.text, said), f"{name} shows\n{block.text}and the code prints\n{said}"


def commands(name: str, text: str, room: Path, desk: Desk) -> None:
    tools = desk.folder / "bin"
    if not tools.exists():
        tools.mkdir()
        (tools / "belljar").symlink_to(BINARY)
        # The interpreter of these tests comes first, as in a virtualenv: others may not have what an environment needs.
        (tools / "python3").symlink_to(PYTHON)
    for entry in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        told = subprocess.run(
            ["bash", "-c", command], cwd=room, text=True, stdin=subprocess.DEVNULL, timeout=100,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=desk.environment(PATH=f"{tools}:{Path(sys.executable).parent}:/usr/bin:/bin", PYTHONPATH=str(PACKAGE), BELLJAR_BIN=str(BINARY)),
        )  # fmt: skip
        assert told.returncode == 0 or shown, f"{name}: {command}\n{told.stdout}"
        assert not shown or alike(shown, told.stdout), f"{name}: {command} prints\n{told.stdout}"
