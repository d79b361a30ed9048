"""What an environment preloads by itself leaves out what a template cannot have; what a user asks for is never left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from belljar import PolicyError, Sandbox

from .local import settings, warmed, wheel

BUSY = """
import threading
pump = threading.Thread(target=threading.Event().wait, daemon=True)
pump.start()
"""
# As OpenBLAS does it: threads end before each fork and come back when there is work.
POLITE = """
import os, threading
stop = threading.Event()
pump = threading.Thread(target=stop.wait)
pump.start()
def settle():
    stop.set()
    pump.join()
os.register_at_fork(before=settle)
"""
LOADED = "import sys; sorted({'calm', 'busy', 'polite', 'deadly', 'sharing'} & set(sys.modules))"


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    folder = settings(monkeypatch, tmp_path)
    wheel(folder, "calm", {"calm.py": "x = 1\n"})
    wheel(folder, "busy", {"busy.py": BUSY})
    wheel(folder, "polite", {"polite.py": POLITE})
    wheel(folder, "deadly", {"deadly.py": "import os\nos._exit(3)\n"})
    wheel(folder, "sharing", {"sharing.py": "import mmap\nmemory = mmap.mmap(-1, 4096)\n"})
    yield folder


@pytest.mark.usefixtures("wheels")
class TestPreload:
    @pytest.mark.parametrize("culprit", ["busy", "sharing"])
    def test_one_that_leaves_something_is_left_out(self, culprit: str) -> None:
        with Sandbox(dependencies=["calm", culprit]) as box:
            told = box.warm()
            assert told.cold is None and list(told.preloaded) == ["calm"]
            [(name, why)] = told.left_out.items()
            assert name == culprit and why.startswith("left out, because "), why
            assert warmed(box) is None
            assert box.run(LOADED).value == ["calm"]
            # The job imports it for itself, with all that belongs to it.
            outcome = box.run(f"import threading, {culprit}; threading.active_count()")
            assert (outcome.cold, outcome.value) == (None, 2 if culprit == "busy" else 1)

    def test_asked_for_by_name_it_is_not_left_out(self) -> None:
        with Sandbox(dependencies=["calm", "busy"], preload=["calm", "busy"]) as box:
            cold = warmed(box)
            assert cold is not None and "2 threads" in cold and cold.endswith("importing busy did that"), cold

    def test_a_slip_in_a_name_is_told(self) -> None:
        with (
            pytest.raises(PolicyError, match='cannot preload "clam"') as caught,
            Sandbox(dependencies=["calm"], preload=["clam"]),
        ):
            pass
        assert caught.value.hint == "did you mean `calm`?"

    def test_threads_that_end_at_a_fork_are_no_hindrance(self) -> None:
        with Sandbox(dependencies=["calm", "polite"], preload=["calm", "polite"]) as box:
            assert warmed(box) is None
            assert box.run(LOADED).value == ["calm", "polite"]

    def test_where_nobody_can_be_blamed_nothing_is_preloaded(self) -> None:
        with Sandbox(dependencies=["calm", "deadly"]) as box:
            assert warmed(box) is None
            assert box.run(LOADED).value == []
            assert box.run("import calm; calm.x").value == 1

    def test_without_such_a_package_all_is_preloaded(self) -> None:
        with Sandbox(dependencies=["calm", "polite"]) as box:
            told = box.warm()
            assert (sorted(told.preloaded), told.left_out) == (["calm", "polite"], {})
            assert warmed(box) is None
            assert box.run(LOADED).value == ["calm", "polite"]
