"""Reads `cargo metadata`. Fails for a licence that is not on the list, and for a crate in two versions.

cargo-deny does more, but takes longer to build than belljar. Advisories need a network: the hosted CI has them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter

# Licences that ask for nothing but to be named.
FINE = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "Unicode-3.0", "Unlicense"}
# In two versions, with the reason.
TWICE = {"syn": "derive macros are between two of its versions; nothing of it is in the binary"}


def fine(expression: str) -> bool:
    """Every part of an AND, any part of an OR. Older crates write a slash for OR."""
    parts = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return all(any(choice.strip() in FINE for choice in re.split(r"\s+OR\s+|\s*/\s*", part)) for part in parts)


def main() -> None:
    packages = json.load(sys.stdin)["packages"]
    wrong = [f"{p['name']}: {p['license']}" for p in packages if not fine(p["license"] or "no licence")]
    counts = Counter(package["name"] for package in packages)
    wrong += [f"{name}: {count} versions" for name, count in counts.items() if count > 1 and name not in TWICE]
    wrong += [f"{name}: only one version is left; take it off the list" for name in TWICE if counts[name] < 2]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(packages)} crates with fine licences")


if __name__ == "__main__":
    main()
