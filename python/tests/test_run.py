"""`run`, `run_file`, `run_command`: outcomes."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

import belljar


def test_a_run_is_an_outcome() -> None:
    outcome = belljar.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (outcome.status, outcome.exit_code, outcome.limit) == ("returned", 0, None)
    assert (outcome.stdout, outcome.stderr) == ("out\n", "err\n")
    assert outcome.ok and outcome.exception is None and outcome.check() is outcome
    assert outcome.usage.wall > 0 and outcome.isolation.tier == "sealed"
    assert outcome.isolation.layers["seccomp"]["state"] == "full"
    assert outcome.json()["status"] == "returned"
    assert "returned" in repr(outcome)


def test_what_the_guest_does_is_no_error_until_it_is_checked() -> None:
    outcome = belljar.run("x = 1\ny = x / 0\n")
    assert outcome.status == "raised" and not outcome.ok
    with pytest.raises(ZeroDivisionError) as caught:
        outcome.check()
    error = caught.value
    assert isinstance(error, belljar.GuestError)
    assert (error.type_name, str(error), error.line) == ("ZeroDivisionError", "division by zero", 2)
    assert error.traceback is not None and "y = x / 0" in error.traceback
    assert error.hint is not None and "divisor" in error.hint
    assert error.outcome is outcome


def test_exits_signals_and_limits() -> None:
    assert belljar.run("raise SystemExit(3)").exit_code == 3
    with pytest.raises(belljar.GuestError, match="code 3") as caught:
        belljar.run("raise SystemExit(3)").check()
    assert caught.value.exit_code == 3
    killed = belljar.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(belljar.GuestError, match="SIGKILL"):
        killed.check()
    late = belljar.run("while True: pass", timeout=0.3)
    assert (late.status, late.limit) == ("timed_out", "time")
    with pytest.raises(belljar.TimeoutExceeded) as timeout:
        late.check()
    assert isinstance(timeout.value, TimeoutError) and timeout.value.limit == "time"


def test_files_go_in_and_come_out(tmp_path: Path) -> None:
    given = tmp_path / "given.txt"
    given.write_text("from the host")
    big = os.urandom(3 << 20)
    source = """
import os
assert open('text').read() == 'é' and open('sub/path').read() == 'from the host'
data = open('big', 'rb').read()
open('big.out', 'wb').write(data[::-1])
os.mkdir('deep'); open('deep/plot.png', 'wb').write(b'png')
"""
    outcome = belljar.run(source, files={"text": "é", "big": big, "sub/path": given}).check()
    assert outcome.files["big.out"].bytes() == big[::-1]
    assert outcome.files["deep/plot.png"].bytes() == b"png"
    assert set(outcome.changes.created) >= {"big.out", "deep/plot.png"}
    saved = outcome.files["deep/plot.png"].save(tmp_path)
    assert saved == str(tmp_path / "plot.png") and Path(saved).read_bytes() == b"png"
    # Control: what is not collected is not there.
    assert not belljar.run("open('x', 'w').write('1')", collect=0).files


def test_a_saved_file_follows_no_link(tmp_path: Path) -> None:
    outcome = belljar.run("open('x', 'w').write('guest')")
    victim = tmp_path / "victim"
    victim.write_text("host")
    (tmp_path / "x").symlink_to(victim)
    with pytest.raises(OSError):
        outcome.files["x"].save(tmp_path)
    assert victim.read_text() == "host"


def test_stdin_args_and_env(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_HOST", "h")
    source = "import sys, os; print(sys.argv[1:], sys.stdin.read(), os.environ['A'], os.environ.get('FROM_HOST'))"
    outcome = belljar.run(source, args=["x", "y z"], stdin="input", env={"A": "1"})
    assert outcome.stdout == "['x', 'y z'] input 1 None\n"
    outcome = belljar.run(source, env=["A=2", "FROM_HOST"])
    assert outcome.stdout == "[]  2 h\n"


def test_run_file_shows_the_script_alone(tmp_path: Path) -> None:
    script = tmp_path / "hello.py"
    script.write_text("import sys, os\nprint(sys.argv, os.listdir(os.path.dirname(__file__)))\n")
    (tmp_path / "secret").write_text("x")
    outcome = belljar.run_file(script, args=["1"])
    assert outcome.stdout == "['/script/hello.py', '1'] ['hello.py']\n", outcome.stderr
    with pytest.raises(FileNotFoundError):
        belljar.run_file(tmp_path / "missing.py")


def test_run_command() -> None:
    assert belljar.run_command(["echo", "a b"]).stdout == "a b\n"
    assert belljar.run_command(["sh", "-c", "exit 4"]).exit_code == 4
    with pytest.raises(belljar.SetupError, match="no-such-program"):
        belljar.run_command(["no-such-program"])
    with pytest.raises(TypeError, match="list"):
        belljar.run_command("ls /")


def test_output_is_told_while_it_runs(tmp_path: Path) -> None:
    # The guest goes on only when the host has seen its first line: a run that told at the end would hang into its timeout.
    (tmp_path / "box").mkdir()
    told: list[tuple[str, str]] = []

    def tell(stream: str, text: str) -> None:
        told.append((stream, text))
        (tmp_path / "box" / "go").touch()

    source = """
import os, sys, time
print('first é', flush=True)
while not os.path.exists('/box/go'): time.sleep(0.005)
print('second', file=sys.stderr)
"""
    outcome = belljar.run(source, on_output=tell, mount=f"{tmp_path}/box:/box", timeout=20).check()
    assert "".join(text for stream, text in told if stream == "stdout") == "first é\n"
    assert "".join(text for stream, text in told if stream == "stderr") == "second\n"
    assert outcome.stdout == "first é\n"


def test_a_callback_that_raises_ends_the_job() -> None:
    class Stop(Exception):
        pass

    def tell(stream: str, text: str) -> None:
        raise Stop

    start = time.monotonic()
    with pytest.raises(Stop):
        belljar.run("print(1, flush=True)\nimport time; time.sleep(60)", on_output=tell, timeout=60)
    assert time.monotonic() - start < 30


def test_dropped_output_is_said() -> None:
    outcome = belljar.run("print('a' * 5000)", output=1024)
    assert outcome.dropped["stdout"] > 0 and "bytes dropped]" in outcome.stdout


def test_threads_at_once() -> None:
    results: dict[int, str] = {}

    def work(number: int) -> None:
        results[number] = belljar.run(f"print({number})").stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n" for number in range(16)}


def test_async_twins(tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text("print('file')")
    told: list[str] = []

    async def tell(stream: str, text: str) -> None:
        await asyncio.sleep(0)
        told.append(text)

    async def main() -> list[str]:
        outcomes = await asyncio.gather(
            belljar.arun("print('code')", on_output=tell),
            belljar.arun_file(script),
            belljar.arun_command(["echo", "c"]),
        )
        return [outcome.stdout for outcome in outcomes]

    assert asyncio.run(main()) == ["code\n", "file\n", "c\n"]
    assert told == ["code\n"]
    # A second loop in the same process.
    assert asyncio.run(main()) == ["code\n", "file\n", "c\n"]
