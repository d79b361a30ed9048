"""An index and a user's desk for each test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import Desk, remove
from .index import Index

NOBODY_SPECIAL = 1000


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as index:
        yield index


@pytest.fixture
def desk(index: Index, tmp_path: Path) -> Iterator[Desk]:
    """The desk of whoever runs the tests."""
    yield Desk(tmp_path / "desk", index.url)
    remove(tmp_path / "desk")


@pytest.fixture(params=["caller", "plain"])
def each_desk(index: Index, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The desk of whoever runs the tests; and of a plain user, if that is root. A plain user sees only its own folders of pytest's."""
    if request.param == "plain" and os.getuid() != 0:
        # Not a skip: the caller is a plain user, and the other half has tested that.
        uid = None
    else:
        uid = NOBODY_SPECIAL if request.param == "plain" else None
    with tempfile.TemporaryDirectory(prefix="belljar-desk-") as folder:
        os.chmod(folder, 0o755)
        yield Desk(Path(folder, "desk"), index.url, uid)
        remove(Path(folder))
