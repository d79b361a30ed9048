"""Five things that hostile code tries, alone and in a jar."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from screen import bad, dim, good, say, title

from belljar import Outcome, run


def show(folder: Path) -> None:
    title(2, "Hostile code tries five things")
    key = folder / "id_ed25519"
    key.write_text("my key")
    os.environ["DEMO_TOKEN"] = "my token"
    say(dim(f"   {'what it runs':<40}{'python3 alone':<18}{'in a jar':<19}stopped by"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        line("open(KEY).read()", f"KEY = {str(key)!r}", "no file of yours")
        line("os.environ['DEMO_TOKEN']", "import os", "no variable of yours")
        line("socket.create_connection(SERVER)", f"import socket\nSERVER = {server.getsockname()}", "no network")
    line("while True: os.fork()", "import os", "pids=128", alone=False)
    line("while True: hoard += [bytes(1 << 20)]", "hoard = []", 'memory="256M"', alone=False)


def line(code: str, before: str, by: str, alone: bool = True) -> None:
    """Runs code with and without a jar."""
    # A fork bomb alone could fill less memory than the default.
    outcome = run(f"{before}\n{code}", memory="256M" if "hoard" in code else None, timeout=20)
    without = f"{control(before, code) if alone else 'not tried':<18}"
    say(f"   {code:<40}{bad(without) if alone else dim(without)}{good(f'{ending(outcome):<19}')}{by}")


def ending(outcome: Outcome) -> str:
    """How the outcome says that it ended."""
    if outcome.limit:
        return f"limit: {outcome.limit}"
    return (outcome.exception and outcome.exception.type_name) or "NOT STOPPED"


def control(before: str, code: str) -> str:
    """What the same code gets without a jar."""
    words = [sys.executable, "-c", f"{before}\nprint({code})"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    return "connected" if printed.startswith("<socket.socket") else f"reads {printed!r}"
