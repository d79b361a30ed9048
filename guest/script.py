"""Runs a file, folder or archive by its path, a module by its name, or text."""

import marshal
import posix
import sys
from _imp import _fix_co_filename
from _warnings import filters


def script(kind, origin, path, job, read, given):
    """Gives what to call, and with what. The front of `path` is that of sys.path, or nobody reads it."""
    if kind == "module":
        sys.argv[0] = "-m"
        sys.orig_argv.insert(len(sys.orig_argv) - len(sys.argv), "-m")
        return module(path, posix.getcwd(), origin, True)
    if kind == "code":
        return text(origin, job, given("job"))
    file = origin if origin[:1] == "/" else f"{posix.getcwd()}/{origin}"
    real = sys.modules["os"].path.realpath(file)
    try:
        source = read(file)
    except IsADirectoryError:
        return module(path, real, "__main__", False)
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {file!r}: [Errno {error.errno}] {error.strerror}\n")
        raise SystemExit(2) from None
    if b"PK\5\6" in source[-65557:]:
        try:
            sys.modules["zipimport"].zipimporter(real)
            return module(path, real, "__main__", False)
        except ImportError:
            pass
    path[:1] = [real.rpartition("/")[0] or "/"]
    main, external = job["main"], sys.modules["_frozen_importlib_external"]
    main["__file__"], main["__cached__"] = file, None
    if file.endswith(".pyc") and source[:4] == external.MAGIC_NUMBER:
        main["__loader__"] = external.SourcelessFileLoader("__main__", file)
        return exec, (marshal.loads(source[16:]), main)
    main["__loader__"] = external.SourceFileLoader("__main__", file)
    job.update(file=file, source=source)
    job["code"] = code = compiled(source, file)
    return exec, (code, main)


def text(origin, job, source):
    file, main = "<stdin>", job["main"]
    if origin == "-":
        main["__file__"], main["__cached__"] = file, None
    else:
        # A coding cookie counts in a file, not in text.
        source, file = source.decode(), "<string>"
        sys.orig_argv.insert(len(sys.orig_argv) - len(sys.argv) + 1, source)
    job.update(file=file, source=source)
    job["code"] = code = compiled(source, file)
    if origin != "-" and sys.version_info >= (3, 13):
        linecache = __import__("linecache")
        linecache._register_code(code if hasattr(linecache, "_interactive_cache") else file, source, file)
    return exec, (code, main)


def module(path, first, name, alter_argv):
    path[:1] = [first]
    return __import__("runpy")._run_module_as_main, (name, alter_argv)


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
