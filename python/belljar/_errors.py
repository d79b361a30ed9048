"""What belljar raises. A guest can choose the name and the text of an exception, never a class of the host's but the
user's own exceptions (`_known.py`)."""

from __future__ import annotations

from ._hints import in_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._outcome import Outcome


def printable(text: str) -> str:
    """What belljar says itself may quote a guest, and a terminal obeys escape sequences and marks that reorder text:
    such characters become what they are written as in Python."""
    if text.isprintable():
        return text
    plain = [char if char.isprintable() or char in PLAIN else char.encode("unicode_escape").decode() for char in text]
    return "".join(plain)


# No-break and ideographic spaces are no trouble.
PLAIN = "\n\t\xa0\u3000"


class BelljarError(Exception):
    """The base class of all errors of belljar. Its text is safe to print, whatever a guest put into it."""

    def __init__(self, message: str = "", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = printable(message)
        self.hint = hint and printable(hint)

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, (type(self), None, self.message, dict(self.__dict__))


class SetupError(BelljarError):
    """belljar itself failed: no binary, no agent, a jar that it could not build. The hint is the fix."""


class Refused(SetupError):
    """This host cannot enforce what the policy requires. belljar never runs with less."""


class PolicyError(BelljarError, ValueError):
    """The policy is wrong, for example because the source of a mount does not exist."""


class DependencyError(BelljarError):
    """belljar could not install the requested packages."""


class ValueRefused(BelljarError, TypeError):
    """A value that cannot cross the glass. The message names its path and the fix."""


class JobCancelled(BelljarError):
    """The host cancelled the job, not the code that waits for it."""


class GuestError(BelljarError):
    """The guest failed: it raised, exited, died or hit a limit. Also an instance of the nearest built-in exception.

    `args`, `message`, `traceback` and `causes` hold the guest's own words; `str()` is safe to print.
    """

    #: The name of the exception's class in the guest, such as `"ZeroDivisionError"`, or None.
    type_name: str | None = None
    #: The traceback as the guest's Python prints it.
    traceback: str | None = None
    #: The line in the user's code; `column` is the column in it.
    line: int | None = None
    column: int | None = None
    #: What led to the exception, as `Type: message`, nearest first.
    causes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    #: The whole outcome of the run, if it is known.
    outcome: Outcome | None = None
    #: The built-in exception that it also is.
    _nearest: str | None = None

    def __str__(self) -> str:
        return printable(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        # These are no attributes of the object's dict, and no class that a pickle could name.
        beside: dict[str, Any] = {"args": self.args}
        if isinstance(self, OSError):
            beside.update(errno=self.errno, filename=self.filename)
        plain = GuestError if self._nearest else type(self)
        return rebuild, (plain, self._nearest, self.message, dict(self.__dict__), beside)


class LimitExceeded(GuestError):
    """A limit of the policy ended the run. `limit` names it."""

    limit: str | None = None


class TimeoutExceeded(LimitExceeded, TimeoutError):
    """The deadline ended the run."""


class MemoryExceeded(LimitExceeded, MemoryError):
    """The guest exceeded its memory limit and was killed."""


def rebuild(
    plain: type[BelljarError],
    name: str | None,
    message: str,
    state: dict[str, Any],
    beside: dict[str, Any] | None = None,
) -> BelljarError:
    """An error again, from its pickle."""
    # A syntax error is printed by what it was made with.
    error = (mixed(name) if name is not None else plain)(printable(message))
    error.__dict__.update(state)
    for key, value in (beside or {}).items():
        setattr(error, key, value)
    return error


# The closed list. Left out are StopIteration and StopAsyncIteration, which would end loops of the host, groups, whose
# members are objects, and what is no Exception. Unicode errors have parts that a guest must not choose: ValueErrors.
NEAREST = (
    "ArithmeticError AssertionError AttributeError BlockingIOError BrokenPipeError BufferError BytesWarning"
    " ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError"
    " DeprecationWarning EOFError EncodingWarning EnvironmentError Exception FileExistsError FileNotFoundError"
    " FloatingPointError FutureWarning IOError ImportError ImportWarning IndentationError IndexError"
    " InterruptedError IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError"
    " NotADirectoryError NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError"
    " ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError"
    " RuntimeWarning SyntaxError SyntaxWarning SystemError TabError TimeoutError TypeError UnboundLocalError"
    " UnicodeWarning UserWarning ValueError Warning ZeroDivisionError"
).split()
TEXT_ERRORS = ("UnicodeError", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError")
_made: dict[str, type[GuestError]] = {}


def mixed(name: str) -> type[GuestError]:
    """The class for an exception of this name: a GuestError, and the built-in of the closed list if it is one."""
    if name in TEXT_ERRORS:
        name = "ValueError"
    if name not in NEAREST:
        return GuestError
    made = _made.get(name)
    if made is None:
        import builtins

        # A name that this version of Python does not have yet is no more than a GuestError.
        builtin = getattr(builtins, name, Exception)
        bases = (GuestError,) if builtin is Exception else (GuestError, builtin)
        made = type(f"Guest{builtin.__name__}", bases, {"__module__": "belljar", "_nearest": name, "__doc__": None})
        made = _made.setdefault(name, made)
    return made


def raised(exception: dict[str, Any]) -> GuestError:
    """The error for an exception of a guest, which is data (docs/reference/outcome.md)."""
    name, message = str(exception["type"]), str(exception["message"])
    # A class of the guest's own says what it is derived from; the list above decides what of that counts.
    names = [name, *map(str, exception.get("bases") or ())]
    nearest = next((base for base in names if base in NEAREST or base in TEXT_ERRORS), name)
    error = mixed(nearest)(printable(message), in_python(exception.get("hint")))
    error.message, error.args = message, (message,)
    given = exception.get("args")
    if isinstance(given, list) and given:
        error.args = tuple(given)
    error.type_name = name
    error.traceback = exception.get("traceback")
    error.line, error.column = exception.get("line"), exception.get("column")
    error.causes = tuple(str(cause) for cause in exception.get("causes") or ())
    if isinstance(error, OSError):
        error.errno = exception.get("errno")
        error.filename = exception.get("filename")
    # Python 3.11 and later print notes below the traceback.
    notes = ["in the guest:\n" + printable(error.traceback.rstrip())] if error.traceback else []
    if error.hint:
        notes.append(f"hint: {error.hint}")
    error.__dict__["__notes__"] = notes
    return error


CODES: dict[str, type[BelljarError]] = {
    "policy": PolicyError,
    "dependencies": DependencyError,
    "refused": Refused,
    "cancelled": JobCancelled,
}


def fault(head: dict[str, Any]) -> BelljarError:
    """The error for an `error` frame of the agent."""
    return CODES.get(str(head.get("code")), SetupError)(str(head.get("message")), in_python(head.get("hint")))
