"""Calls that use a package of the caller's own, and packages that the guest lacks.

A section of docs/figures/package.md.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from page import TIMES, table

HEADING = "## Modules of your own"
COUNT, DISTRIBUTIONS = 50, 300
# A module as people write them; each imports the next two.
MODULE = '''"""Module {number} of a package."""
from __future__ import annotations
import logging
from dataclasses import dataclass, field
{imports}

log = logging.getLogger(__name__)


@dataclass
class Item:
    """Something with a price."""
    name: str
    price: float = 1.0
    tags: list[str] = field(default_factory=list)

    def total(self, count: int) -> float:
        if count < 0:
            raise ValueError(f"count must not be negative, not {{count}}")
        return self.price * count


def load(rows):
    """Makes items of rows."""
    result = []
    for row in rows:
        try:
            result.append(Item(row["name"], float(row.get("price", 0))))
        except KeyError as error:
            log.warning("row without %s", error)
    return result


def value(x):
    return x + {number}
'''
# What is printed: the first call, in seconds; then the medians of parked calls of both functions, which take turns.
PROGRAM = """
import json, statistics, sys, time
import belljar
from own import m0, m49

def uses(x):
    return m0.value(x) + m49.value(x)

def plain(x):
    return x + x + 49

def call(function):
    start = time.perf_counter()
    assert function(1) == 51
    return time.perf_counter() - start

functions = [belljar.sandbox(one) for one in (uses, plain)]
first = call(functions[sys.argv[1] == "plain"])
times = [], []
if sys.argv[1] == "warm":
    for function in functions:
        function.warm(2)
    for _ in range(300):
        for function, found in zip(functions, times):
            time.sleep(0.003)
            found.append(call(function))
print(json.dumps([first, *map(statistics.median, times)] if times[0] else [first]))
"""
# What is printed: the seconds until a call is refused that needs a package which the guest lacks.
REFUSED = """
import time
import belljar
from pack299 import value
call = belljar.sandbox(lambda: value)
start = time.perf_counter()
try:
    call()
except belljar.ValueRefused as error:
    assert "pack299==1.0" in error.hint
    print(time.perf_counter() - start)
"""


def write(folder: Path) -> None:
    """The package of one's own, and the distributions of others."""
    (folder / "own").mkdir()
    (folder / "own" / "__init__.py").touch()
    for number in range(COUNT):
        others = (number + 1, number + 2)
        imports = "\n".join(f"from . import m{other}" for other in others if other < COUNT)
        (folder / "own" / f"m{number}.py").write_text(MODULE.format(number=number, imports=imports))
    for number in range(DISTRIBUTIONS):
        name, place = f"pack{number}", folder / "site-packages"
        (place / name).mkdir(parents=True)
        (place / name / "__init__.py").write_text("def value():\n    return 1\n")
        info = place / f"{name}-1.0.dist-info"
        info.mkdir()
        files = "".join(f"{name}/m{item}.py,sha256=x,1\n" for item in range(50))
        (info / "RECORD").write_text(f"{files}{name}/__init__.py,sha256=x,1\n")
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")


def section(binary: str, seen: str, rounds: int) -> str:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        write(folder)
        path = os.pathsep.join([text, str(folder / "site-packages"), os.environ["PYTHONPATH"]])
        environment = {**os.environ, "BELLJAR_BIN": binary, "PYTHONPATH": path}

        def process(program: str, *words: str) -> list[float]:
            command = [sys.executable, "-c", program, *words]
            told = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
            figures = json.loads(told)
            return [float(figure) for figure in (figures if isinstance(figures, list) else [figures])]

        kinds = ("uses", "plain")
        cold = {kind: [] for kind in kinds}  # type: dict[str, list[float]]
        process(PROGRAM, "uses")  # Bytecode of the host.
        for _ in range(rounds):
            for kind in kinds:
                cold[kind] += process(PROGRAM, kind)
        uses, plain = (statistics.median(cold[kind]) for kind in kinds)
        _, warm, parked = map(statistics.median, zip(*(process(PROGRAM, "warm") for _ in range(5)), strict=True))
        refused = statistics.median(process(REFUSED)[0] for _ in range(rounds))
    rows = [
        ("first call of a process", f"{uses * 1e3:.1f} ms", f"without: {plain * 1e3:.1f} ms",
         f"{(uses - plain) * 1e3:+.1f} ms", "≤ +50 ms"),
        ("parked call", f"{warm * 1e3:.2f} ms", f"without: {parked * 1e3:.2f} ms", f"{warm / parked:.2f}{TIMES}",
         f"≤ 1.2{TIMES}"),
        (f"refusal of a missing package, {DISTRIBUTIONS} installed", f"{refused * 1e3:.1f} ms", "", "", "≤ 100 ms"),
    ]  # fmt: skip
    return f"""{HEADING}

Calls of a function that uses two modules of a package of {COUNT}, which import each other, beside one that uses none.

{seen}

{table("difference", rows)}
"""
