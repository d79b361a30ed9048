"""Imports what a template shall have ready, and looks at what each import leaves behind that workers would share."""

import posix
import sys
from time import perf_counter, sleep

TEXT, ENTRIES = 400, 16
WORK = "/jar"
# How often, and how long each time, threads that are told to end are waited for.
LOOKS, PAUSE = 50, 0.002


def preload(names, flush, tell):
    """A line of report for each module, in their order."""
    seen = Traces()
    return [one(name, seen, flush, tell) for name in names]


def one(name, seen, flush, tell):
    # One that never ends can be named.
    tell({"importing": name})
    error, start = None, perf_counter()
    try:
        __import__(name)
    except BaseException as fault:
        error = f"{type(fault).__name__}: {text(fault)}"[:TEXT]
    seconds = perf_counter() - start
    flush()
    settle()
    return {"name": name, "error": error, "seconds": seconds, **seen.new()}


def settle():
    """Lets libraries end the threads that they end at every fork and start again at need.

    OpenBLAS does, which has one for each further processor. What is left afterwards would be missing in a worker.
    """
    if len(threads()) == 1:
        return
    import warnings

    with warnings.catch_warnings():
        # That there are threads at a fork is what this is about.
        warnings.simplefilter("ignore")
        child = posix.fork()
        if child == 0:
            posix._exit(0)
    posix.waitpid(child, 0)
    for _ in range(LOOKS):
        if len(threads()) == 1:
            return
        sleep(PAUSE)


def text(fault):
    try:
        return str(fault)
    except BaseException:
        return "<exception str() failed>"


class Traces:
    """Threads, mappings, descriptors and processes that were not there at the last look."""

    def __init__(self):
        self.before = self.look()

    def new(self):
        now, before = self.look(), self.before
        self.before = now
        return {
            kind: [line[:TEXT] for key, line in now[kind].items() if key not in before[kind]][:ENTRIES] for kind in now
        }

    def look(self):
        found = {"threads": threads(), "shared": shared(), "descriptors": descriptors()}
        return {**found, "processes": processes(found["threads"])}


def threads():
    found = {}
    for tid in posix.listdir("/proc/self/task"):
        try:
            found[tid] = f"{contents(f'/proc/self/task/{tid}/comm').strip()} ({tid})"
        except OSError:
            pass
    return found


def shared():
    """Memory that would be one and the same in all workers."""
    lines = [line for line in contents("/proc/self/maps").splitlines() if line.split(" ", 2)[1] == "rw-s"]
    return {line.split(" ", 1)[0]: line for line in lines}


def descriptors():
    found = {}
    for number in posix.listdir("/proc/self/fd"):
        try:
            link = posix.readlink(f"/proc/self/fd/{number}")
        except OSError:
            # The one with which the folder was read.
            continue
        found[number, link] = f"{number} -> {link}"
    return found


def enter():
    """To where jobs work, unless the policy has no such folder. No worker sees this one: an import that writes there
    must fail, so that jobs do it themselves."""
    try:
        posix.chdir(WORK)
        posix.chmod(WORK, 0o555)
    except OSError:
        pass


def processes(threads):
    """Children: each is one thread's."""
    found = {}
    for tid in threads:
        try:
            for pid in contents(f"/proc/self/task/{tid}/children").split():
                found[pid] = f"{contents(f'/proc/{pid}/comm').strip()} ({pid})"
        except OSError:
            # It has ended, or this kernel has no such list.
            pass
    return found


def contents(path):
    descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        chunks = []
        while chunk := posix.read(descriptor, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks).decode("utf-8", "replace")
    finally:
        posix.close(descriptor)


class Exits:
    """What is registered with atexit while modules are loaded.

    A handler of a third party shuts down what it opened at import, which belongs to the template; it must not run in
    each worker. Those of the standard library look after what the job does, and would run in a cold run too.
    """

    def __init__(self):
        self.atexit = __import__("atexit")
        self.register, self.foreign = self.atexit.register, []

    def __enter__(self):
        def register(function, /, *args, **kwargs):
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.partition(".")[0] not in sys.stdlib_module_names:
                self.foreign.append(function)
            return self.register(function, *args, **kwargs)

        self.atexit.register = register

    def __exit__(self, *_):
        self.atexit.register = self.register
        for function in self.foreign:
            self.atexit.unregister(function)
