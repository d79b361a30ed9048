"""Draws the chart of the README from bench.md and package.md in docs/figures, which `make bench` writes."""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "docs/assets/first-screen.svg"
# Wide enough for two panels side by side; GitHub shows a README about as wide.
WIDTH, MIDDLE, LABELS, ROW, HEAD = 880, 430, 110, 24, 34
OURS, BARE, OTHERS = "ours", "bare", "others"

Bar = tuple[str, float, str]


def rows(page: str) -> list[list[str]]:
    """The cells of every table of a page, which may lie in any folder of docs."""
    [path] = list((ROOT / "docs").rglob(page))
    lines = [line for line in path.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def figure(text: str) -> float:
    """The milliseconds in a cell."""
    found = re.search(r"([\d.]+) ms", text)
    assert found is not None, f"no milliseconds in {text!r}"
    return float(found[1])


def cold() -> list[Bar]:
    """Those that root started, and that could run."""
    names = {
        "bare interpreter": ("no sandbox", BARE),
        "belljar": ("belljar", OURS),
        "bubblewrap": ("bubblewrap", OTHERS),
        "runc": ("runc", OTHERS),
        "gVisor (runsc)": ("gVisor", OTHERS),
        "podman": ("podman", OTHERS),
    }
    found = []
    for row in rows("bench.md"):
        if row[0] in names and row[1] == "root" and row[3].endswith(" ms"):
            label, kind = names[row[0]]
            found.append((label, figure(row[3]), kind))
    return found


def beside(what: str) -> tuple[float, float]:
    """belljar's figure and the process pool's."""
    [row] = [row for row in rows("package.md") if row[0].startswith(what)]
    return figure(row[1]), figure(row[2])


def pair(what: str, ours: str, pool: str) -> list[Bar]:
    mine, theirs = beside(what)
    return [(ours, mine, OURS), (pool, theirs, BARE)]


def milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 1000 else f"{value:.3g} ms" if value < 10 else f"{value:.1f} ms"


def panel(x: int, y: int, title: str, bars: list[Bar]) -> tuple[list[str], int]:
    """Bars on a scale of their own, and where the next panel can begin."""
    left, room = x + LABELS, MIDDLE - LABELS - 100
    longest = max(bar[1] for bar in bars)
    parts = [f'<text x="{x + 12}" y="{y + 20}" class="title">{escape(title)}</text>']
    for number, (label, value, kind) in enumerate(bars):
        top = y + HEAD + ROW * number
        length = max(2.0, room * value / longest)
        bold = ' class="name"' if kind == OURS else ""
        parts += [
            f'<text x="{left - 8}" y="{top + 13}" text-anchor="end"{bold}>{escape(label)}</text>',
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="17" rx="2" class="{kind}"/>',
            f'<text x="{left + length + 6:.1f}" y="{top + 13}"{bold}>{milliseconds(value)}</text>',
        ]
    return parts, y + HEAD + ROW * len(bars) + 8


def chart() -> str:
    parts, end = panel(0, 0, "Cold start of print(1)", cold())
    more, y = panel(MIDDLE, 0, "One warm call of a Python function",
                    pair("`f(21)`", "belljar", "process pool"))  # fmt: skip
    parts += more
    more, y = panel(MIDDLE, y, "10,000 short calls, chunks of 2,500",
                    pair("10,000 short calls, `chunksize=2500`", "belljar", "process pool"))  # fmt: skip
    parts += more
    more, y = panel(MIDDLE, y, "1,000 short calls, each a fresh process in belljar",
                    pair("1,000 short calls", "belljar", "process pool"))  # fmt: skip
    parts += more
    note = end + 12
    for line in (
        "Medians on one machine with 2 processors; less is better.",
        "The process pool uses one process again and again,",
        "without any isolation: belljar pays for each fresh process.",
    ):
        parts.append(f'<text x="12" y="{note}" class="note">{line}</text>')
        note += 18
    height = max(note, y)
    style = (
        "text{font:13px -apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:#24292f}"
        ".title{font-weight:600;font-size:14px}.name{font-weight:600}.note{fill:#57606a}"
        ".ours{fill:#2f6f4f}.bare{fill:#8c959f}.others{fill:#b6c2bc}.paper{fill:#ffffff}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.ours{fill:#4fb286}"
        ".bare{fill:#6e7681}.others{fill:#3d4a44}.paper{fill:#0d1117}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>Cold start, one warm call, and loops of calls</title>\n<style>{style}</style>\n"
        f'<rect width="{WIDTH}" height="{height}" class="paper"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the chart is an old one")
    drawn = chart()
    if not parser.parse_args().check:
        CHART.parent.mkdir(exist_ok=True)
        CHART.write_text(drawn)
    elif not CHART.exists() or CHART.read_text() != drawn:
        sys.exit(f"{CHART.relative_to(ROOT)} does not show the figures of docs/: run `make docs`")


if __name__ == "__main__":
    main()
