"""A job with pandas: the packages are those of a virtualenv, the data crosses the glass as columns."""

from __future__ import annotations

import sys
from typing import Any

from belljar import sandbox

# A virtualenv that has pandas; here the one that runs this program. The guest sees it, read-only, and nothing else.
VENV = sys.argv[1] if len(sys.argv) > 1 else sys.prefix


@sandbox(venv=VENV, profile="data", timeout=120)
def summarise(rows: list[dict[str, Any]]) -> dict[str, float]:
    import pandas as pd

    frame = pd.DataFrame(rows)
    means = frame.groupby("city")["degrees"].mean()
    return {str(city): float(mean) for city, mean in means.items()}


def main() -> None:
    rows = [
        {"city": city, "degrees": base + day % 5} for day in range(30) for city, base in (("Oslo", 3), ("Rome", 18))
    ]
    for city, mean in summarise(rows).items():
        print(f"{city}: {mean:.1f}")
    batches = [rows[start : start + 20] for start in range(0, len(rows), 20)]
    # Lazy, in order, several jars at once.
    print("batches:", [round(result["Rome"], 1) for result in summarise.map(batches)])


if __name__ == "__main__":
    main()
