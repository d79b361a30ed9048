"""One package tried in jars: cold by the command line, warm by the Python package."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from cases import DRAWS, Case

import belljar

WARMING = 180.0
# Workers whose random numbers are compared.
WORKERS = 4
# What a sandbox's first jobs say while its template is on the way.
EARLY = "no worker was ready yet"
# Whether what stands in the preload by default is there already; and if not, what its import leaves.
LOADED = "import sys; sorted({names} & set(sys.modules))"
TRACES = """
import os
for name in {names}:
    __import__(name)
def comm(task):
    return open(f"/proc/self/task/{{task}}/comm").read().strip()
maps = sum(line.split()[1] == "rw-s" for line in open("/proc/self/maps"))
[sorted({{comm(task) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()}}), maps]
"""


@dataclass
class Result:
    """How a package went."""

    version: str = "?"
    #: What went wrong; nothing is good.
    problem: str = ""
    cold_ms: float = 0
    warm_ms: float = 0
    #: Why it runs cold although it was asked to be warm.
    cold: str = ""
    #: Why it is not preloaded.
    left_out: str = ""


def program(case: Case) -> str:
    """The task as a script that prints the package's version."""
    text = textwrap.dedent(inspect.getsource(case.task))
    lines = [
        "from __future__ import annotations",
        text[text.index("def ") :],
        f"{case.task.__name__}()",
        "from importlib.metadata import version",
        f"print(version({case.name!r}))",
    ]
    return "\n".join(lines)


def cold(case: Case, result: Result, installed: Path | None) -> None:
    """By the command line, as a user would."""
    words = [os.environ["BELLJAR_BIN"], "run", "--json"]
    if installed:
        words += ["--venv", str(installed)]
    else:
        words += ["--python", sys.executable]
        for requirement in case.requirements:
            words += ["--with", requirement]
    for name, value in case.limits.items():
        words += [f"--{name}", value]
    told = subprocess.run([*words, "-c", program(case)], capture_output=True, text=True, timeout=3600)
    try:
        outcome = json.loads(told.stdout)
    except ValueError:
        result.problem = last(told.stderr)
        return
    if outcome["exit_code"] == 0:
        result.version = outcome["stdout"].split()[-1]
        result.cold_ms = outcome["usage"]["wall"] * 1000
    else:
        result.problem = f"cold: {outcome['status']}: {last(outcome['stderr'])}"


def warm(tries: list[tuple[Case, Result]], installed: Path | None) -> None:
    """By the Python package, with what is preloaded by itself: tasks of one environment, on a worker each."""
    if not tries:
        return
    first = tries[0][0]
    where: dict[str, object] = {"dependencies": list(first.requirements)}
    if installed:
        # Nothing is preloaded by itself from an environment that belljar has not made.
        where = {"venv": str(installed), "preload": [case.module for case, _ in tries]}
    try:
        with belljar.Sandbox(**where, **first.limits) as box:  # type: ignore[arg-type]
            reason = warmed(box)
            for case, result in tries:
                result.cold = reason or ""
                task(box, case, result)
    except belljar.BelljarError as error:
        for _, result in tries:
            result.problem = f"warm: {error}"


def task(box: belljar.Sandbox, case: Case, result: Result) -> None:
    names = {case.module}
    present = box.run(LOADED.format(names=names)).value
    if not result.cold and not present:
        threads, maps = box.run(TRACES.format(names=names)).value
        left = [f"threads ({', '.join(threads)})"] * bool(threads) + ["shared memory"] * bool(maps)
        result.left_out = f"its import leaves {' and '.join(left)}" if left else "it is not the package's own name"
    start = time.monotonic()
    outcome = box.outcome(case.task)
    result.warm_ms = (time.monotonic() - start) * 1000
    if not outcome.ok:
        result.problem = f"warm: {outcome.status}: {outcome.exception or last(outcome.stderr)}"
    elif outcome.cold is not None and not result.cold:
        result.cold = outcome.cold
    elif case.name in DRAWS:
        drawn = [box.call(DRAWS[case.name]) for _ in range(WORKERS)]
        if any(len(set(column)) < WORKERS for column in zip(*drawn, strict=True)):
            result.problem = f"warm: workers share random numbers: {drawn}"


def warmed(box: belljar.Sandbox) -> str | None:
    """Waits until jobs run warm; why they never will, otherwise."""
    until = time.monotonic() + WARMING
    while True:
        cold = box.run("0").cold
        if cold is None or cold != EARLY or time.monotonic() > until:
            return cold
        time.sleep(0.1)


def last(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return (lines or ["it said nothing"])[-1][:300]
