"""From an outcome to the error that stands for it."""

from __future__ import annotations

from . import _errors as errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._outcome import Outcome

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


def signal_name(number: int | None) -> str:
    """A signal by its name, if it has one."""
    import signal

    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
