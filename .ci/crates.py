"""Applies deny.toml to `cargo metadata`, as far as that needs neither a network nor cargo-deny.

Fails for a licence that is not allowed, a crate in two versions, and a crate from elsewhere than crates.io.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

import tomllib

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def fine(expression: str, allowed: set[str]) -> bool:
    """Every part of an AND, any part of an OR. Older crates write a slash for OR."""
    parts = re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", ""))
    return all(any(choice.strip() in allowed for choice in re.split(r"\s+OR\s+|\s*/\s*", part)) for part in parts)


def main() -> None:
    rules = tomllib.loads((Path(__file__).parents[1] / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    twice = {rule["crate"].split(":")[0] for rule in rules["bans"]["skip"]}
    packages = json.load(sys.stdin)["packages"]
    counts = Counter(package["name"] for package in packages)
    wrong = [f"{p['name']}: licence {p['license']}" for p in packages if not fine(p["license"] or "missing", allowed)]
    wrong += [f"{p['name']}: from {p['source']}" for p in packages if p["source"] not in (None, REGISTRY)]
    wrong += [f"{name}: {count} versions" for name, count in counts.items() if count > 1 and name not in twice]
    wrong += [f"{name}: only one version is left; remove it from bans.skip" for name in twice if counts[name] < 2]
    if wrong:
        sys.exit("deny.toml does not allow:\n  " + "\n  ".join(wrong))
    print(f"{len(packages)} crates are as deny.toml allows")


if __name__ == "__main__":
    main()
