"""Errors: closed, picklable, and helpful."""

from __future__ import annotations

import builtins
import copy
import pickle

import pytest

import belljar
from belljar import _errors


def test_all_errors_pickle() -> None:
    outcome = belljar.run("open('/nope')")
    error = outcome.exception
    assert isinstance(error, belljar.GuestError) and isinstance(error, FileNotFoundError)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.type_name, again.traceback, again.line) == (error.type_name, error.traceback, error.line)
    for kind in ("BelljarError DependencyError GuestError JobCancelled LimitExceeded MemoryExceeded PolicyError Refused"
                 " SetupError TimeoutExceeded ValueRefused").split():  # fmt: skip
        made = getattr(belljar, kind)("message", "hint")
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is type(made) and (again.message, again.hint) == ("message", "hint")


def test_limits_are_also_builtins() -> None:
    assert issubclass(belljar.TimeoutExceeded, TimeoutError) and issubclass(belljar.MemoryExceeded, MemoryError)
    assert issubclass(belljar.TimeoutExceeded, belljar.GuestError) and issubclass(belljar.ValueRefused, TypeError)


BUILTIN = sorted(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and not name.startswith("_")
)


@pytest.mark.parametrize("name", BUILTIN)
def test_the_class_for_every_builtin_is_safe_to_raise(name: str) -> None:
    made = _errors.mixed(name)
    assert issubclass(made, belljar.GuestError)
    assert not issubclass(made, (StopIteration, StopAsyncIteration, GeneratorExit, KeyboardInterrupt, SystemExit))
    if name not in (*_errors.TEXT_ERRORS, "BaseException", "GeneratorExit", "KeyboardInterrupt", "SystemExit",
                    "StopIteration", "StopAsyncIteration", "ExceptionGroup", "BaseExceptionGroup"):  # fmt: skip
        assert issubclass(made, getattr(builtins, name))
    error = made("text", "hint")
    assert str(error) == "text"
    assert type(pickle.loads(pickle.dumps(error))) is made


@pytest.mark.parametrize(
    "name", ["os.system", "__import__", "eval", "", "Exception\n", "builtins.ValueError", "type", "object"]
)
def test_a_guest_chooses_no_other_class(name: str) -> None:
    assert _errors.mixed(name) is belljar.GuestError


def test_a_note_shows_the_guests_traceback(program: object) -> None:
    source = "import belljar\nbelljar.run('def f():\\n    1/0\\nf()').check()"
    told = program(source, check=False)  # type: ignore[operator]
    assert told.returncode == 1
    assert "GuestZeroDivisionError: division by zero" in told.stderr
    import sys

    if sys.version_info >= (3, 11):
        assert "in the guest:" in told.stderr and "hint: the divisor is zero" in told.stderr


def test_for_model_says_what_to_do() -> None:
    text = belljar.run("import json\nprint('before')\njson.loads('{')\n").for_model()
    assert text.startswith("The code raised json.decoder.JSONDecodeError") or "JSONDecodeError" in text.splitlines()[0]
    assert "At line 3: json.loads('{')" in text and "stdout:\nbefore" in text
    assert "Traceback" not in text
    text = belljar.run("import urllib.request as u; u.urlopen('http://example.com')").for_model()
    assert "network" in text
    text = belljar.run("x = 1").for_model()
    assert "print what you want to see" in text
    text = belljar.run("print('a' * 100_000)").for_model(1000)
    assert len(text) < 1500 and "left out" in text
    text = belljar.run("while True: pass", timeout=0.2).for_model()
    assert "deadline" in text
    assert "exited with code 3" in belljar.run_command(["sh", "-c", "exit 3"]).for_model()


def test_hints_name_keywords_and_no_flags() -> None:
    for source, wanted in (
        ("import urllib.request as r; r.urlopen('http://example.com')", 'network="loopback"'),
        ("open('/home/me/data.csv')", 'mount=["/home/me/data.csv"]'),
        ("import requests", 'dependencies=["requests"]'),
        ("import cv2", 'dependencies=["opencv-python-headless"]'),
        ("import pip._nosuch", "dependencies="),
        ("!pip install -q six 'attrs>=2'", 'dependencies=["six", "attrs"]'),
        ("open('/usr/x', 'w')", 'mount=["SRC:DST:rw"]'),
    ):
        outcome = belljar.run(source)
        hint = outcome.exception.hint if outcome.exception else None
        assert hint and wanted in hint and "--" not in hint, hint
        # A model cannot change the policy.
        assert wanted not in outcome.for_model()


def test_a_class_of_the_guests_own_is_its_nearest_builtin() -> None:
    source = "class Odd(LookupError): pass\nclass Odder(Odd): pass\nraise Odder('a', 2)"
    error = belljar.run(source).exception
    assert isinstance(error, LookupError) and not isinstance(error, KeyError)
    assert error.type_name is not None and error.type_name.endswith("Odder") and error.args == ("a", 2)
    assert isinstance(belljar.run("import json; json.loads('{')").exception, ValueError)
    assert isinstance(belljar.run("b'\\xff'.decode()").exception, ValueError)
    missing = belljar.run("open('/nope')").exception
    assert isinstance(missing, FileNotFoundError) and (missing.errno, missing.filename) == (2, "/nope")
    again = pickle.loads(pickle.dumps(missing))
    assert (again.errno, again.filename, again.args) == (2, "/nope", missing.args)
    for name in ("StopIteration", "StopAsyncIteration", "KeyboardInterrupt", "GeneratorExit"):
        odd = belljar.run(f"class Own({name}): pass\nraise Own").exception
        assert isinstance(odd, belljar.GuestError)
        assert not isinstance(odd, (StopIteration, StopAsyncIteration, KeyboardInterrupt, GeneratorExit))
