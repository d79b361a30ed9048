"""The agent's life: fork, threads, signals, ends. Each case is a program of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import BINARY, alive, until

Program = Callable[..., "subprocess.CompletedProcess[str]"]


def test_import_does_nothing(program: Program) -> None:
    source = """
import sys, threading
before = set(sys.modules)
import belljar
new = {name.partition('.')[0] for name in set(sys.modules) - before}
print(sorted(new), threading.active_count())
dir(belljar); belljar.__version__
assert 'asyncio' not in sys.modules and 'subprocess' not in sys.modules and 'json' not in sys.modules
"""
    assert program(source).stdout == "['belljar'] 1\n"


def test_every_public_name_is_there(program: Program) -> None:
    program("import belljar\nfor name in belljar.__all__: getattr(belljar, name)\nfrom belljar import *")


def test_first_use_from_a_thread_that_ends(program: Program) -> None:
    source = """
import threading, belljar
out = []
for _ in range(3):
    thread = threading.Thread(target=lambda: out.append(belljar.run('print(1)').stdout))
    thread.start(); thread.join()
from belljar import _agent
print(out, len({_agent.current().child}))
"""
    assert program(source).stdout == "['1\\n', '1\\n', '1\\n'] 1\n"


def test_a_forked_child_has_its_own_agent(program: Program) -> None:
    source = """
import os, belljar
from belljar import _agent
assert belljar.run('print(1)').stdout == '1\\n'
parent = _agent.current()
reader, writer = os.pipe()
pid = os.fork()
if not pid:
    assert belljar.run('print(2)').stdout == '2\\n'
    child = _agent.current()
    assert child is not parent and child.child != parent.child and child.pid == os.getpid()
    os.write(writer, b'fine')
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0 and os.read(reader, 9) == b'fine'
assert _agent.current() is parent and belljar.run('print(3)').stdout == '3\\n'
"""
    program(source)


def test_fork_while_other_threads_call(program: Program) -> None:
    source = """
