"""Who reads the agent's answers, and that nothing is lost whoever is interrupted meanwhile."""

from __future__ import annotations

import operator
import os
import signal
import socket
import sys
import threading
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from support import until

from belljar import _agent, _frames, _reader, sandbox
from belljar._reader import Reader


def double(x: int) -> int:
    return x * 2


def switches(thread: int) -> int:
    """How often a thread has gone to sleep."""
    text = Path(f"/proc/self/task/{thread}/status").read_text()
    return int(text.split("voluntary_ctxt_switches:")[1].split()[0])


def asleep() -> None:
    until(lambda: not _agent.current().reader.waiting and not _agent.current().reader.holder())


def test_a_caller_that_is_alone_reads_for_itself() -> None:
    called = sandbox(double)
    called(1)
    called(1)
    asleep()
    thread = _agent.current()._thread.native_id
    assert thread is not None
    before = switches(thread)
    assert [called(number) for number in range(10)] == list(range(0, 20, 2))
    assert switches(thread) == before
    # Several at once have the thread for it.
    assert list(called.map(range(8))) == list(range(0, 16, 2))
    assert switches(thread) > before


def test_a_call_from_where_output_is_told_of() -> None:
    told: list[Any] = []
    inner = sandbox(double)

    def on_output(stream: str, text: str) -> None:
        told.append((stream, text, inner(len(told))))

    @sandbox(on_output=on_output)
    def prints() -> int:
        print("one", flush=True)
        print("two", flush=True)
        return 3

    assert prints() == 3
    assert "".join(text for _, text, _ in told) == "one\ntwo\n"
    assert [number for _, _, number in told] == list(range(0, 2 * len(told), 2))


def test_an_agent_that_dies_between_two_calls_is_replaced() -> None:
    called = sandbox(double)
    assert called(1) == 2
    asleep()
    agent = _agent.current()
    os.kill(agent.child, signal.SIGKILL)
    until(lambda: agent.ended is not None)
    assert called(2) == 4
    assert _agent.current() is not agent


def test_frames_are_for_one_alone_or_left_to_the_thread() -> None:
    one, _ = _frames.encode(_frames.VALUE, 7, {"last": True}, [b"abc"])
    other, _ = _frames.encode(_frames.OUTPUT, 8, {"stream": "stdout"}, [b"x"])
    found = _frames.own(one + one, 7)
    assert found is not None
    assert [(frame.kind, bytes(frame.body), frame.is_last()) for frame in found] == [(_frames.VALUE, b"abc", True)] * 2
    for bad in (one + other, other, one[:-1], one[:10], one + one[:3], one[:2] + b"\1" + one[3:], b"\0" * 24):
        assert not _frames.own(bad, 7)


INTERRUPTED = """
import random, signal, sys, threading, time
from belljar import sandbox

class Alarm(BaseException):
    pass

def alarm(*_):
    raise Alarm

@sandbox
def double(x):
    return x * 2

@sandbox
def prints(x):
    print(x, flush=True)
    return x

double(1)
signal.signal(signal.SIGALRM, alarm)
wrong, done, stop = [], [0, 0], threading.Event()

def other():
    while not stop.is_set():
        number = done[1]
        if double(number) != 2 * number:
            wrong.append(number)
        done[1] += 1

thread = threading.Thread(target=other)
interrupted = 0
random.seed(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
for turn in range(60):
    if turn == 20:
        thread.start()
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.01))
            if double(turn) != 2 * turn or prints(turn) != turn:
                wrong.append(turn)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Alarm:
        interrupted += 1
# Whatever was cut short, everybody is still served: the other thread, and this one.
now = done[1]
end = time.monotonic() + 60
while done[1] < now + 5 and time.monotonic() < end:
    time.sleep(0.01)
stop.set()
thread.join()
print("", file=sys.stderr)
print(wrong, interrupted > 5, done[1] >= now + 5, double(21), file=sys.stderr)
"""


def test_an_interrupt_at_any_moment_loses_nothing_of_others(program: Any) -> None:
    told = program(INTERRUPTED)
    assert told.stderr.splitlines()[-1] == "[] True True 42"


class Wire:
    """A reader on a socket of its own, and the thread that reads for those who do not."""

    def __init__(self) -> None:
        self.near, self.far = socket.socketpair()
        self.reader = Reader(self.near, lambda _: None, lambda _: None)
        self.thread = threading.Thread(target=self.reader.serve, daemon=True)
        self.thread.start()

    def expect(self, number: int) -> SimpleQueue[Any]:
        inbox: SimpleQueue[Any] = SimpleQueue()
        self.reader.waiting[number] = inbox.put
        return inbox

    def say(self, *numbers: int) -> None:
        self.far.sendall(
            b"".join(_frames.encode(_frames.VALUE, number, {"last": True}, [b"x"])[0] for number in numbers)
        )

    def close(self) -> None:
        self.far.close()
        self.thread.join(30)
        assert not self.thread.is_alive()
        self.near.close()


def interrupted(step: int, action: Any) -> bool:
    """Has a KeyboardInterrupt come before the `step`th instruction of the reader; whether there are so many."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != _reader.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count >= step


@pytest.mark.parametrize("together", [True, False])
def test_an_interrupt_before_any_instruction_loses_nothing_of_others(together: bool) -> None:
    step = 1
    while True:
        wire = Wire()
        mine, other = wire.expect(1), wire.expect(2)
        wire.say(*((1, 2) if together else (1,)))
        more = interrupted(step, partial(wire.reader.next, 1, mine))
        # As a request does when its caller is gone.
        with wire.reader.lock:
            if 1 in wire.reader.waiting:
                wire.reader.waiting[1] = _agent.dropped
        wire.reader.ring()
        if not together:
            wire.say(2)
        assert other.get(timeout=30).is_last(), step
        third = wire.expect(3)
        wire.say(3)
        assert wire.reader.next(3, third).is_last(), step
        until(partial(operator.not_, wire.reader.waiting))
        assert other.empty()
        assert third.empty()
        wire.close()
        if not more:
            break
        step += 1
    assert step > 50


def test_who_has_its_answer_sees_to_those_who_wait() -> None:
    wire = Wire()
    mine, other = wire.expect(1), wire.expect(2)
    first = threading.Thread(target=wire.reader.next, args=(1, mine))
    first.start()
    until(lambda: wire.reader.holder() == first.ident)
    second = threading.Thread(target=wire.reader.next, args=(2, other))
    second.start()
    wire.say(1)
    first.join(30)
    wire.say(2)
    second.join(30)
    assert not first.is_alive()
    assert not second.is_alive()
    wire.close()


def test_many_threads_at_once() -> None:
    called = sandbox(double)
    wrong: list[int] = []

    def many(start: int) -> None:
        wrong.extend(number for number in range(start, start + 5) if called(number) != 2 * number)

    threads = [threading.Thread(target=many, args=(100 * index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    asleep()
