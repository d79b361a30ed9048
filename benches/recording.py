"""Records a command at a terminal of 100 columns as an SVG: `recording.py FILE COMMAND...`. Lines appear when they did.

What cannot play an animation shows the last picture.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import time
from html import escape
from pathlib import Path

COLUMNS, ROWS = 100, 50
# A picture that nobody watches for a minute: no pause is longer.
LONGEST_PAUSE = 1.2
CELL, LINE, EDGE, BAR = 7.8, 18, 16, 28
CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "36": "c"}


def recorded(command: list[str]) -> list[tuple[float, str]]:
    """Each line that stays, with the time when it was done."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS))
        os.environ.pop("NO_COLOR", None)
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    lines: list[tuple[float, str]] = []
    text, last, now = "", time.monotonic(), 0.0
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        text += data.decode(errors="replace")
        pause, last = time.monotonic() - last, time.monotonic()
        now += min(pause, LONGEST_PAUSE)
        *whole, text = text.split("\n")
        # A line of progress is written over: what came after the last return stays.
        lines += [(now, re.split(r"\r(?!$)", line)[-1].rstrip("\r").replace("\x1b[K", "")) for line in whole]
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        sys.exit("the command failed:\n" + "\n".join(line for _, line in lines))
    return lines


def spans(line: str) -> str:
    """The text of a line with its colours."""
    parts, kind = [], ""
    for number, piece in enumerate(re.split(r"\x1b\[([0-9;]*)m", line)):
        if number % 2:
            kind = CLASSES.get(piece, "")
        elif piece:
            parts.append(f'<tspan class="{kind}">{escape(piece)}</tspan>' if kind else escape(piece))
    return "".join(parts)


def svg(title: str, lines: list[tuple[float, str]]) -> str:
    width, height = round(COLUMNS * CELL + 2 * EDGE), BAR + EDGE + LINE * len(lines) + EDGE
    style = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
        "text{fill:#d7dbe0;white-space:pre}"
        ".b{font-weight:700;fill:#fff}.d{fill:#8b949e}.r{fill:#ff7b72}.g{fill:#7ee787}.c{fill:#79c0ff}"
        ".l{animation:on .01s backwards}@keyframes on{from{opacity:0}}"
        "@media(prefers-reduced-motion:reduce){.l{animation:none}}"
    )
    text = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{style}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>',
        *(f'<circle cx="{20 + 18 * n}" cy="16" r="5" fill="#484f58"/>' for n in range(3)),
        f'<text x="{EDGE}" y="{BAR + EDGE}"><tspan class="g">$</tspan> {escape(title)}</text>',
    ]
    for number, (when, line) in enumerate(lines, 1):
        if line:
            y = BAR + EDGE + LINE * number
            text.append(
                f'<text class="l" style="animation-delay:{when:.1f}s" x="{EDGE}" y="{y}" xml:space="preserve">'
                f"{spans(line)}</text>"
            )
    return "\n".join([*text, "</svg>"]) + "\n"


def main() -> None:
    target, *command = sys.argv[1:]
    lines = recorded(command)
    Path(target).write_text(svg("make demo", lines))


if __name__ == "__main__":
    main()
