"""Runs one job as plain Python would, and tells the host on descriptor 3 how it ended.

Started as `python boot.py KIND ORIGIN [ARGS...]`, KIND one of code, script, module, call, invoke, evaluate; with a plus
in front of it, it begins when the host says so. Every import and every line here is paid by every run, so this file
takes builtins only; the files beside it load when they are needed.
"""

import _imp
import builtins
import marshal
import posix
import sys
from _io import open_code

# The job may replace any builtin; what is defined below keeps those that were here first.
__builtins__ = dict(vars(builtins))
folder, _, suffix = __file__.rpartition("/boot")
getpid, write, fstat, set_blocking, close = posix.getpid, posix.write, posix.fstat, posix.set_blocking, posix.close
leave = posix._exit
# Kinds of frames, as docs/reference/wire.md has them.
RETURNED, RAISED, GO, PREFIX = 1, 2, 35, 16


def builtin(name):
    """A module made without the import system, which takes longer than all the rest."""
    there = sys.modules.get(name)
    if there is not None:
        return there
    named = type(sys.implementation)(name=name)  # type: ignore[call-arg]
    module = _imp.create_builtin(named) or __import__(name)  # type: ignore[arg-type]
    _imp.exec_builtin(module)
    sys.modules.pop(name, None)
    return module


display, exc_info, register = sys.__excepthook__, sys.exc_info, builtin("faulthandler").register
ours, parts, job, voice = {id(globals()): globals()}, {}, {}, []
# Given back when the job has used up its memory, so that a last frame can be sent. So large that it is mapped on its
# own, and no page of it is ever touched.
spare = [bytes(1 << 20)]


def attach():
    """From here on this process speaks for the job, over the socket that is descriptor 3 now."""
    voice[:] = getpid(), None
    try:
        posix.set_inheritable(3, False)
        voice[1] = fstat(3)[1:3]
        # When the time is up the host asks with this signal where the job is, and the answer is written by C code.
        register(64, 3, False)
    except OSError:
        pass


def read(path):
    with open_code(path) as file:
        return file.read()


def given(name):
    """What the host gives with the job: its text as `job`, the arguments of a call as `args.json`."""
    return read(f"{folder}/{name}")


def load(name):
    """Runs the file `name`, which is shipped in the same form as this one, and gives its names."""
    data = read(f"{folder}/{name}{suffix}")
    scope = {"__name__": f"belljar.{name}", "__builtins__": __builtins__}
    ours[id(scope)] = parts[name] = scope
    exec(marshal.loads(data[16:]) if suffix == ".pyc" else data, scope)
    return scope


def names(name):
    """The names of the file `name`."""
    return parts.get(name) or load(name)


def part(name, *args):
    """Calls the function `name` of the file `name`."""
    return names(name)[name](*args)


def send(kind, header=b"", body=b"", size=None, ship=None):
    """Where `ship` is given, it sends the first bytes with a descriptor, which has a body of `size` bytes."""
    # A forked child must not speak for the job, nor a frame land in a file that took over the descriptor.
    try:
        if [getpid(), fstat(3)[1:3]] != voice:
            return
        sizes = len(header).to_bytes(4, "little") + (size or len(body)).to_bytes(8, "little")
        head = b"%c\1%c\0%b%b" % (kind, ship is not None, sizes, header)
        # The host wakes up once for what is written at once; a long body is not copied for that.
        for data in (head, body) if len(body) > 4096 else (head + body,):
            rest = memoryview(data)
            while rest:
                try:
                    count = ship(rest) if ship else write(3, rest)
                    rest, ship = rest[count:], None
                except BlockingIOError:
                    set_blocking(3, True)
    except OSError:
        pass


def start(kind, origin, args):
    """Makes sys and `__main__` look as in plain Python. Gives what to call, and with what."""
    # A template has one from the start: what is preloaded may hold on to it.
    sys.modules["__main__"] = module = job.get("module") or type(sys)("__main__")
    job["main"] = main = module.__dict__
    main["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main["__annotations__"] = {}
    main["__builtins__"] = builtins
    flags = sys.orig_argv[: -len(sys.argv)]
    sys.argv = ["-c" if kind in ("invoke", "evaluate") else origin, *args]
    sys.orig_argv = flags + sys.argv
    # Under -P or -I our folder is not in front, and plain Python puts nothing there either.
    path = [] if getattr(sys.flags, "safe_path", sys.flags.isolated) else job.get("path", sys.path)
    path[:1] = [""]
    if "module" not in job:
        add_modules()
    if kind == "call":
        return part("call", given("job"), given("args.json"), job)
    if kind in ("invoke", "evaluate"):
        return part("invoke", kind, origin, job, names, send, reported)
    if kind != "code" or origin == "-" or sys.version_info >= (3, 13):
        return part("script", kind, origin, path, job, read, given)
    # The name that exec gives to text is the one it has under -c; and unlike compile, it makes no syntax tree classes.
    job["source"] = source = given("job").decode()
    sys.orig_argv.insert(len(flags) + 1, source)
    return exec, (source, main)


def add_modules():
    """Modules of the host that the sandbox was given are looked for last, the caller's own source files first; and its
    cloudpickle goes before any other."""
    for path, at in ("/modules", len(sys.path)), ("/own", 0):
        try:
            if path not in sys.path and posix.stat(path):
                sys.path.insert(at, path)
        except OSError:
            pass
    try:
        posix.stat("/modules/cloudpickle")
    except OSError:
        return
    sys.meta_path.insert(0, type(sys.implementation)(find_spec=find_cloudpickle))  # type: ignore[call-arg]
    # A `.pth` file of the guest's packages may have imported another.
    for name in [name for name in sys.modules if name.partition(".")[0] == "cloudpickle"]:
        del sys.modules[name]


def find_cloudpickle(name, path=None, target=None):
    """Finds the host's own, whatever else is installed: pickles name functions of the version that made them."""
    if name != "cloudpickle":
        return None
    return sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, ["/modules"])


