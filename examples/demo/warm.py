"""The same call again, beside a process pool."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from screen import time_line

from belljar import sandbox

Pool = ProcessPoolExecutor
CALLS = 50


@dataclass
class Work:
    """A sandboxed function, one call of it, and how the first went."""

    source: str
    function: Any
    call: Callable[[], object]
    value: object
    seconds: float


def double(x: int) -> int:
    return 2 * x


def pool() -> Pool:
    """A hot one. It forks, so it is made before this process has threads."""
    made = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
    made.submit(double, 1).result()
    return made


def first(source: str) -> Work:
    """Runs a program that defines a function and ends with a call of it."""
    definition, _, call = source.strip().rpartition("\n")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(definition, names)
    compiled = compile(call, "<demo>", "eval")
    begun = time.perf_counter()
    value = eval(compiled, names)
    seconds = time.perf_counter() - begun
    return Work(source.partition("  #")[0], names["mean_price"], lambda: eval(compiled, names), value, seconds)


def median(call: Callable[[], object]) -> float:
    """Of calls with a pause between them, as a program has that does something else as well."""
    taken = []
    for _ in range(CALLS):
        time.sleep(0.02)
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def show(work: Work, hot: Pool) -> None:
    boxed = sandbox(double)
    work.function.warm()
    boxed.warm()
    time_line("the first call", work.seconds, "installs what is missing, starts an interpreter")
    time_line("the same call, warm", median(work.call), "a fresh process, packages imported ahead")
    time_line("double(21), warm", median(lambda: boxed(21)), "a fresh process in a fresh jar for each call")
    with hot:
        plain = median(lambda: hot.submit(double, 21).result())
    time_line("double(21), ProcessPoolExecutor", plain, "one process for all calls, no isolation")
