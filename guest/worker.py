"""Takes a job over descriptor 3 and makes this process as a cold start would have made it; before that, rehearses."""

import sys
from _socket import socketpair
from posix import _exit, close, dup, dup2, environ, putenv, readv, write

FAILED, JOB, PARCEL, PREFIX = 9, 32, 34, 16
# What a job begins with, and how long it is at least: so it is read at once, unless it is longer.
LEAST = 1024
FIRST = b"%c\1\0\0" % JOB
EBADMSG = 74
# A bit of everything: memory that a job writes to the first time is copied then, and whoever called it waits.
REHEARSED = b"""
def f(x, y=2, *z, **k):
    n = {"a": y * 2, **x}
    for i, j in enumerate([0]):
        n["b"] = (i + len(n), f"{j}", -i)
    try:
        s = sorted(v for v in n if v and v != j)
    except TypeError as e:
        raise ValueError("c") from e
    return [s[0], n.get("b"), n["a"] > 1, None] if s else {"d": [w.upper() for w in z]}
"""
# The shapes of a job. The first touches no memory that the second does not. A job cannot be on no processors at all, so
# that one stays where it is.
SHAPES = [
    (b'{"kind":"code","parts":[%d]}', (b"def f(x):\n  x\nf(0)\n",)),
    (
        b'{"kind":"call","parts":[%d,%d],"stays":1,"processors":[]}',
        (REHEARSED, b'{"args":[{"a":0},1.5,"b"],"kwargs":{}}'),
    ),
]


def failed(control, step, errno):
    """The last word of a worker that cannot be one."""
    plain = "".join(char if " " <= char <= "~" and char not in '"\\' else "?" for char in step)
    header = b'{"step": "%b", "errno": %d}' % (plain.encode(), errno)
    try:
        write(control, frame(FAILED, header))
    finally:
        _exit(1)


def frame(kind, header, body=b""):
    sizes = len(header).to_bytes(4, "little") + len(body).to_bytes(8, "little")
    return b"%c\1\0\0%b%b%b" % (kind, sizes, header, body)


def exactly(size):
    """So many bytes and not one more: what follows is the job's own business."""
    content = bytearray(size)
    start = readv(3, [content])
    while start < size:
        count = readv(3, [memoryview(content)[start:]])
        if count == 0:
            # The host is gone, and the jar with it.
            _exit(0)
        start += count
    return content


def receive(parse):
    """The header of a job, and the parts of its body; or its parcel, if that is the body."""
    block = exactly(LEAST)
    if block[:4] != FIRST:
        failed(3, "read the job", EBADMSG)
    start = PREFIX + int.from_bytes(block[4:8], "little")
    end = start + int.from_bytes(block[8:PREFIX], "little")
    if end > LEAST:
        block += exactly(end - LEAST)
    header = parse(block[PREFIX:start].decode("utf-8", "surrogateescape"))
    if "parcel" in header:
        return header, memoryview(block)[start:end]
    parts = []
    for size in header["parts"]:
        parts.append(bytes(block[start : start + size]))
        start += size
    return header, parts


def worker(boot, parse, hidden):
    """Waits for the job, and gives what `main` of boot wants to know of it."""
    header, parts = receive(parse)
    if "processors" in header:
        spread(header["processors"])
    if "env" in header:
        add_variables(header["env"])
    kind, origin, args = header["kind"], header.get("origin", "-c"), header.get("args", [])
    hidden.show(kind, origin)
    job = boot["job"]
    job["stays"] = "stays" in header
    if "parcel" in header:
        job["parcel"] = parts
    else:
        boot["given"] = dict(zip(("job", "args.json"), parts, strict=False)).__getitem__
    return kind, origin, args


def spread(processors):
    """It was woken up where no crowd is; the job may have these again. If they are gone by now, it has what is left."""
    from posix import sched_setaffinity

    try:
        sched_setaffinity(0, processors)
    except OSError:
        pass


def add_variables(variables):
    system = sys.modules.get("os")
    for name, value in variables.items():
        raw, content = encode(name), encode(value)
        environ[raw] = content
        if system is not None:
            system.environ[name] = value
        else:
            putenv(raw, content)
    if "TZ" in variables:
        __import__("time").tzset()


def encode(text):
    return text.encode("utf-8", "surrogateescape")