def ended(error):
    """Tells what ended the job. The caller then raises it again, and the interpreter ends as it always does."""
    tell = "ended", error, job, display, send, part if getpid() == voice[0] else None, ours
    try:
        try:
            part(*tell)
        except OSError:
            # A job that has used up its descriptors gives its standard input for its last word.
            close(0)
            part(*tell)
    except BaseException:
        send(RAISED, least(error))


def least(error):
    """Where no memory or stack is left to tell more."""
    name = type(error).__name__.encode() if type(error).__module__ == "builtins" else b"BaseException"
    return b'{"type_name": "%b", "message": "", "frames": [], "traceback": ""}' % name


def reported(error):
    """What ended one of several calls, as a frame would tell it; the others go on."""
    try:
        return part("report", error, names("ended")["stripped"](error, ours), job, display)
    except BaseException:
        return least(error)


def returned(value):
    # Only a call gives bytes, and only what has a parcel gives a frame.
    if type(value) is not tuple:
        value = (RETURNED, b'{"encoding": "json"}', value) if type(value) is bytes else (RETURNED,)
    send(*value)


def main(kind, origin, args):
    """Runs the job; how it ends is told to the host, and then left to the interpreter."""
    try:
        run, run_args = start(kind, origin, args)
        value = run(*run_args)
    except:  # the job may have replaced BaseException
        # First of all: even to ask what was raised takes memory.
        spare.clear()
        ended(exc_info()[1])
        raise
    returned(value)


def collections():
    return [item["collections"] for item in gc.get_stats()[1:]]


def unnoticed():
    """Whether nobody would notice if the interpreter ended at once: to tidy up takes it longer than most jobs run.

    Handlers, threads, finalizers, open files and suspended generators would, and all that is not known not to.
    """
    source = job.get("source")
    hidden = (b"audit", b"INSPECT") if type(source) is bytes else ("audit", "INSPECT")
    if (
        source is None
        or any(word in source for word in hidden)
        or sys.version_info >= (3, 14)
        or collections() != settled
        or not known.issuperset(sys.modules)
        or not {"atexit", "threading"}.isdisjoint(sys.modules)
        or sys.modules["_thread"]._count()
        or (sys.stdout, sys.stderr) != streams
        or sys.gettrace()
        or sys.getprofile()
    ):
        return False
    left = gc.get_objects(0) + gc.get_objects(1)
    if len(left) > 1000:
        return False
    function, cell = type(builtin), type((lambda: left).__closure__[0])  # type: ignore[index]
    plain = {dict, list, tuple, set, frozenset, property, staticmethod, classmethod, function, cell}
    plain |= {type(item) for item in (sys, sys.__spec__, getpid, function.__code__, function.__globals__)}
    classes = [item for item in left if type(item) is type]
    if any(item.__bases__ != (object,) or "__del__" in item.__dict__ for item in classes):
        return False
    plain.update(classes, [type])
    ref = sys.modules["_weakref"].ref
    if any(type(item) not in plain and (type(item) is not ref or item.__callback__) for item in left):
        return False
    for stream in streams:
        stream.flush()
    return True


# A template loads this file for its functions.
if __name__ == "__main__":
    attach()
    if sys.stdout is not None:
        sys.stdout.reconfigure(line_buffering=True)
    kind, origin, *args = sys.argv[1:]
    if kind[0] == "+":
        # The host still looks whether the job may run, and says so.
        kind = kind[1:]
        posix.read(3, PREFIX)[:1] == b"%c" % GO or leave(1)
    gc = builtin("gc")
    # All that is there now is of the oldest generation then, so that what the job leaves can be told from it.
    gc.freeze()
    gc.unfreeze()
    settled, streams, known = collections(), (sys.stdout, sys.stderr), {*sys.modules, *sys.builtin_module_names}
    main(kind, origin, args)
    # What the interpreter would still tidy up goes with the jar. A call is over with its value.
    try:
        over = kind in ("call", "invoke") or unnoticed()
    except BaseException:
        over = False
    if over:
        leave(0)
