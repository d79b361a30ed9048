"""What the Python package costs, beside what people would use without it; `make bench` writes docs/figures/package.md.

Every ratio is of medians of two things that took turns in the same run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pickle
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
import in_a_row
import numpy
import own_modules
from page import TIMES, double, machine, table, turns

import belljar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SECTIONS = {"in-a-row": in_a_row, "own-modules": own_modules}
# Between two calls, so that each is a call for itself.
PAUSE = 0.003


def same(value: Any) -> Any:
    return value


def calls(rounds: int) -> list[list[float]]:
    ours = belljar.sandbox(double)
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        pool.submit(double, 21).result()
        for _ in range(20):
            ours(21)
            time.sleep(0.05)
        return turns(rounds, PAUSE, lambda: ours(21), lambda: pool.submit(double, 21).result())


def throughput(seconds: float, dev: str, binary: str) -> list[list[float]]:
    """Calls each second of 64 threads, here and through the Rust library, which take turns."""
    ours, base = belljar.sandbox(double), str(Path(sys.executable).resolve())
    command = [dev, "warm", "--belljar", binary, "--only-callers", "64", "--seconds", str(int(seconds))]
    ours(21)

    def here() -> float:
        # The library's pool is warm when it begins; what is called before `start` warms up this one.
        start = time.perf_counter() + 1
        count, end = [0] * 64, start + seconds

        def caller(number: int) -> None:
            while time.perf_counter() < end:
                ours(number)
                count[number] += time.perf_counter() > start

        threads = [threading.Thread(target=caller, args=(number,)) for number in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(count) / (time.perf_counter() - start)

    def there() -> float:
        printed = subprocess.run([*command, "--python", base], check=True, capture_output=True).stdout
        rate = json.loads(printed)["rate"]
        assert isinstance(rate, float)
        return rate

    rates: list[list[float]] = [[], []]
    for _ in range(5):
        rates[0].append(here())
        rates[1].append(there())
    return rates


def loops(rounds: int) -> list[list[float]]:
    """10,000 short calls, by 4 processes of ours, by 200, and by a pool; then a tenth of them by a process each, and by
    the pool."""
    ours = belljar.sandbox(double)
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:

        def all_of(results: Any) -> None:
            deque(results, maxlen=0)

        ours.warm(2)
        actions = [
            lambda: all_of(ours.map(range(10_000), chunksize=2500)),
            lambda: all_of(ours.map(range(10_000), chunksize=50)),
            lambda: all_of(pool.map(double, range(10_000), chunksize=50)),
            lambda: all_of(ours.map(range(1000))),
            lambda: all_of(pool.map(double, range(1000), chunksize=50)),
        ]
        for action in actions[:3]:
            action()
        return turns(rounds, 0.5, *actions)


def echo(pipe: Connection, pickler: Any) -> None:
    """The other end of a pipe, as one would write it by hand: unpickles, and pickles again."""
    while data := pipe.recv_bytes():
        pipe.send_bytes(pickler.dumps(pickler.loads(data), pickle.HIGHEST_PROTOCOL))


def values(rounds: int, value: Any, pickler: Any, venv: str | None) -> list[list[float]]:
    """There and back: in a jar, and through a pipe to a process that is already there, by `pickle` or `cloudpickle`."""
    ours = belljar.sandbox(venv=venv, memory="2G", preload=["numpy"] if venv else [])(same)
    near, far = get_context("fork").Pipe()
    child = get_context("fork").Process(target=echo, args=(far, pickler), daemon=True)
    child.start()

    def pipe() -> object:
        near.send_bytes(pickler.dumps(value, pickle.HIGHEST_PROTOCOL))
        return pickler.loads(near.recv_bytes())

    for action in (lambda: ours(value), pipe):
        action()
    time.sleep(1)
    times = turns(rounds, 0.2, lambda: ours(value), pipe)
    near.send_bytes(b"")
    child.join()
    return times


def starts(rounds: int) -> tuple[list[list[float]], list[list[float]]]:
    """The first call of a process, import excluded, beside a bare start; and the import alone."""
    base = [str(Path(sys.executable).resolve())]
    first = (
        "import belljar, time\nf = belljar.sandbox(lambda x: x * 2)\n"
        "t = time.perf_counter()\nf(21)\nprint(time.perf_counter() - t)"
    )
    called: list[float] = []

    # An installed package has its bytecode; here it is written by the first that imports it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def process(*arguments: str) -> bytes:
        return subprocess.run([*arguments], check=True, capture_output=True, env=environment).stdout

    def call() -> None:
        called.append(float(process(sys.executable, "-c", first)))

    _, bare = turns(rounds, 0.05, call, lambda: process(*base, "-c", "pass"))
    with_it = lambda: process(sys.executable, "-c", "import belljar")  # noqa: E731
    return [called, bare], turns(rounds, 0, with_it, lambda: process(sys.executable, "-c", "pass"))


def people() -> list[dict[str, Any]]:
    return [
        {
            "id": index,
            "name": f"person {index}",
            "score": index * 1.5,
            "active": index % 2 == 0,
            "tags": ["a", "b", str(index % 7)],
            "born": datetime.date(1970, 1, 1) + datetime.timedelta(days=index),
            "note": None,
            "key": index.to_bytes(4, "little"),
        }
        for index in range(10_000)
    ]


def replace(name: str, text: str, folder: Path | None) -> None:
    """One section of the page, where it is or at its end."""
    print(text, flush=True)
    if folder is None:
        return
    page, heading = folder / "package.md", SECTIONS[name].HEADING
    before, _, after = page.read_text(encoding="utf-8").partition(f"\n{heading}\n")
    rest = after.partition("\n## ")
    page.write_text(f"{before}\n{text}" + (f"\n## {rest[2]}" if rest[1] else ""), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("belljar", "dev", "venv"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", choices=SECTIONS, help="one section; the rest of the page stays as it is")
    args = parser.parse_args()
    os.environ["BELLJAR_BIN"] = args.belljar
    seen = machine(written=args.write is not None)
    if args.only:
        replace(args.only, SECTIONS[args.only].section(args.belljar, seen, 30), args.write)
        return
    sections = [module.section(args.belljar, seen, 30) for module in SECTIONS.values()]
    print(*sections, sep="\n", flush=True)
    rows: list[tuple[str, str, str, str, str]] = []

    def row(what: str, ours: list[float], theirs: list[float], peer: str, reach: str, *, faster: bool = False) -> None:
        one, other = statistics.median(ours), statistics.median(theirs)
        ratio = f"{other / one:.1f}{TIMES} faster" if faster else f"{one / other:.2f}{TIMES}"
        rows.append((what, f"{one * 1e3:.2f} ms", f"{peer}: {other * 1e3:.2f} ms", ratio, reach))
        print(*rows[-1], sep=" | ", flush=True)

    row("`f(21)`, 3 ms between calls", *calls(args.rounds), "hot ProcessPoolExecutor (fork)", f"≤ 1.0{TIMES}")
    ours, theirs = map(statistics.median, throughput(args.seconds, args.dev, args.belljar))
    rows.append(
        (
            "64 threads, calls each second",
            f"{ours:.0f}",
            f"Rust library: {theirs:.0f}",
            f"{ours / theirs:.2f}{TIMES}",
            f"≥ 0.8{TIMES}",
        )
    )
    print(*rows[-1], sep=" | ", flush=True)
    few, many, pool, single, tenth = loops(7)
    peer = "`ProcessPoolExecutor.map(chunksize=50)`"
    row("10,000 short calls, `chunksize=2500`", few, pool, peer, f"≤ 1.5{TIMES}")
    row("10,000 short calls, `chunksize=50`", many, pool, peer, "")
    row("1,000 short calls, a process each", single, tenth, peer, "")
    array = numpy.random.default_rng(1).random(100_000_000 // 8)
    row(
        "100 MB of float64 there and back",
        *values(9, array, cloudpickle, args.venv),
        "cloudpickle through a pipe",
        f"≥ 4{TIMES} faster",
        faster=True,
    )
    row(
        "10,000 dicts of eight fields there and back",
        *values(15, people(), pickle, None),
        "pickle through a pipe",
        f"≤ 5{TIMES}",
    )
    first, imported = starts(200)
    row("first call of a process", *first, "bare start of Python", f"≤ 3{TIMES}")
    row("`import belljar`, whole process", *imported, "`pass`", f"≤ 1.15{TIMES}")
    text = f"""# Figures of the Python package

Written by `make bench`. Medians of contenders that take turns in one run. The time of a call ends at its value.
Ratios travel between machines; milliseconds do not.

{seen}

{table("ratio", rows)}

A chunk of calls needs a fresh process in a fresh jar; a chunk of the pool needs a message to a running
process. So the cost of belljar is the number of chunks: 4 with 2,500 items each, 200 with 50 each.

The array and the rows travel into a jar and back. The pipe leads to a running process that
unpickles them and pickles them again, without any isolation.

{chr(10).join(sections)}"""
    if args.write:
        (args.write / "package.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
