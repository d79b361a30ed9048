"""What the pages of figures share: the turns that are taken, the machine, the table."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

TIMES = "\N{MULTIPLICATION SIGN}"
# As crates/belljar-dev/src/bench/machine.rs has them: seconds that are looked at, seconds that a page waits for other
# work to end, and how much of a processor a machine with nothing to do may use.
WINDOW, PATIENCE, QUIET = 5, 180, 0.2


def double(x: int) -> int:
    return x * 2


def turns(rounds: int, pause: float, *actions: Callable[[], object]) -> list[list[float]]:
    """The times of each action, which take turns."""
    times: list[list[float]] = [[] for _ in actions]
    for number in range(rounds):
        order = list(range(len(actions)))
        for index in order[number % len(order) :] + order[: number % len(order)]:
            start = time.perf_counter()
            actions[index]()
            times[index].append(time.perf_counter() - start)
            time.sleep(pause)
    return times


def others() -> float:
    """Processors that are busy while this program sleeps, or that another machine took."""

    def ticks() -> list[int]:
        # user nice system idle iowait irq softirq steal: what follows is counted in the first two already.
        return [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]

    before = ticks()
    time.sleep(WINDOW)
    passed = [now - then for now, then in zip(ticks(), before, strict=True)]
    return (1 - (passed[3] + passed[4]) / sum(passed)) * (os.cpu_count() or 1)


def machine(*, written: bool) -> str:
    """A sentence about the machine, just before it is measured, and a word of caution where it is due.

    A load average would still tell of the run before this one. What is written waits for other work to end, within
    bounds.
    """
    begun, busy = time.monotonic(), others()
    while written and busy > QUIET and time.monotonic() - begun < PATIENCE:
        print(f"others keep {busy:.1f} processors busy, waiting", file=sys.stderr)
        busy = others()
    # Without what its builder put behind the version.
    kernel = re.sub(r"[^\d.].*", "", platform.release())
    seen = f"{os.cpu_count()} processors, Linux {kernel}, Python {platform.python_version()}"
    sentence = f"Machine: {seen}; just before the run others kept {busy:.2f} of the processors busy."
    if busy <= QUIET:
        return sentence
    return (
        f"{sentence}\n\n**The machine was busy with other work, so these figures settle nothing.** "
        "`make bench` on an idle machine writes this page again."
    )


def table(compared: str, rows: Iterable[Sequence[str]]) -> str:
    """What was measured, ours, theirs, how the two compare, and what it should reach."""
    lines = [f"| what | belljar | beside | {compared} | reach |", "|---|---:|---:|---:|---:|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
