"""docs/reference/packages.md, from how packages went."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from cases import OPTIONAL, Case
from trial import Result

HEAD = """# Packages that are known to work

Written by `make packages`, which installs each package from the registry into an environment of its own, and then all of
them into one; runs a small real task with it in a jar (tests/packages/tasks), once cold (`belljar run --with`) and once
warm (`Sandbox(dependencies=[...])`); and fails if one of them fails. The default policy applies, except for what the notes say.

Times include the imports, on whatever machine this ran on: they show the difference between cold and warm, and nothing more. A
package that is *not preloaded* still runs on a warm worker and is imported by the job: its import leaves something that a
template must not have, so the preload that comes with `dependencies=` leaves it out. Named in `preload=`, it makes jobs cold.
"""


def page(alone: Iterable[tuple[Case, Result]], together: list[tuple[Case, Result]]) -> str:
    """The whole page."""
    parts = [
        HEAD,
        f"CPython {platform.python_version()}, {platform.machine()}.\n",
        "| package | version | cold | warm | notes |",
        "|---|---|---|---|---|",
        *(row(case, result) for case, result in alone),
    ]
    if together:
        good = [case for case, result in together if not result.problem]
        bad = [f"{case.name} ({result.problem})" for case, result in together if result.problem]
        out = [case.name for case, result in together if result.left_out]
        cold = sorted({result.cold for _, result in together if result.cold})
        text = f"\nAll in one environment, with 4 GiB of memory: {len(good)} of {len(together)} tasks succeed cold and warm."
        text += f" Failed: {'; '.join(bad)}." if bad else ""
        text += f" Not preloaded: {', '.join(out)}." if out else ""
        text += f" Ran cold: {'; '.join(cold)}." if cold else ""
        parts.append(text)
    for name, why in OPTIONAL.items():
        parts.append(f"\nNot tried by default: {name}. {why}")
    return "\n".join(parts) + "\n"


def row(case: Case, result: Result) -> str:
    """A line of the table."""
    if result.problem:
        times = ["fails", "", result.problem.replace("|", "\\|")]
    else:
        warm = "runs cold" if result.cold else f"{result.warm_ms:.0f} ms"
        beside = [f"with {', '.join(case.requirements[1:])}"] if 1 < len(case.requirements) < 4 else []
        limits = [f"{name} = {value}" for name, value in case.limits.items()] if len(case.requirements) < 4 else []
        left = [f"not preloaded: {result.left_out}"] if result.left_out else []
        notes = "; ".join([*beside, *limits, *left, *filter(None, [result.cold])])
        times = [f"{result.cold_ms:.0f} ms", warm, notes]
    return " ".join(f"| {cell}".rstrip() for cell in [case.name, result.version, *times]) + " |"
