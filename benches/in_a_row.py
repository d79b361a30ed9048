"""The first calls of a process, one after the other, with pandas as a dependency.

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

HEADING = "## In a row"
# What is printed: seconds of three calls in a row; of a parked call, in the median; how many of all were cold.
PROGRAM = """
import json, statistics, time
import belljar

@belljar.sandbox(dependencies=["pandas"])
def work(x):
    import pandas
    return len(pandas.DataFrame({"a": [x]}))

def call():
    start = time.perf_counter()
    work(21)
    return time.perf_counter() - start

def parked():
    time.sleep(0.05)
    return call()

row = [call() for _ in range(3)]
print(json.dumps([*row, statistics.median(parked() for _ in range(20)), belljar.statistics().cold]))
"""


def section(binary: str, seen: str, rounds: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        uv = str(Path(sys.executable).with_name("uv"))
        environment = {**os.environ, "BELLJAR_CACHE_DIR": folder, "BELLJAR_BIN": binary, "BELLJAR_UV": uv}

        def process() -> list[float]:
            command = [sys.executable, "-c", PROGRAM]
            told = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
            return [float(figure) for figure in json.loads(told)]

        process()  # Builds the environment.
        told = [process() for _ in range(rounds)]
        prune = [binary, "env", "prune", "--all", "--quiet"]
        subprocess.run(prune, check=True, stdout=subprocess.DEVNULL, env=environment)
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    *row, parked, cold = map(statistics.median, zip(*told, strict=True))
    beside = f"parked: {parked * 1e3:.2f} ms"
    reaches = {"first": "", "second": f"≤ {row[0] / 2 / parked:.0f}{TIMES}, half of the first", "third": f"≤ 2{TIMES}"}
    rows = [
        (f"{name} call", f"{one * 1e3:.2f} ms", beside, f"{one / parked:.1f}{TIMES}", reach)
        for (name, reach), one in zip(reaches.items(), row, strict=True)
    ]
    return f"""{HEADING}

Calls that import pandas, in a row without a pause, in a fresh process each time. A parked call
comes after a pause of 50 ms.
{cold:.0f} of the calls of a process ran cold, in the median.

{seen}

{table("ratio", rows)}
"""
