"""Workers that are ready ahead, what they have imported, and the figures of a process."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support import alive, until

from belljar import PolicyError, Sandbox, run, sandbox, statistics


@sandbox(preload=["csv"])
def number() -> int:
    return 1


@sandbox(preload=["csv"])
async def later() -> int:
    return 2


@sandbox(preload=["csv"])
async def items() -> AsyncIterator[int]:
    yield 3


class TestInARow:
    def test_only_the_first_call_is_slow(self, tmp_path: Path) -> None:
        """The function needs what the template imports, and both take their time for it."""
        (tmp_path / "takes_long.py").write_text("import time\ntime.sleep(2)\n")

        @sandbox(preload=["takes_long"], modules=[tmp_path / "takes_long.py"])
        def work() -> None:
            import takes_long  # type: ignore[import-not-found]  # noqa: F401

        reasons = [work.outcome().check().cold for _ in range(3)]
        assert reasons == ["no worker was ready yet", None, None]

    def test_but_no_call_waits_for_what_it_does_not_need(self, tmp_path: Path) -> None:
        (tmp_path / "never_ends.py").write_text("import time\ntime.sleep(3600)\n")
        with Sandbox(preload=["never_ends"], modules=[tmp_path / "never_ends.py"]) as box:
            assert [box.run("1").check().cold for _ in range(4)] == ["no worker was ready yet"] * 4


class TestWarm:
    def test_workers_are_ready_and_have_what_was_asked_for(self) -> None:
        with Sandbox(preload=["csv", "asyncio.windows_utils"]) as box:
            warmed = box.warm(2)
            assert warmed.cold is None and warmed.ready >= 2
            assert list(warmed.preloaded) == ["csv"] and warmed.preloaded["csv"] >= 0
            assert warmed.left_out == {"asyncio.windows_utils": "ImportError: win32 only"}
            outcome = box.run("import sys; 'csv' in sys.modules")
            assert (outcome.cold, outcome.value) == (None, True)
            assert "asyncio.windows_utils" in repr(warmed)

    def test_a_module_that_guests_lack_is_told_at_once(self) -> None:
        @sandbox(preload=["csv", "jsno"])
        def mistyped() -> int:
            return 1

        with pytest.raises(PolicyError, match=r'cannot preload "jsno".*\n.*did you mean `json`'):
            mistyped()
        with pytest.raises(PolicyError, match='cannot preload "panda"'):
            run("1", preload=["panda"])
        with pytest.raises(PolicyError, match='cannot preload "panda"'), Sandbox(preload=["panda"]):
            pass

    def test_of_a_function(self) -> None:
        assert list(number.warm().preloaded) == ["csv"]
        assert number.outcome().cold is None

    def test_of_tasks(self) -> None:
        async def tasks() -> None:
            assert list((await later.warm()).preloaded) == ["csv"]
            assert list((await items.warm(2)).preloaded) == ["csv"]
            async with Sandbox() as box:
                assert (await box.awarm()).ready >= 1

        asyncio.run(tasks())

    def test_what_cannot_be_warm_says_why(self, tmp_path: Path) -> None:
        text = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        (tmp_path / "leaves.py").write_text(text)
        with Sandbox(preload=["leaves"], modules=[tmp_path / "leaves.py"]) as box:
            cold = box.warm().cold
            assert cold is not None and "2 threads" in cold, cold

    def test_a_sandbox_that_cannot_be_opened_says_so(self) -> None:
        with pytest.raises(PolicyError):
            Sandbox(mount=["/no/such/folder:/x"]).warm()

    @pytest.mark.parametrize("wrong", [0, -1, 1 << 20])
    def test_a_number_that_means_nothing(self, wrong: int) -> None:
        with pytest.raises(ValueError, match="number of workers"):
            Sandbox().warm(wrong)

    def test_something_that_is_no_number(self) -> None:
        with pytest.raises(TypeError, match="number of workers"):
            Sandbox().warm("2")  # type: ignore[arg-type]


# A template that takes its time; the process that waits for it is killed meanwhile.
WAITS = """
import json, sys
from belljar import Sandbox, _agent
box = Sandbox(preload=["slow"], modules=[sys.argv[1]])
box.__enter__()
print(_agent.current().child, flush=True)
box.warm()
"""


def below(pid: int) -> set[int]:
    """A process and all that it started."""
    found = {pid}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in path.read_text().split():
                found |= below(int(child))
        except OSError:
            continue
    return found


def test_whoever_waits_may_be_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(100)\n")
    waits = subprocess.Popen(
        [sys.executable, "-c", WAITS, str(tmp_path / "slow.py")], stdout=subprocess.PIPE, text=True
    )
    assert waits.stdout is not None
    agent = int(waits.stdout.readline())
    # The agent, a warden, a keeper and a template at the least.
    until(lambda: len(below(agent)) >= 4)
    everything = below(agent)
    waits.send_signal(signal.SIGKILL)
    waits.communicate()
    until(lambda: not any(map(alive, everything)), 10)


# In a process of its own: others count their own jobs.
COUNTS = """
import json
from belljar import Sandbox, statistics
told = [statistics()]
with Sandbox() as box:
    box.warm(2)
    told.append(statistics())
    assert [box.call(int, "7") for _ in range(5)] == [7] * 5
    told.append(statistics())
print(json.dumps([{name: getattr(each, name) for name in each.__slots__} for each in told]))
"""


def test_figures_are_those_of_this_process() -> None:
    told = subprocess.run([sys.executable, "-c", COUNTS], capture_output=True, text=True, timeout=100)
    assert told.returncode == 0, told.stderr
    before, warmed, after = json.loads(told.stdout)
    assert not any(value for name, value in before.items()), before
    assert (warmed["sandboxes"], warmed["templates"], warmed["jobs"]) == (1, 1, 0)
    assert warmed["ready"] >= 2 and warmed["forks"] >= 2 and warmed["memory"] > 0
    assert after["jobs"] == 5 and after["forks"] >= 5 and after["cold"] == 0, after


def test_figures_can_be_read_here() -> None:
    """Other tests of this process may run jobs too."""
    number()
    told = statistics()
    assert told.sandboxes >= 1 and told.jobs + told.cold >= 1
    assert f"jobs={told.jobs}" in repr(told)
