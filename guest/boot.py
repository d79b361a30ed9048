"""Runs one job as plain Python would, and tells the host on descriptor 3 how it ended.

Started as `python boot.py KIND ORIGIN [ARGS...]`, KIND one of code, script, module, call. Every import here is paid by
every run, so this file takes builtins only; report.py and call.py, beside it, load when they are needed.
"""

import builtins
import marshal
import posix
import sys
from _io import open_code

# The job may replace any builtin; what is defined below keeps those that were here first.
__builtins__ = dict(vars(builtins))

CONTROL, RETURNED, RAISED, EXITED = 3, 1, 2, 3
folder, _, suffix = __file__.rpartition("/boot")
getpid, write, fstat, set_blocking = posix.getpid, posix.write, posix.fstat, posix.set_blocking
pid, display, exc_info = getpid(), sys.__excepthook__, sys.exc_info
ours, job = {id(globals()): globals()}, {}
try:
    posix.set_inheritable(CONTROL, False)
    control = fstat(CONTROL)[1:3]
except OSError:
    control = None


def read(path):
    with open_code(path) as file:
        return file.read()


def part(name):
    """The function `name` of the file `name`, which is shipped in the same form as this one."""
    path = f"{folder}/{name}{suffix}"
    data = read(path)
    code = marshal.loads(data[16:]) if suffix == ".pyc" else compile(data, path, "exec", 0, True)
    scope = {"__name__": f"belljar.{name}", "__builtins__": __builtins__}
    ours[id(scope)] = scope
    exec(code, scope)
    return scope[name]


def send(kind, header=b"", body=b""):
    # A forked child must not speak for the job, nor a frame land in a file that took over the descriptor.
    try:
        if getpid() != pid or fstat(CONTROL)[1:3] != control:
            return
        sizes = len(header).to_bytes(4, "little") + len(body).to_bytes(8, "little")
        for data in b"%c\1\0\0%b%b" % (kind, sizes, header), body:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[write(CONTROL, rest) :]
                except BlockingIOError:
                    set_blocking(CONTROL, True)
    except OSError:
        pass


def returned(value):
    if type(value) is bytes:
        send(RETURNED, b'{"encoding": "json"}', value)
    else:
        send(RETURNED)


def raised(error):
    """Reports what ended the job. The caller then raises it again, and the interpreter ends as it always does."""
    trace = error.__traceback__
    while trace is not None and id(trace.tb_frame.f_globals) in ours:
        trace = trace.tb_next
    error.__traceback__ = trace
    if issubclass(type(error), SystemExit):
        return send(EXITED, b'{"code": %d}' % exit_code(error))
    if getpid() == pid:
        try:
            header = part("report")(error, job, display)
        except BaseException:
            header = minimal(error)
        send(RAISED, header)
    if not (hook := getattr(sys, "excepthook", None)):
        hook = display
        sys.stderr.write("sys.excepthook is missing\n")

    def show(kind, value, _):
        # The interpreter comes with a traceback that has our own frame in it.
        sys.excepthook = hook
        sys.last_traceback = value.__traceback__ = trace
        hook(kind, value, trace)

    sys.excepthook = show


def exit_code(error):
    try:
        if error.code is None:
            return 0
        code = int.__add__(error.code, 0)
        return code if -(1 << 31) <= code < 1 << 31 else -1
    except BaseException:
        return 1


def minimal(error):
    """For when there is no memory or stack left to tell more."""
    try:
        name = type(error).__name__
        name = name.encode() if name.isascii() and name.isidentifier() else b"BaseException"
    except BaseException:
        name = b"BaseException"
    return b'{"type_name": "%b", "message": "", "line": null, "column": null, "frames": [], "traceback": ""}' % name


def start(kind, origin, args):
    """Makes sys and `__main__` look as in plain Python. Gives what to call, and with what."""
    module = type(sys)("__main__")
    main = job["main"] = module.__dict__
    main["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    if sys.version_info < (3, 14):
        main["__annotations__"] = {}
    main["__builtins__"] = builtins
    sys.modules["__main__"] = module
    flags = sys.orig_argv[: -len(sys.argv)]
    sys.argv = [origin, *args]
    sys.orig_argv = flags + sys.argv
    if kind == "script":
        return script(origin, main)
    if kind == "module":
        sys.argv[0] = "-m"
        sys.orig_argv.insert(len(flags), "-m")
        return package(posix.getcwd(), origin, True)
    source = read(f"{folder}/job")
    put_path("")
    if kind == "call":
        return part("call"), (source, read(f"{folder}/args.json"), job)
    if origin == "-":
        main["__file__"], main["__cached__"] = "<stdin>", None
        return compiled(source, "<stdin>", main)
    # A coding cookie counts in a file, not in text.
    source = source.decode()
    sys.orig_argv.insert(len(flags) + 1, source)
    run = compiled(source, "<string>", main)
    if sys.version_info >= (3, 13):
        linecache = __import__("linecache")
        by_code = hasattr(linecache, "_interactive_cache")
        linecache._register_code(job["code"] if by_code else "<string>", source, "<string>")
    return run


def script(origin, main):
    path = origin if origin[:1] == "/" else f"{posix.getcwd()}/{origin}"
    real = sys.modules["os"].path.realpath(path)
    try:
        source = read(path)
    except IsADirectoryError:
        return package(real, "__main__", False)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    if b"PK\5\6" in source[-65557:]:
        try:
            sys.modules["zipimport"].zipimporter(real)
            return package(real, "__main__", False)
        except ImportError:
            pass
    put_path(real.rpartition("/")[0] or "/")
    external = sys.modules["_frozen_importlib_external"]
    main["__file__"], main["__cached__"] = path, None
    if path.endswith(".pyc") and source[:4] == external.MAGIC_NUMBER:
        main["__loader__"] = external.SourcelessFileLoader("__main__", path)
        return exec, (marshal.loads(source[16:]), main)
    main["__loader__"] = external.SourceFileLoader("__main__", path)
    return compiled(source, path, main)


def compiled(source, file, main):
    job["file"], job["source"] = file, source
    job["code"] = code = compile(source, file, "exec", 0, True)
    return exec, (code, main)


def package(first, name, alter_argv):
    put_path(first)
    return __import__("runpy")._run_module_as_main, (name, alter_argv)


def put_path(first):
    # Under -P or -I our folder is not in front, and plain Python puts nothing there either.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path[0] = first


try:
    sys.stdout.reconfigure(line_buffering=True)
except AttributeError:
    # No standard output at all.
    pass
try:
    run, run_args = start(sys.argv[1], sys.argv[2], sys.argv[3:])
    value = run(*run_args)
except:  # noqa: E722 - the job may have replaced BaseException
    raised(exc_info()[1])
    raise
returned(value)
