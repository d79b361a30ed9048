"""Turns an exception into the header of a `raised` frame: JSON, bounded, made without the standard library.

The job may have patched json, traceback or sys.modules, may have used up its memory, and may have written an exception
whose `__str__` fails. So nothing is imported, every text is cut, and every look at an object of the job is guarded.
"""

import posix
import sys
from _thread import get_ident

MESSAGE, TRACEBACK, SOURCE, FRAMES, CAUSES = 64 << 10, 256 << 10, 500, 100, 16
FILE_BYTES, NAMES, ARGS, HEADER = 4 << 20, 5, 16 << 10, 1 << 20
BUILTIN_ERRORS = {id(item) for item in __builtins__.values() if isinstance(item, type)}
ESCAPES = {number: f"\\u{number:04x}" for number in range(32)} | {10: "\\n", 34: '\\"', 92: "\\\\"}


def report(error, trace, job, display):
    limit = sys.getrecursionlimit()
    if limit < 1000:
        sys.setrecursionlimit(1000)
    try:
        fields = gather(error, trace, job, display)
        header = dump(fields).encode()
        if len(header) <= HEADER:
            return header
        frames = fields["frames"]
        fields.update(frames=frames[:5] + frames[5:][-5:], args=None, message=cut(fields["message"], MESSAGE // 16))
        fields.update(traceback=cut(fields["traceback"], TRACEBACK // 8))
        return dump(fields).encode()
    finally:
        sys.setrecursionlimit(limit)


def gather(error, trace, job, display):
    sources = Sources(job)
    steps = points(trace)
    frames = [frame(code, line, lasti, sources) for code, line, lasti in steps]
    line, column = place(error, frames, [sources.mine(code) for code, _, _ in steps])
    return {
        "type_name": type_name(error),
        "message": message(error),
        "line": line,
        "column": column,
        "frames": frames,
        "hint": None,
        "traceback": cut(text(error, trace, job, display, sources), TRACEBACK),
        "names": guarded(nearest, error, default=[]),
        "errno": guarded(errno, error),
        "filename": guarded(filename, error),
        "causes": guarded(causes, error, default=[]),
        "bases": [bare_name(kind) for kind in type(error).__mro__ if id(kind) in BUILTIN_ERRORS and kind is not object],
        "args": guarded(plain_args, error),
        "chain": chain(error, job),
    }


def chain(error, job):
    """What a client needs to make it again. Jobs that came without a parcel have none that would."""
    try:
        return job["names"]("chain")["chain"](error, globals()) if "names" in job else []
    except BaseException:
        return []


def guarded(function, *args, default=None):
    try:
        return function(*args)
    except MemoryError:
        raise
    except BaseException:
        return default


def bare_name(kind):
    return type.__dict__["__name__"].__get__(kind)


def type_name(error):
    kind = type(error)
    own = str.__str__(type.__dict__["__qualname__"].__get__(kind))
    module = guarded(lambda: kind.__module__)
    if type(module) is not str or module in ("builtins", "__main__"):
        return cut(own, SOURCE)
    return cut(f"{module}.{own}", SOURCE)


def message(error):
    try:
        return cut(exact(str(error)), MESSAGE)
    except MemoryError:
        raise
    except BaseException:
        return "<exception str() failed>"


def exact(value):
    return str.__str__(value) if type(value) is str else str.__getitem__(value, slice(None))


def cut(value, most):
    """Head and tail of a text that is too long."""
    if len(value) <= most:
        return value
    head = most * 3 // 4
    return f"{value[:head]}\n[... {len(value) - most} characters left out ...]\n{value[len(value) - (most - head) :]}"


def points(trace):
    """The steps of a traceback, outermost first; of a deep recursion the first and the last."""
    first, last = [], []
    while trace is not None:
        code = trace.tb_frame.f_code
        point = code, trace.tb_lineno, trace.tb_lasti
        trace = trace.tb_next
        if len(first) < FRAMES // 2:
            first.append(point)
            continue
        last.append(point)
        if len(last) > FRAMES:
            del last[: FRAMES // 2]
    return first + last[-(FRAMES // 2) :]


def frame(code, line, lasti, sources):
    source = guarded(sources.line, code, line)
    column = guarded(start_column, code, line, lasti, source)
    return {
        "file": cut(code.co_filename, 4096),
        "line": line if type(line) is int and line > 0 else 0,
        "column": column,
        "function": cut(code.co_name, SOURCE),
        "source": source and source.strip()[:SOURCE],
    }


def start_column(code, line, lasti, source):
    for index, (start, _, column, _) in enumerate(code.co_positions()):
        if index * 2 == lasti:
            if column is None or start != line or source is None:
                return None
            return len(source.encode()[:column].decode("utf-8", "replace")) + 1


def place(error, frames, mine):
    """Line and column in the job's own code, or in what is nearest to it."""
    if issubclass(type(error), SyntaxError):
        line, column = guarded(lambda: (error.lineno, error.offset), default=(None, None))
        if type(line) is int and line > 0:
            return line, column if type(column) is int and column > 0 else None
    own = [item for item, is_mine in zip(frames, mine, strict=True) if is_mine]
    own = own or [item for item in frames if not installed(item["file"])] or frames
    return (own[-1]["line"], own[-1]["column"]) if own else (None, None)


def installed(file):
    if file[:1] == "<" or "/site-packages/" in file or "/dist-packages/" in file:
        return True
    return any(file.startswith(f"{prefix}/") for prefix in (sys.prefix, sys.base_prefix))


class Sources:
    """Lines of source: the job's own from memory, others from regular files of bounded size."""

    def __init__(self, job):
        self.files = {}
        self.own = set()
        self.job = job
        todo = [job[name] for name in ("code", "last") if name in job]
        while todo:
            code = todo.pop()
            self.own.add(id(code))
            todo.extend(item for item in code.co_consts if type(item) is type(code))
        source = job.get("source", "")
        self.lines = (source.decode("utf-8", "replace") if type(source) is bytes else source).splitlines()

    def mine(self, code):
        return id(code) in self.own

    def line(self, code, number):
        if self.mine(code):
            lines = self.lines
        else:
            file = code.co_filename
            if file not in self.files:
                self.files[file] = guarded(read_lines, file, default=[])
            lines = self.files[file]
        return lines[number - 1][: 8 * SOURCE] if 0 < number <= len(lines) else None


def read_lines(file):
    cached = getattr(sys.modules.get("linecache"), "cache", {}).get(file)
    if type(cached) is tuple and len(cached) == 4:
        return [exact(line) for line in cached[2]]
    # A job may name its code after a pipe or a device.
    descriptor = posix.open(file, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
    try:
        status = posix.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000:
            return []
        return posix.read(descriptor, FILE_BYTES).decode("utf-8", "replace").splitlines()
    finally:
        posix.close(descriptor)


class Collector:
    """Stands in for sys.stderr while the interpreter prints. Other threads of the job still reach the real one."""

    def __init__(self, real):
        self.parts, self.real, self.thread = [], real, get_ident()

    def write(self, value):
        if get_ident() == self.thread:
            self.parts.append(exact(value))
        elif self.real is not None:
            self.real.write(value)
        return len(value)

    def flush(self):
        pass


def text(error, trace, job, display, sources):
    """The traceback as the interpreter prints it, by letting it print; from 3.13 on it shows a job's own lines."""
    real = getattr(sys, "stderr", None)
    collector = sys.stderr = Collector(real)
    try:
        display(type(error), error, trace)
    except MemoryError:
        raise
    except BaseException:
        pass
    finally:
        sys.stderr = real
    printed = "".join(collector.parts)
    file = job.get("file", "<string>" if "source" in job else "")
    return guarded(with_source, printed, file, error, sources, default=printed) if file[:1] == "<" else printed


def with_source(printed, file, error, sources):
    """Adds the lines that the interpreter does not find, for code that came as text."""
    known = {}
    seen = set()
    todo = [error]
    while todo and len(seen) < CAUSES:
        item = todo.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        for code, line, _ in points(item.__traceback__):
            source = sources.line(code, line) if sources.mine(code) else None
            if source:
                known[f'File "{file}", line {line}, in {code.co_name}'] = source.strip()[:SOURCE]
        todo += [item.__cause__, item.__context__]
    lines = printed.split("\n")
    result = []
    for index, line in enumerate(lines):
        result.append(line)
        margin, mark, rest = line.partition('File "')
        source = known.get(mark + rest)
        if source and not (index + 1 < len(lines) and lines[index + 1].strip(" |") == source):
            result.append(f"{margin}  {source}")
    return "\n".join(result)


def nearest(error):
    """Names in scope that are close to the one that was not found."""
    kind, wrong, found = type(error), None, []
    if issubclass(kind, NameError):
        wrong, trace = error.name, error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        if trace is not None:
            found = [*trace.tb_frame.f_locals, *trace.tb_frame.f_globals, *__builtins__]  # type: ignore[misc]
    elif issubclass(kind, AttributeError):
        wrong, owner = error.name, error.obj
        found = list(guarded(vars, owner, default=()) or ())
        for base in type.__dict__["__mro__"].__get__(owner if isinstance(owner, type) else type(owner)):
            found += type.__dict__["__dict__"].__get__(base)
    elif issubclass(kind, ImportError) and type(error.name) is str:
        wrong = (
            getattr(error, "name_from", None) or exact(str(error)).partition("cannot import name '")[2].split("'")[0]
        )
        found = [*vars(sys.modules[error.name])] if error.name in sys.modules else []
    if type(wrong) is not str or not 1 < len(wrong) <= 64:
        return []
    most, ranked = max(1, len(wrong) // 3), []
    for name in {item for item in found[:5000] if type(item) is str}:
        if name == wrong or abs(len(name) - len(wrong)) > most or name[:1] == "_" != wrong[:1]:
            continue
        steps = 0 if name.lower() == wrong.lower() else distance(wrong, name, most)
        if steps <= most:
            ranked.append((steps, name))
    return [name for _, name in sorted(ranked)[:NAMES]]


def distance(one, other, most):
    """Edits between two words, a swap of neighbours counted once; gives up beyond `most`."""
    before, above = [], list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            steps = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and right == one[i - 2]:
                steps = min(steps, before[j - 2] + 1)
            row.append(steps)
        if min(row) > most:
            return most + 1
        before, above = above, row
    return above[-1]


def errno(error):
    value = error.errno if issubclass(type(error), OSError) else None
    return value if type(value) is int and abs(value) < 1 << 31 else None


def filename(error):
    value = error.filename if issubclass(type(error), (OSError, SyntaxError)) else None
    if type(value) is bytes:
        value = value.decode("utf-8", "replace")
    return cut(value, 4096) if type(value) is str else None


def causes(error):
    """What led to it, nearest first, as text."""
    result, seen = [], {id(error)}
    while len(result) < CAUSES:
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if error is None or id(error) in seen:
            break
        seen.add(id(error))
        result.append(cut(f"{type_name(error)}: {message(error)}", 2000))
    return result


def plain_args(error):
    """The arguments as data, or None if they are anything but that."""
    args = BaseException.__dict__["args"].__get__(error)
    return list(args) if small(args, 4, [ARGS]) else None


def small(value, depth, room):
    kind = type(value)
    room[0] -= len(value) + 8 if kind in (str, list, tuple, dict) else 8
    if room[0] < 0 or depth == 0:
        return False
    if kind in (list, tuple):
        return all(small(item, depth - 1, room) for item in value)
    if kind is dict:
        return all(
            type(key) is str and small(key, 1, room) and small(item, depth - 1, room) for key, item in value.items()
        )
    if kind is int:
        return abs(value) < 1 << 63
    return kind in (str, bool, type(None)) or (kind is float and value - value == 0)


def dump(value):
    kind = type(value)
    if kind is str:
        return f'"{value.encode("utf-8", "replace").decode().translate(ESCAPES)}"'
    if kind is dict:
        return "{%s}" % ", ".join(f"{dump(key)}: {dump(item)}" for key, item in value.items())
    if kind in (list, tuple):
        return "[%s]" % ", ".join(map(dump, value))
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)
