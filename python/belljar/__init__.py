"""belljar runs Python that you did not write: every call a fresh process under glass."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._decorator import sandbox as sandbox
    from ._errors import BelljarError as BelljarError
    from ._errors import DependencyError as DependencyError
    from ._errors import GuestError as GuestError
    from ._errors import JobCancelled as JobCancelled
    from ._errors import LimitExceeded as LimitExceeded
    from ._errors import MemoryExceeded as MemoryExceeded
    from ._errors import PolicyError as PolicyError
    from ._errors import Refused as Refused
    from ._errors import SetupError as SetupError
    from ._errors import TimeoutExceeded as TimeoutExceeded
    from ._errors import ValueRefused as ValueRefused
    from ._executor import SandboxExecutor as SandboxExecutor
    from ._find import find as find
    from ._outcome import File as File
    from ._outcome import Outcome as Outcome
    from ._parse import ParsedError as ParsedError
    from ._parse import parse_error as parse_error
    from ._policy import Policy as Policy
    from ._run import arun as arun
    from ._run import arun_command as arun_command
    from ._run import arun_file as arun_file
    from ._run import run as run
    from ._run import run_command as run_command
    from ._run import run_file as run_file
    from ._sandbox import Sandbox as Sandbox
    from ._sandboxed import Sandboxed as Sandboxed
    from ._values.kept import Kept as Kept
    from ._values.kept import keep as keep
    from ._verdict import outcome_of as outcome_of
    from ._warm import Statistics as Statistics
    from ._warm import Warmed as Warmed
    from ._warm import statistics as statistics

# Where each name comes from. Nothing is imported before it is used: `import belljar` costs next to nothing.
_NAMES = {
    "_decorator": "sandbox",
    "_errors": "BelljarError DependencyError GuestError JobCancelled LimitExceeded MemoryExceeded PolicyError Refused"
    " SetupError TimeoutExceeded ValueRefused",
    "_executor": "SandboxExecutor",
    "_find": "find",
    "_outcome": "File Outcome",
    "_parse": "ParsedError parse_error",
    "_policy": "Policy",
    "_run": "arun arun_command arun_file run run_command run_file",
    "_sandbox": "Sandbox",
    "_values.kept": "Kept keep",
    "_verdict": "outcome_of",
    "_version": "VERSION",
    "_warm": "Statistics Warmed statistics",
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}
_WHERE["__version__"] = "_version"

__all__ = sorted(name for name in _WHERE if name not in ("VERSION", "__version__"))  # noqa: PLE0605


def __getattr__(name: str) -> object:
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'belljar' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"belljar.{module}"), "VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
