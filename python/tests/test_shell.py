"""A person at a terminal: functions typed into a shell, changed, and interrupted with Ctrl-C."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


class Shell:
    """A Python shell on a terminal of its own."""

    def __init__(self, folder: Path) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            # Whoever started the tests may ignore it, and that is inherited; a person's terminal has no such thing.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            # The shell of 3.13 draws on the terminal; the plain one says the same.
            os.environ.update(PYTHON_BASIC_REPL="1", TERM="dumb", HOME=str(folder))
            os.execv(sys.executable, [sys.executable, "-i", "-q"])
        self.seen = ""
        self.until(">>> ")

    def until(self, mark: str, seconds: float = 60) -> str:
        """What it printed, up to a mark."""
        end = time.monotonic() + seconds
        while mark not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.terminal], [], [], 0.5)[0]:
                self.seen += os.read(self.terminal, 65536).decode()
        told, self.seen = self.seen.split(mark, 1)
        return told

    def type(self, line: str) -> None:
        os.write(self.terminal, line.encode())
        # The terminal shows what is typed.
        self.until("\r\n" if line.endswith("\n") else "^C")

    def say(self, *lines: str) -> str:
        """Types lines, and gives what came before the next prompt."""
        for number, line in enumerate(lines):
            self.type(line + "\n")
            told = self.until("... " if number + 1 < len(lines) else ">>> ")
        return told.replace("\r\n", "\n")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    os.close(made.terminal)
    os.waitpid(made.pid, 0)


def test_functions_typed_at_a_terminal(shell: Shell) -> None:
    assert shell.say("from belljar import sandbox") == ""
    shell.say("FACTOR = 3")
    shell.say("def near(x): return x * FACTOR", "")
    shell.say("@sandbox", "def work(x):", "    print('printed')", "    return near(x)", "")
    assert shell.say("work(2)") == "printed\n6\n"
    shell.say("FACTOR = 5")
    assert shell.say("work(2)") == "printed\n10\n"
    shell.say("def near(x): return 'other'", "")
    assert shell.say("work(2)") == "printed\n'other'\n"
    assert "GuestZeroDivisionError: division by zero" in shell.say("sandbox(lambda: 1 / 0)()")


def test_ctrl_c_at_a_terminal_ends_the_call_alone(shell: Shell, tmp_path: Path) -> None:
    """The signal goes to the whole group of the terminal: not to the agent, which serves the next call."""
    shell.say("import belljar, time; from belljar import _agent")
    shell.say("belljar.run('1').value")
    before = shell.say("_agent.current().child")
    shell.type("belljar.run('import time; print(1, flush=True); time.sleep(60)', on_output=print, timeout=100)\n")
    shell.until("stdout 1")
    shell.type("\x03")
    assert "KeyboardInterrupt" in shell.until(">>> ", 30)
    assert shell.say("belljar.run('21 * 2').value") == "42\n"
    assert shell.say("_agent.current().child") == before
