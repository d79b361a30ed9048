"""Every code block of the guides runs as it is written, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ROOT

from .blocks import alike, blocks, play
from .desk import Desk
from .index import Index
from .packages import wheel

# Enough of it for what the guides ask of it: the index of these tests has no other.
PANDAS = """
class DataFrame:
    def __init__(self, rows):
        self.rows = rows
    def describe(self):
        return self
    def to_dict(self):
        return {name: {"count": len(self.rows)} for name in self.rows[0]}
"""
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))


@pytest.mark.parametrize("page", [page for page in GUIDES if "```" in page.read_text()], ids=lambda page: page.stem)
def test_blocks_of(page: Path, desk: Desk, index: Index) -> None:
    index.add(wheel("pandas", "2.9", {"pandas.py": PANDAS}))
    play(page, desk)


def test_what_counts_as_the_same() -> None:
    assert alike("a\n", "a\n\n") and alike("a … c\n", "a b\nb c\n")
    assert not alike("a\n", "b\n") and not alike("a … c\n", "a b\n")


def test_blocks_are_told_apart() -> None:
    page = '```python\na\n```\n\n```text\nb\n```\n\nprose\n\n```text\nc\n```\n\n```toml title="x.toml"\nd\n```\n'
    assert [(block.language, block.title, block.text, block.below) for block in blocks(page)] == [
        ("python", None, "a\n", False),
        ("text", None, "b\n", True),
        ("text", None, "c\n", False),
        ("toml", "x.toml", "d\n", True),
    ]
