"""From an outcome to the error that stands for it."""

from __future__ import annotations

import builtins
from contextlib import suppress

from . import _errors as errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ._outcome import Outcome

# No class of the user's own is asked, which may have attributes of these names.
DICT, CAUSE, CONTEXT, SUPPRESS = (
    BaseException.__dict__[name] for name in ("__dict__", "__cause__", "__context__", "__suppress_context__")
)
#: Where an exception that is no GuestError keeps its outcome: in its own dict. It need not have a hash or take a weak
#: reference.
KEPT = "__belljar_outcome__"

ENDS = {
    "memory": ("the guest hit its memory limit", "give it more with memory=, or have it use less"),
    "cpu": ("the guest used up its processor time", "give it more with cpu_seconds="),
    "processes": ("the guest hit its limit on processes and threads", "give it more with pids="),
    "disk": ("the guest filled its disk", "give it more with disk="),
    "files": ("the guest hit a limit on files", "give it more with inodes=, open_files= or file_size="),
    "output": ("the guest wrote more than is kept", "keep more with output="),
}


def error(outcome: Outcome) -> errors.GuestError | None:
    """The error, or None for a good end. A cancelled job is not the guest's failure."""
    told = outcome._exception
    found: errors.GuestError
    if outcome.status == "timed_out":
        found = errors.TimeoutExceeded(
            f"the guest ran into its deadline after {outcome.usage.wall:.3g} s", "give it more with timeout="
        )
    elif outcome.status == "out_of_memory":
        found = errors.MemoryExceeded("the guest outgrew its memory and was killed", ENDS["memory"][1])
    elif told is not None and (outcome.status == "raised" or told["type"] == "KeyboardInterrupt"):
        # The latter ends Python by a signal to itself.
        found = errors.raised(told)
    elif outcome.status == "raised":
        found = errors.GuestError("the guest raised an exception")
    elif outcome.status == "signalled":
        found = errors.GuestError(f"the guest was ended by {signal_name(outcome.signal)}")
        if outcome.limit == "cpu":
            found = errors.LimitExceeded(*ENDS["cpu"])
    elif outcome.status == "exited" and outcome.exit_code:
        found = errors.GuestError(f"the guest exited with code {outcome.exit_code}")
    else:
        return None
    if isinstance(found, errors.LimitExceeded):
        found.limit = outcome.limit
        if told is not None:
            # Where the code was when its time was up.
            found.traceback, found.line = told.get("traceback"), told.get("line")
    elif found.hint is None and outcome.limit in ENDS:
        found.hint = "; ".join(ENDS[outcome.limit])
    found.exit_code, found.signal = outcome.exit_code, outcome.signal
    found.outcome = outcome
    return found


def whole(outcome: Outcome, found: errors.GuestError) -> Exception:
    """What is raised for it: an instance of the user's own class where that may be made, with all that led to it."""
    chain = (outcome._exception or {}).get("chain")
    if not chain or found.type_name is None:
        return found
    made: list[Exception] = []
    for link in chain:
        error = again(outcome, link, made, found if link is chain[-1] else None)
        # A cause that is set hides the context.
        for slot, place in (CAUSE, link["cause"]), (CONTEXT, link["context"]):
            if place is not None:
                slot.__set__(error, made[place])
        SUPPRESS.__set__(error, link["suppress"])
        made.append(keep(error, outcome))
    return made[-1]


def again(outcome: Outcome, link: dict[str, Any], made: list[Exception], last: errors.GuestError | None) -> Exception:
    """The exception of one link, of which `last` is the GuestError if it is the one that ended the job."""
    error = outcome._known.make(link) if outcome._known is not None else None
    if error is not None:
        if last is not None:
            DICT.__get__(error).setdefault("__notes__", []).extend(last.__dict__["__notes__"])
        return error
    guest = last or linked(link)
    if link.get("members") and hasattr(builtins, "ExceptionGroup"):
        from ._group import GuestExceptionGroup

        left = [name for name in link["left"] if name.startswith("exceptions[")]
        if left:
            guest.__dict__["__notes__"].append(errors.printable(f"belljar left out members: {', '.join(left)}"))
        return GuestExceptionGroup(link["message"], [made[place] for place in link["members"]], guest.__dict__)
    return guest


def linked(link: dict[str, Any]) -> errors.GuestError:
    """The GuestError of a link."""
    from ._own import Lie, is_field, plain

    module, name = next(iter(link["classes"]), ("builtins", next(iter(link["bases"]), "Exception")))
    told = {name: value for name, value in link["fields"] if is_field(name, value)}
    told.update(type=name if module in ("builtins", "__main__") else f"{module}.{name}")
    told.update(message=link["message"], bases=link["bases"])
    with suppress(Lie):
        told["args"] = [plain(value, str) for value in link["args"]]
    error = errors.raised(told)
    error.__dict__["__notes__"] = [errors.printable(note) for note in link["notes"]]
    return error


def keep(error: Exception, outcome: Outcome) -> Exception:
    """The error, from which `outcome_of` gives the outcome."""
    DICT.__get__(error)[place_of(error)] = outcome
    return error


def outcome_of(error: BaseException) -> Outcome | None:
    """The outcome of the call that raised this exception. None if no call raised it."""
    found: Outcome | None = DICT.__get__(error).get(place_of(error))
    return found


def place_of(error: BaseException) -> str:
    return "outcome" if issubclass(type(error), errors.GuestError) else KEPT


def throw(error: Exception) -> NoReturn:
    """Raises it. What was handled when it was raised in the guest comes before what is handled here."""
    context, first = CONTEXT.__get__(error), error
    while context is not None and CONTEXT.__get__(first) is not None:
        first = CONTEXT.__get__(first)
    try:
        raise error
    finally:
        here = CONTEXT.__get__(error)
        if context is not None and here is not context:
            CONTEXT.__set__(first, here)
            CONTEXT.__set__(error, context)


def signal_name(number: int | None) -> str:
    """A signal by its name, if it has one."""
    import signal

    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
