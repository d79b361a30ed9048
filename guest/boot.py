"""Runs one job as plain Python would, and tells the host on descriptor 3 how it ended.

Started as `python boot.py KIND ORIGIN [ARGS...]`, KIND one of code, script, module, call. Every import and every line
here is paid by every run, so this file takes builtins only; the files beside it load when they are needed.
"""

import builtins
import marshal
import posix
import sys
from _imp import _fix_co_filename
from _io import open_code
from _warnings import filters

# The job may replace any builtin; what is defined below keeps those that were here first.
__builtins__ = dict(vars(builtins))
folder, _, suffix = __file__.rpartition("/boot")
getpid, write, fstat, set_blocking = posix.getpid, posix.write, posix.fstat, posix.set_blocking
pid, display, exc_info = getpid(), sys.__excepthook__, sys.exc_info
trace_of, ours, job = BaseException.__dict__["__traceback__"], {id(globals()): globals()}, {}
# Given back when the job has used up its memory, so that a last frame can be sent.
spare = [None] * 8192
try:
    posix.set_inheritable(3, False)
    control = fstat(3)[1:3]
except OSError:
    control = None


def read(path):
    with open_code(path) as file:
        return file.read()


def part(name, *args):
    """Calls the function `name` of the file `name`, which is shipped in the same form as this one."""
    path = f"{folder}/{name}{suffix}"
    data = read(path)
    code = marshal.loads(data[16:]) if suffix == ".pyc" else compiled(data, path)
    scope = {"__name__": f"belljar.{name}", "__builtins__": __builtins__}
    ours[id(scope)] = scope
    exec(code, scope)
    return scope[name](*args)


class Compiled(Exception):
    pass


def compiled(source, file):
    """As compile does, which makes 100 classes of syntax tree at its first call: a millisecond that exec saves."""
    scope, before = {}, sys.gettrace()

    def catch(frame, event, arg):
        # A codec or an import may run too.
        if frame.f_globals is scope:
            raise Compiled(frame.f_code)

    # What is wrong or dubious must name the file, so that goes through compile after all.
    filters.insert(0, ("error", None, Warning, None, 0))
    sys.settrace(catch)
    try:
        exec(source, scope)
    except Compiled as found:
        _fix_co_filename(code := found.args[0], file)
        return code
    except (SyntaxError, ValueError):
        pass
    finally:
        sys.settrace(before)
        del filters[0]
    return compile(source, file, "exec", 0, True)


def send(kind, header=b"", body=b""):
    # A forked child must not speak for the job, nor a frame land in a file that took over the descriptor.
    try:
        if getpid() != pid or fstat(3)[1:3] != control:
            return
        sizes = len(header).to_bytes(4, "little") + len(body).to_bytes(8, "little")
        for data in b"%c\1\0\0%b%b" % (kind, sizes, header), body:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[write(3, rest) :]
                except BlockingIOError:
                    set_blocking(3, True)
    except OSError:
        pass


def start(kind, origin, args):
    """Makes sys and `__main__` look as in plain Python. Gives what to call, and with what."""
    sys.modules["__main__"] = module = type(sys)("__main__")
    job["main"] = main = module.__dict__
    main["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main["__annotations__"] = {}
    main["__builtins__"] = builtins
    flags = sys.orig_argv[: -len(sys.argv)]
    sys.argv = [origin, *args]
    sys.orig_argv = flags + sys.argv
    # Under -P or -I our folder is not in front, and plain Python puts nothing there either.
    path = [] if getattr(sys.flags, "safe_path", sys.flags.isolated) else sys.path
    path[:1] = [""]
    if kind == "call":
        return part("call", read(f"{folder}/job"), read(f"{folder}/args.json"), job)
    if kind != "code":
        return part("script", kind, origin, path, job, compiled, read)
    source, file = read(f"{folder}/job"), "<stdin>"
    if origin == "-":
        main["__file__"], main["__cached__"] = file, None
    else:
        # A coding cookie counts in a file, not in text.
        source, file = source.decode(), "<string>"
        sys.orig_argv.insert(len(flags) + 1, source)
    job.update(file=file, source=source)
    job["code"] = code = compiled(source, file)
    if origin != "-" and sys.version_info >= (3, 13):
        linecache = __import__("linecache")
        linecache._register_code(code if hasattr(linecache, "_interactive_cache") else file, source, file)
    return exec, (code, main)


def ended(error):
    """Tells what ended the job. The caller then raises it again, and the interpreter ends as it always does."""
    spare.clear()
    trace = trace_of.__get__(error)
    while trace is not None and id(trace.tb_frame.f_globals) in ours:
        trace = trace.tb_next
    trace_of.__set__(error, trace)
    if issubclass(type(error), SystemExit):
        try:
            code = 0 if error.code is None else int.__add__(error.code, 0)
        except BaseException:
            code = 1
        return send(3, b'{"code": %d}' % (code if -(1 << 31) <= code < 1 << 31 else -1))
    if getpid() == pid:
        try:
            header = part("report", error, trace, job, display)
        except BaseException:
            # No memory or stack is left to tell more.
            header = b'{"type_name": "%b", "message": "", "frames": [], "traceback": ""}'
            header %= type(error).__name__.encode() if type(error).__module__ == "builtins" else b"BaseException"
        send(2, header)
    if not (hook := getattr(sys, "excepthook", None)):
        hook = display
        sys.stderr.write("sys.excepthook is missing\n")

    def show(kind, value, _):
        # The interpreter comes with a traceback that has our own frame in it.
        sys.excepthook = hook
        sys.last_traceback = trace
        trace_of.__set__(value, trace)
        hook(kind, value, trace)

    sys.excepthook = show


def returned(value):
    # Only a call gives bytes.
    send(1, *((b'{"encoding": "json"}', value) if type(value) is bytes else ()))


if sys.stdout is not None:
    sys.stdout.reconfigure(line_buffering=True)
try:
    run, run_args = start(sys.argv[1], sys.argv[2], sys.argv[3:])
    value = run(*run_args)
except:  # the job may have replaced BaseException
    ended(exc_info()[1])
    raise
returned(value)
