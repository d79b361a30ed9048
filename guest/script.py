"""Runs a file, folder or archive by its path, or a module by its name."""

import marshal
import posix
import sys


def script(kind, origin, path, job, compiled, read):
    """Gives what to call, and with what. `path` is sys.path, or a list that nobody reads."""
    if kind == "module":
        sys.argv[0] = "-m"
        sys.orig_argv.insert(len(sys.orig_argv) - len(sys.argv), "-m")
        return module(path, posix.getcwd(), origin, True)
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


def module(path, first, name, alter_argv):
    path[:1] = [first]
    return __import__("runpy")._run_module_as_main, (name, alter_argv)
