"""Runs a step of `make demo` with one line of progress. Its output is in a file, which is shown if the step fails."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def main(log: Path, command: list[str], optional: bool) -> int:
    """The exit code of the command, or 0 where the demo can do without it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    what = "fetching packages" if optional else "building belljar (minutes the first time)"
    begun = time.monotonic()
    alive = sys.stdout.isatty()
    if not alive and not optional:
        print(f"{what}, log in {log}", flush=True)
    with log.open("w") as file:
        step = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        while alive and step.poll() is None:
            print(f"\r\x1b[K{what}, {time.monotonic() - begun:.0f} s, log in {log}", end="", flush=True)
            time.sleep(0.2)
        code = step.wait()
    if alive:
        print("\r\x1b[K", end="", flush=True)
    if optional:
        return 0
    if code:
        sys.stderr.write(log.read_text())
        print(f"the build failed; {log} has the text above", file=sys.stderr)
    return code


if __name__ == "__main__":
    words = sys.argv[1:]
    optional = words[0] == "--try"
    sys.exit(main(Path(words[optional]), words[optional + 1 :], optional))
