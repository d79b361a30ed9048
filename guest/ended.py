"""What follows when a job ends with an exception: a frame to the host, and an end as in plain Python."""

import sys

RAISED, EXITED = 2, 3
TRACE = BaseException.__dict__["__traceback__"]


def ended(error, job, display, send, part, ours):
    """`part` is None in a child that the job forked: it ends in the same way, and tells the host nothing."""
    trace = stripped(error, ours)
    if issubclass(type(error), SystemExit):
        absent = missing_module(error)
        if absent is not None and part is not None:
            return send(RAISED, part("report", absent, None, job, display))
        return send(EXITED, b'{"code": %d}' % exit_code(error))
    if "source" in job and trace is not None:
        job.setdefault("code", trace.tb_frame.f_code)
    # First of all, so that it is there even if the report finds no memory.
    hook = getattr(sys, "excepthook", None)
    missing = hook is None
    sys.excepthook = nothing if "quiet" in job else show(display if missing else hook, trace)
    if part is not None:
        send(RAISED, part("report", error, trace, job, display))
    if missing:
        sys.stderr.write("sys.excepthook is missing\n")


def stripped(error, ours):
    """Its traceback, from which the frames that are ours are taken away."""
    trace = TRACE.__get__(error)
    while trace is not None and id(trace.tb_frame.f_globals) in ours:
        trace = trace.tb_next
    TRACE.__set__(error, trace)
    return trace


def missing_module(error):
    """The module that -m did not find, as the exception that it is: the host knows how to get it. Python only exits."""
    try:
        program, _, name = error.code.rpartition(": No module named ")
        name = name.strip("')")
        if sys.argv[0] == "-m" and program.startswith(sys.executable) and name.replace(".", "").isidentifier():
            return ModuleNotFoundError(f"No module named {name!r}", name=name)
    except BaseException:
        # Whatever the job has put there, it is no text of runpy's.
        pass
    return None


def exit_code(error):
    try:
        code = 0 if error.code is None else int.__add__(error.code, 0)
    except BaseException:
        return 1
    return code if -(1 << 31) <= code < 1 << 31 else -1


def nothing(*_):
    """A call's exception is raised at the host, which shows it if nobody catches it."""


def show(hook, trace):
    def excepthook(kind, value, _):
        # The interpreter comes with a traceback that has our own frame in it.
        sys.excepthook = hook
        sys.last_traceback = trace
        TRACE.__set__(value, trace)
        hook(kind, value, trace)

    return excepthook
