"""What an environment of dependencies costs; `make bench` writes docs/figures/environments.md.

Every ratio is of medians of two things that took turns in the same run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page import TIMES, double, machine, table, turns

import belljar

PACKAGES = ("numpy", "pandas")
# Between two calls, so that both pools have a worker parked: with pandas the next one takes some milliseconds to make.
PAUSE = 0.03


def medians(times: list[list[float]]) -> list[float]:
    return [statistics.median(found) for found in times]


def quiet(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def starts(binary: str, python: str, rounds: int) -> list[float]:
    """A cold start with an environment that is there, and without one."""
    run = (binary, "run", "--python", python)
    needs = [word for name in PACKAGES for word in ("--with", name)]
    with_it, without = (lambda: quiet(*run, *needs, "-c", "print(1)")), (lambda: quiet(*run, "-c", "print(1)"))
    return medians(turns(rounds, 0, with_it, without))


def calls(rounds: int) -> list[float]:
    """A warm call whose worker has pandas imported, and one without dependencies."""
    with_it, without = belljar.sandbox(dependencies=list(PACKAGES))(double), belljar.sandbox(double)
    for _ in range(20):
        with_it(21), without(21)
        time.sleep(0.05)
    cold = with_it.outcome(21).cold
    if cold is not None:
        raise SystemExit(f"the call with {PACKAGES} is not warm: {cold}")
    return medians(turns(rounds, PAUSE, lambda: with_it(21), lambda: without(21)))


def builds(binary: str, python: str, uv: str, cache: Path, rounds: int) -> list[float]:
    """Building from what uv has already, and uv alone doing the same without a jar, bytecode or checks."""
    plain = cache / "plain"
    environment = {**os.environ, "UV_CACHE_DIR": str(cache / "uv/wheels")}

    def ours() -> None:
        for part in ("environments", "requests"):
            quiet("chmod", "-R", "u+w", str(cache / part))
            shutil.rmtree(cache / part)
        start = time.perf_counter()
        quiet(binary, "env", "build", "--python", python, *PACKAGES)
        times[0].append(time.perf_counter() - start)

    def theirs() -> None:
        shutil.rmtree(plain, ignore_errors=True)
        start = time.perf_counter()
        for command in (
            ["venv", "-q", "--python", python, str(plain)],
            ["pip", "install", "-q", "--python", str(plain), *PACKAGES],
        ):
            subprocess.run([uv, *command], check=True, env=environment)
        times[1].append(time.perf_counter() - start)

    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        ours()
        theirs()
    return medians(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--belljar", required=True)
    parser.add_argument("--uv", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    os.environ["BELLJAR_BIN"], os.environ["BELLJAR_UV"] = args.belljar, args.uv
    seen, python = machine(written=args.write is not None), str(Path(sys.executable).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BELLJAR_CACHE_DIR"] = folder
        start = time.perf_counter()
        quiet(args.belljar, "env", "build", "--python", python, *PACKAGES)
        first = time.perf_counter() - start
        start_with, start_without = starts(args.belljar, python, args.rounds)
        call_with, call_without = calls(args.rounds)
        ours, theirs = builds(args.belljar, python, args.uv, Path(folder), 9)
        subprocess.run([args.belljar, "env", "prune", "--all", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        quiet("chmod", "-R", "u+w", folder)
    ms = 1e3
    added = f"{(start_with - start_without) * ms:+.1f} ms"
    rows = [
        (
            "cold start, environment that is there",
            start_with,
            f"without: {start_without * ms:.1f} ms",
            added,
            "≤ +2 ms",
        ),
        (
            "warm call, numpy and pandas imported",
            call_with,
            f"without: {call_without * ms:.2f} ms",
            f"{call_with / call_without:.2f}{TIMES}",
            f"≤ 1.3{TIMES}",
        ),
        (
            "build, everything downloaded before",
            ours,
            f"`uv venv && uv pip install`: {theirs * ms:.0f} ms",
            f"{ours / theirs:.2f}{TIMES}",
            f"≤ 2{TIMES}",
        ),
    ]
    shown = [(what, f"{one * ms:.2f} ms", *rest) for what, one, *rest in rows]
    text = f"""# Figures of environments

Written by `make bench`, with numpy and pandas. Medians of contenders that take turns in one run. Ratios
travel between machines; milliseconds do not.

{seen}

{table("difference", shown)}

Calls are {PAUSE * ms:.0f} ms apart, so that each finds a parked worker. The very first build, with everything
downloaded and all bytecode made, took {first:.1f} s. The build beside it is uv's alone: it neither pins hashes,
nor makes bytecode, nor checks anything afterwards, nor runs in a jar.
"""
    print(text)
    if args.write:
        (args.write / "environments.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