import os, threading, belljar
# Python itself does not survive a fork while another thread imports.
belljar.run('1')
stop = False
def work():
    while not stop: belljar.run('1')
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for _ in range(3):
    pid = os.fork()
    if not pid:
        os._exit(0 if belljar.run('print(2)').stdout == '2\\n' else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
for thread in threads: thread.join()
"""
    program(source)


def test_the_agent_dies_with_its_process_while_a_forked_child_lives(tmp_path: Path) -> None:
    source = """
import os, sys, time, belljar
from belljar import _agent
belljar.run('1')
pid = os.fork()
if not pid:
    time.sleep(600)
print(_agent.current().child, pid, flush=True)
time.sleep(600)
"""
    host = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    with host.stdout:
        agent, child = map(int, host.stdout.readline().split())
        try:
            assert alive(agent)
            host.kill()
            host.wait()
            until(lambda: not alive(agent))
            assert alive(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_an_ordinary_end_leaves_nothing_and_says_nothing(program: Program) -> None:
    told = program("import belljar\nfrom belljar import _agent\nbelljar.run('1')\nprint(_agent.current().child)")
    until(lambda: not alive(int(told.stdout)))
    assert told.stderr == ""


def test_a_killed_agent_is_told_of_and_replaced(program: Program) -> None:
    source = """
import os, signal, threading, belljar
from belljar import _agent
belljar.run('1')
first = _agent.current()
def kill(stream, text): os.kill(first.child, signal.SIGKILL)
try:
    belljar.run('print(1, flush=True)\\nimport time; time.sleep(60)', on_output=kill)
except belljar.SetupError as error:
    print('not run again' in str(error))
print(belljar.run('print(2)').stdout.strip(), _agent.current() is not first)
"""
    assert program(source).stdout == "True\n2 True\n"


def test_ctrl_c_kills_the_job_and_the_next_call_works(program: Program, tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    source = f"""
import os, signal, threading, time, belljar
def tell(stream, text):
    if text: threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
code = '''
import time
print('on', flush=True)
while True:
    open('/box/beat', 'w').write(str(time.monotonic())); time.sleep(0.01)
'''
try:
    belljar.run(code, on_output=tell, mount='{box}:/box:rw', timeout=60)
except KeyboardInterrupt:
    print('interrupted')
# The job is gone when its file is not written any more.
def beat(): return open('{box}/beat').read()
end = time.monotonic() + 30
while True:
    one = beat(); time.sleep(0.2)
    if beat() == one: break
    assert time.monotonic() < end
print(belljar.run('print(2)').stdout.strip())
"""
    assert program(source).stdout == "interrupted\n2\n"


# Alone it reads its answer itself; beside another call a thread reads for both.
@pytest.mark.parametrize("others", [0, 1])
def test_an_interrupt_that_wakes_nobody_is_not_lost(program: Program, others: int) -> None:
    """As one that comes just before the caller falls asleep: here another thread gets it, which wakes the caller as little."""
    source = f"""
import signal, threading, time, belljar
def unnoticed(): signal.pthread_kill(threading.get_ident(), signal.SIGINT)
def tell(stream, text):
    if text: threading.Timer(0.5, unnoticed).start()
code = "import time; print('on', flush=True); time.sleep(100)"
for _ in range({others}):
    threading.Thread(target=belljar.run, args=(code,), kwargs=dict(timeout=120), daemon=True).start()
start = time.monotonic()
try:
    belljar.run(code, on_output=tell, timeout=120)
except KeyboardInterrupt:
    print(time.monotonic() - start < 60)
"""
    assert program(source).stdout == "True\n"


def test_interrupts_at_any_moment_never_break_the_stream(program: Program) -> None:
    source = """
import os, signal, threading, time, random, belljar
stop = threading.Event()
def storm():
    while not stop.wait(random.random() * 0.01): os.kill(os.getpid(), signal.SIGINT)
belljar.run('1')
from belljar import _agent
first = _agent.current()
thread = threading.Thread(target=storm, daemon=True)
hits = done = 0
thread.start()
while hits < 100:
    try:
        belljar.run('pass'); done += 1
    except KeyboardInterrupt:
        hits += 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
stop.set(); thread.join()
assert belljar.run('print(3)').stdout == '3\\n'
print(_agent.current() is first)
"""
    assert program(source).stdout == "True\n"


def test_calls_at_the_end_say_so(program: Program) -> None:
    source = """
import atexit, belljar
def late():
    try: belljar.run('1')
    except belljar.SetupError as error: print('told:', error.message)
atexit.register(late)
belljar.run('1')
def early(): print('early', belljar.run('print(1)').stdout.strip())
atexit.register(early)
"""
    told = program(source)
    assert told.stdout == "early 1\ntold: the interpreter is shutting down, and belljar's agent is gone\n"
    # A first use that late.
    told = program(
        "import atexit, belljar\n@atexit.register\ndef _():\n    print(belljar.run('print(1)').stdout)", check=False
    )
    assert told.stdout == "1\n\n" or "the interpreter is shutting down" in told.stderr


def test_a_daemon_thread_does_not_disturb_the_end(program: Program) -> None:
    source = """
import threading, time, belljar
belljar.run('1')
ready = threading.Event()
def work():
    try:
        belljar.run('print(1, flush=True); import time; time.sleep(60)', on_output=lambda *_: ready.set())
    except belljar.BelljarError: pass
threading.Thread(target=work, daemon=True).start()
ready.wait()
"""
    told = program(source)
    assert told.stderr == ""


def test_a_program_that_reaps_everything(program: Program) -> None:
    source = """
import os, signal, belljar
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass
signal.signal(signal.SIGCHLD, reap)
from belljar import _agent
belljar.run('1')
os.kill(_agent.current().child, signal.SIGKILL)
for _ in range(50):
    try: print(belljar.run('print(2)').stdout.strip()); break
    except belljar.SetupError: pass
"""
    assert program(source).stdout == "2\n"


@pytest.mark.parametrize("closed", [(0,), (0, 1, 2)])
def test_a_program_without_standard_streams(closed: tuple[int, ...], tmp_path: Path) -> None:
    result = tmp_path / "result"
    source = f"""
import os
for fd in {closed}: os.close(fd)
import belljar
open({str(result)!r}, 'w').write(belljar.run('print(1)').stdout)
"""
    subprocess.run([sys.executable, "-c", source], check=False, timeout=60)
    assert result.read_text() == "1\n"


def test_a_wrong_binary_is_named(program: Program, tmp_path: Path) -> None:
    fake = tmp_path / "belljar"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    source = "import belljar\ntry: belljar.run('1')\nexcept belljar.SetupError as error: print(error)"
    told = program(source, env={**os.environ, "BELLJAR_BIN": str(fake)})
    assert str(fake) in told.stdout
    told = program(source, env={**os.environ, "BELLJAR_BIN": "/nope"})
    assert "/nope" in told.stdout and "hint: unset it" in told.stdout
    missing = f"from belljar import _find\n_find.places = lambda: ['/nowhere/belljar']\n{source}"
    told = program(missing, env={name: value for name, value in os.environ.items() if name != "BELLJAR_BIN"})
    assert "looked at\n  /nowhere/belljar" in told.stdout
    # No index has it, or a stranger's has the name.
    assert "hint: install belljar again from its wheel or its folder" in told.stdout and "pip" not in told.stdout


def test_another_version_is_refused_with_both_named(program: Program) -> None:
    source = """
from belljar import _agent, _version
_agent.VERSION = '9.9.9'
import belljar
try: belljar.run('1')
except belljar.SetupError as error: print(error)
"""
    told = program(source).stdout
    assert "9.9.9" in told and "0.1.0" in told and str(BINARY) in told


@pytest.mark.parametrize(("platform", "fix"), [("darwin", "limactl"), ("win32", "WSL"), ("freebsd13", "Linux 5.12")])
def test_elsewhere_it_imports_and_says_what_to_do(program: Program, platform: str, fix: str) -> None:
    source = f"""
import sys, belljar
sys.platform = {platform!r}
try: belljar.run('1')
except belljar.SetupError as error: print(error)
"""
    told = program(source).stdout
    assert "needs a Linux kernel" in told and fix in told