class Place:
    """Where a job's own folder goes in sys.path, and the arguments that the interpreter was started with."""

    def __init__(self, folder):
        safe = getattr(sys.flags, "safe_path", sys.flags.isolated)
        # A name that no finder knows, so that a preload cannot be one of our own files by its name.
        self.mark, self.at = None if safe else f"{folder}/none", 0
        self.argv, self.orig_argv = list(sys.argv), list(sys.orig_argv)
        if self.mark:
            sys.path[:1] = [self.mark]

    def reset(self):
        """As if nothing had been run; what is preloaded may have put something in front since."""
        sys.argv, sys.orig_argv = list(self.argv), list(self.orig_argv)
        if self.mark and self.mark in sys.path:
            self.at = sys.path.index(self.mark)
        elif self.mark:
            sys.path[self.at : self.at + 1] = [self.mark]

    def __setitem__(self, _, first):
        """What boot takes for the front of sys.path."""
        sys.path[self.at : self.at + 1] = first


class Hidden:
    """Modules that a cold run loads for some kinds of job only: loaded once in the template, shown with the job."""

    def __init__(self, known):
        # Ours: none of them is loaded in plain Python. A call needs one.
        new = {name: module for name, module in sys.modules.items() if name not in known}
        for name in new:
            del sys.modules[name]
        self.modules = {"call": {"_json": new["_json"]}} if "_json" in new else {}

    def load(self, kind, *names):
        before = dict(sys.modules)
        for name in names:
            __import__(name)
        self.keep(kind, before)

    def keep(self, kind, before):
        """Hides what was not there before."""
        self.modules[kind] = {name: module for name, module in sys.modules.items() if name not in before}
        self.hide(kind)

    def kind(self, kind, origin):
        # Since 3.13 the text after -c is kept for tracebacks.
        return "text" if kind == "code" and origin != "-" and sys.version_info >= (3, 13) else kind

    def show(self, kind, origin):
        shown = self.modules.get(self.kind(kind, origin), {})
        sys.modules.update(shown)
        for name in shown:
            if "." in name:
                parent, _, child = name.rpartition(".")
                if parent in sys.modules:
                    setattr(sys.modules[parent], child, shown[name])

    def hide(self, kind):
        for name in self.modules.get(kind, ()):
            sys.modules.pop(name, None)
            parent, _, child = name.rpartition(".")
            if parent in sys.modules and hasattr(sys.modules[parent], child):
                delattr(sys.modules[parent], child)


def invocation(*items):
    """A pickled function's call, as docs/reference/values.md has it, to rehearse: the job and the parcel in it."""
    sizes = b"".join(len(item).to_bytes(4, "little") + bytes(4) for item in items)
    head = b"\1\0%c" % len(items) + sizes + b"".join(items)
    lengths = bytes(8) + len(head).to_bytes(8, "little")
    header = b'{"kind":"invoke","origin":"","parts":[%d],"parcel":1,"stays":1}'
    return header, (frame(PARCEL, lengths, head),)


def rehearse(boot, parse, hidden, place, main, shapes):
    """Runs a job of each shape over a socket of its own, and leaves no trace of it."""
    control = dup(3)
    near, far = (end.detach() for end in socketpair())
    dup2(far, 3, False)
    boot["attach"]()
    lines = vars(sys.modules.get("linecache") or hidden.modules.get("text", {}).get("linecache") or sys)
    kept = [(lines[name], dict(lines[name])) for name in ("cache", "_interactive_cache") if name in lines]
    finders = list(sys.meta_path)
    for header, parts in shapes:
        body = b"".join(parts)
        write(near, frame(JOB, header % tuple(map(len, parts)), body).ljust(LEAST, b"\0"))
        kind, origin, args = worker(boot, parse, hidden)
        boot["main"](kind, origin, args)
        hidden.hide(hidden.kind(kind, origin))
        sys.meta_path[:] = finders
        settle(boot["job"], place, main)
    for cache, before in kept:
        cache.clear()
        cache.update(before)
    dup2(control, 3, False)
    for number in control, near, far:
        close(number)
    boot["attach"]()


def settle(job, place, main):
    """As if nothing had been run."""
    place.reset()
    fresh(main)
    job.clear()
    job["module"], job["path"] = main, place


def fresh(module):
    """Takes away what a job has put into its `__main__`."""
    module.__dict__.clear()
    module.__dict__.update(type(sys)("__main__").__dict__)
