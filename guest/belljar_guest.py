"""What `import belljar` gives inside a jar: the names that guest code may use, and nothing that starts another jar.

Modules of the caller's own import more of the package than a guest can use. Those names are here too, so that such an
import works: exceptions can be caught and classes be named, and whoever uses anything else is told.
"""

__name__ = "belljar"
__all__ = ["keep", "sandbox"]
OUTSIDE = "belljar inside a jar has only keep and sandbox; run it outside"


class Keep:
    """An object on its way to the host, which gets a token for it."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"belljar.keep({self.value!r})"


def keep(value):
    """Returned from a guest, the host gets a token that a later call may open, and never the object itself."""
    return value if type(value) is Keep else Keep(value)


def Kept(data):
    """Opens a token; called while the arguments of a call are read."""
    from _pickle import loads

    return loads(data)


def _once(make, *given):
    """A class that is in several pickles is made for the first of them."""
    from cloudpickle import cloudpickle

    known = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(given[-2])
    return make(*given) if known is None else known


def sandbox(function=None, /, **options):
    """In a jar already: the function as it is."""
    return function if function is not None else sandbox


class BelljarError(Exception):
    """Only the host raises it and those below."""


class SetupError(BelljarError):
    pass


class Refused(SetupError):
    pass


class PolicyError(BelljarError, ValueError):
    pass


class DependencyError(BelljarError):
    pass


class ValueRefused(BelljarError, TypeError):
    pass


class JobCancelled(BelljarError):
    pass


class GuestError(BelljarError):
    pass


class LimitExceeded(GuestError):
    pass


class TimeoutExceeded(LimitExceeded, TimeoutError):
    pass


class MemoryExceeded(LimitExceeded, MemoryError):
    pass


class Absent:
    """A module may make one when it is imported; nobody can do anything with it."""

    def __init__(self, *args, **options):
        pass

    def __getattr__(self, name):
        raise AttributeError(f"belljar.{type(self).__name__}.{name}: {OUTSIDE}")


def absent(name):
    def function(*args, **options):
        raise RuntimeError(f"belljar.{name}: {OUTSIDE}")

    return function


for each in "File Outcome ParsedError Policy Sandbox SandboxExecutor Sandboxed Statistics Warmed".split():
    globals()[each] = type(each, (Absent,), {})
for each in "arun arun_command arun_file find outcome_of parse_error run run_command run_file statistics".split():
    globals()[each] = absent(each)


def __getattr__(name):
    raise AttributeError(f"module 'belljar' has no attribute {name!r}: {OUTSIDE}")
