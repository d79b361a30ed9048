"""What belljar does, in less than a minute. `make demo` builds the binary and runs this."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import draft
import hostile
import warm
from screen import bold, code, dim, say, title

import belljar

README = Path(__file__).resolve().parents[2] / "README.md"
# For machines without a package index.
PLAIN = """
from belljar import sandbox

@sandbox
def mean_price(first: float, second: float) -> float:
    return (first + second) / 2

mean_price(4, 6)
"""


def main() -> None:
    pool = warm.pool()
    say(f"{bold('belljar')} runs Python that you did not write: every call gets a fresh process under glass.")
    with tempfile.TemporaryDirectory(prefix="belljar-demo-") as folder:
        first(pool)
        hostile.show(Path(folder))
        draft.show(Path(folder))
    title(4, "What next")
    for what, why in (
        (f"{os.path.relpath(os.environ.get('BELLJAR_BIN', 'belljar'))} doctor", "what this machine can enforce"),
        ("README.md", "how to install belljar, and what holds"),
        ("examples/", "agents, graders, plug-ins and more"),
    ):
        say(f"   {what:<56} {dim(why)}")


def first(pool: warm.Pool) -> None:
    """The README's own function, cold and warm."""
    title(1, "A function in a jar")
    block = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert block is not None
    try:
        work = warm.first(block[1])
    except belljar.DependencyError as error:
        say(dim(f"   pandas is left out, as it cannot be installed: {error.message.splitlines()[0][:50]}"))
        work = warm.first(PLAIN)
    code(work.source)
    say(f"   {bold(repr(work.value))}\n")
    warm.show(work, pool)


if __name__ == "__main__":
    main()
