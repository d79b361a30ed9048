"""`make packages`: the most used packages, installed from the registry and tried in jars; writes docs/reference/packages.md.

    python tests/packages/run.py [--only numpy,pandas] [--installed VIRTUALENV] [--write docs/reference/packages.md]

Takes minutes and a network. Set BELLJAR_BIN and PYTHONPATH as the Makefile does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from cases import CASES, OPTIONAL, Case
from page import page, row
from trial import Result, cold, warm


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="names, with commas between them")
    options.add_argument("--installed", type=Path, help="a virtualenv that has them; nothing is installed then")
    options.add_argument("--write", type=Path, help="where the page goes")
    given = options.parse_args()
    only = [name for name in given.only.split(",") if name]
    chosen = [case for case in CASES if (case.name in only if only else case.name not in OPTIONAL)]
    results = [(case, alone(case, given.installed)) for case in chosen]
    all_results = together(chosen) if len(chosen) > 1 and not given.installed else []
    if given.write:
        given.write.write_text(page(results, all_results))
    failed = [case.name for case, result in [*results, *all_results] if result.problem]
    print(f"{len(results)} packages, failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


def alone(case: Case, installed: Path | None) -> Result:
    """In an environment of its own, or in one that is there."""
    result = Result()
    cold(case, result, installed)
    if not result.problem:
        warm([(case, result)], installed)
    print(row(case, result), flush=True)
    return result


def together(cases: Iterable[Case]) -> list[tuple[Case, Result]]:
    """All of them in one environment, as far as limits of their own allow."""
    names = tuple(dict.fromkeys(name for case in cases for name in case.requirements))
    print(f"{len(names)} packages in one environment", flush=True)
    tries = []
    for case in cases:
        # A template that holds all of them is larger than what one job may have by default.
        merged = replace(case, requirements=names, limits={"memory": "4G", "network": "loopback", "timeout": "120s"})
        result = Result()
        cold(merged, result, None)
        tries.append((merged, result))
    warm([(case, result) for case, result in tries if not result.problem], None)
    for case, result in tries:
        print(row(case, result), flush=True)
    return tries


if __name__ == "__main__":
    sys.exit(main())
