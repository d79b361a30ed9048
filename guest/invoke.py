"""Runs what the host has encoded, and encodes what comes of it: `values` knows how, and the engine reads neither.

The parcel is read from descriptor 3, where it follows the job or is its body: a header of numbers, and a body in which
each part begins at a multiple of 64, in the stream or as a sealed memfd.
"""

import sys
from posix import _exit, close, readv

RETURNED, ITEM, MORE, PREFIX, ALIGN = 1, 16, 33, 16, 64
# From here on a body is a sealed memfd.
INLINE = 1 << 16
ONLY_AST, AWAIT, COROUTINE, FUTURE = 0x400, 0x2000, 0x80, 0x1FF0000
# Where source files of the caller's own are.
OWN = "/own/"
F_ADD_SEALS, SEALS, MFD_FLAGS = 1033, 15, 3


def invoke(kind, name, job, names, send, reported):
    """Gives what to call; that gives the frame to send."""
    leave, parts = receive(job.pop("parcel", None))
    values, job["names"] = ready(names), names
    sys.meta_path.insert(0, Finder(names))
    if kind == "invoke":
        job["quiet"] = True
        return perform, (parts, values, leave, send, reported)
    return evaluate, (bytes(parts[0]).decode(), parts[1:], name, job, values, names)


def ready(names):
    values = names("values")
    values["load"] = names
    return values


def perform(parts, values, leave, send, reported):
    function, args, kwargs = opened(values["decode"], parts)
    if type(kwargs) is tuple:
        pause, goes_on = kwargs
        value = several(function, args, pause, Results(values["encode"], send, reported if goes_on else None))
    else:
        value = called(function, args, kwargs)
    if leave and is_builtin(value, "generator"):
        value = give(value, Leave(leave), values["encode"], send)
    elif leave and is_builtin(value, "async_generator"):
        from asyncio import run

        value = run(give_async(value, Leave(leave), values["encode"], send))
    answer = frame(RETURNED, *values["encode"](value))
    # The host may end the jar as soon as it has the value.
    for stream in sys.stdout, sys.stderr:
        if stream is not None:
            stream.flush()
    return answer


def opened(decode, parts):
    """What the host has sent. To open it, modules of the caller's own are imported, and what they do then may fail."""
    try:
        return decode(parts[0], parts[1:])
    except (Exception, SystemExit) as error:
        place, at = None, error.__traceback__
        while at is not None:
            code = at.tb_frame.f_code
            # The innermost module that was being imported; what it called may be in any file.
            if code.co_name == "<module>" and code.co_filename.startswith(OWN):
                place = at
            at = at.tb_next
        if place is None:
            raise
        name, file = place.tb_frame.f_globals.get("__name__"), place.tb_frame.f_code.co_filename
        raise ImportError(
            f"{name} cannot be imported in the jar: {type(error).__name__}: {error} (line {place.tb_lineno} of"
            f" {file}). Modules of your own are imported anew there: give them what they need with env= or files=,"
            " or do this in a function",
            name=name,
        ) from error


def called(function, args, kwargs):
    value = function(*args, **kwargs)
    if is_builtin(value, "coroutine"):
        from asyncio import run

        value = run(value)
    return value


def several(function, rows, pause, results):
    """A call for each of the rows. Results are sent when `pause` seconds have gone since the last: to send each alone
    takes longer than a short call, and what is not sent is lost when the process dies."""
    from time import monotonic

    since = monotonic()
    for row in rows:
        try:
            results.values.append(called(function, row, {}))
        except BaseException as error:
            if results.reported is None or isinstance(error, SystemExit):
                # It ends the job, as that of a single call; what came before is not lost.
                results.ship()
                raise
            results.errors[len(results.values)] = results.reported(error)
            results.values.append(None)
        if monotonic() - since >= pause:
            results.ship()
            since = monotonic()
    results.ship()


class Results:
    """Of several calls, as far as they are not sent: values, and by their places what was raised instead."""

    def __init__(self, encode, send, reported):
        self.encode, self.send, self.reported = encode, send, reported
        self.values, self.errors = [], {}

    def ship(self):
        values, errors, self.values, self.errors = self.values, self.errors, [], {}
        if not values:
            return
        try:
            framed = frame(ITEM, *self.encode((values, errors)))
        except BaseException:
            # One of them cannot leave, or all are too much at once.
            for place, value in enumerate(values):
                self.send(*self.alone(value, errors.get(place)))
        else:
            self.send(*framed)

    def alone(self, value, told):
        try:
            # First by itself, as a refusal names the path in the value.
            self.encode(value)
            return frame(ITEM, *self.encode(([value], {} if told is None else {0: told})))
        except BaseException as error:
            if self.reported is None:
                raise
            return frame(ITEM, *self.encode(([None], {0: self.reported(error)})))


def give(items, leave, encode, send):
    """Sends the items of a generator; gives its value."""
    while True:
        leave.take()
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        send(*frame(ITEM, *encode(item)))


def answer(asked):
    if not asked.done():
        asked.set_result(None)


async def give_async(items, leave, encode, send):
    from asyncio import get_running_loop

    loop = get_running_loop()
    items = items.__aiter__()
    while True:
        if not leave.count:
            # Other tasks of the job go on meanwhile.
            asked = loop.create_future()
            loop.add_reader(3, answer, asked)
            await asked
            loop.remove_reader(3)
        leave.take()
        try:
            item = await items.__anext__()
        except StopAsyncIteration:
            return None
        send(*frame(ITEM, *encode(item)))


class Leave:
    """How many items may still be sent. Where there is none, the host is waited for."""

    def __init__(self, count):
        self.count = count

    def take(self):
        while not self.count:
            kind, body = heard()
            if kind == MORE:
                self.count += int.from_bytes(body, "little")
        self.count -= 1


def is_builtin(value, name):
    return type(value).__name__ == name and type(value).__module__ == "builtins"


def evaluate(source, inputs, name, job, values, names):
    """As `python -c` would, with the value of a last expression, Markdown around it, and `await` outside functions."""
    main, file = job["main"], name or "<string>"
    sys.orig_argv.insert(len(sys.orig_argv) - len(sys.argv) + 1, source)
    if inputs:
        main.update(values["decode"](inputs[0], inputs[1:]))
    job.update(file=file, source=source)
    tree = parsed(source, file, names)
    last = tree.body.pop() if tree.body and type(tree.body[-1]).__name__ == "Expr" else None
    job["code"] = code = compile(tree, file, "exec", AWAIT, True)
    if last is not None:
        from _ast import Expression

        job["last"] = last = compile(Expression(last.value), file, "eval", AWAIT | code.co_flags & FUTURE, True)
    if sys.version_info >= (3, 13):
        linecache = __import__("linecache")
        linecache._register_code(code if hasattr(linecache, "_interactive_cache") else file, source, file)
    value = None
    if code.co_flags & COROUTINE:
        value = awaited(main, *filter(None, (code, last)))
    else:
        exec(code, main)
        if last is not None:
            value = awaited(main, last) if last.co_flags & COROUTINE else eval(last, main)
    if last is None:
        return None
    try:
        return frame(RETURNED, *values["encode"](value))
    except values["ValueRefused"] as error:
        fields = {"path": getattr(error, "path", "result"), "type": type(value).__name__, "message": str(error)}
        return RETURNED, names("report")["dump"]({"refused": fields}).encode(), b""


def parsed(source, file, names):
    try:
        return compile(source, file, "exec", ONLY_AST, True)
    except SyntaxError:
        code = names("fences")["fenced"](source) if "```" in source or "~~~" in source else None
        if code is None:
            raise
    return compile(code, file, "exec", ONLY_AST, True)


def awaited(main, *codes):
    """Runs code of which some has an `await` outside functions, all of it in one loop; gives the value of the last."""
    from asyncio import run

    failed = []

    async def steps():
        value = None
        try:
            for code in codes:
                value = eval(code, main)
                if code.co_flags & COROUTINE:
                    value = await value
        except Exception as error:
            # Raised again below, without the frames of asyncio.
            failed.append(error)
        return value

    value = run(steps())
    if failed:
        raise failed[0]
    return value


def receive(parcel):
    """How many items may be sent, and the parts; all of it may have come with the job."""
    if parcel is not None:
        middle = PREFIX + int.from_bytes(parcel[4:8], "little")
        numbers, body = parcel[PREFIX:middle].cast("Q").tolist(), parcel[middle:]
    else:
        prefix = exactly(PREFIX)
        numbers = memoryview(exactly(int.from_bytes(prefix[4:8], "little"))).cast("Q").tolist()
        size = int.from_bytes(prefix[8:], "little")
        body = memoryview(mapped(size) if prefix[2] else exactly(size))
    parts, end = [], 0
    for length in numbers[1:]:
        start = -(-end // ALIGN) * ALIGN
        end = start + length
        parts.append(body[start:end])
    return numbers[0], parts


def heard():
    """What the host says next: its kind, and its body."""
    prefix = exactly(PREFIX)
    exactly(int.from_bytes(prefix[4:8], "little"))
    return prefix[0], exactly(int.from_bytes(prefix[8:], "little"))


def exactly(size):
    content = bytearray(size)
    view = memoryview(content)
    while view:
        count = readv(3, [view])
        if count == 0:
            # The host is gone, and the jar with it.
            _exit(0)
        view = view[count:]
    return content


def mapped(size):
    """The memfd that comes with the next byte: a view of one's own, which can be written."""
    from mmap import MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap

    with Voice() as socket:
        _, extra, _, _ = socket.recvmsg(1, 64, 0x40000000)
    number = int.from_bytes(extra[0][2][:4], "little")
    view = mmap(number, size, MAP_PRIVATE, PROT_READ | PROT_WRITE)
    close(number)
    return view


class Voice:
    """Descriptor 3 as a socket, for as long as it takes."""

    def __enter__(self):
        from _socket import socket

        self.socket = socket(1, 1, 0, 3)
        return self.socket

    def __exit__(self, *_):
        self.socket.detach()


def frame(kind, head, buffers):
    """What `send` of boot takes."""
    parts = [head, *(buffer.cast("B") if type(buffer) is memoryview else buffer for buffer in buffers)]
    sizes = [len(part) for part in parts]
    header = b'{"encoding": "belljar", "parts": %b}' % repr(sizes).encode()
    size = 0
    for length in sizes:
        size = -(-size // ALIGN) * ALIGN + length
    if size >= INLINE:
        return kind, header, b"", size, memory(parts, size)
    body = bytearray()
    for part in parts:
        body += bytes(-len(body) % ALIGN)
        body += part
    return kind, header, body


def memory(parts, size):
    """A sealed memfd with the parts; gives what sends it with the first bytes of a frame."""
    from fcntl import fcntl
    from posix import ftruncate, memfd_create, pwrite

    number, at = memfd_create("belljar", MFD_FLAGS), 0
    for part in parts:
        at, rest = -(-at // ALIGN) * ALIGN, memoryview(part)
        while rest:
            count = pwrite(number, rest, at)
            at, rest = at + count, rest[count:]
    ftruncate(number, size)
    fcntl(number, F_ADD_SEALS, SEALS)

    def ship(data):
        with Voice() as socket:
            count = socket.sendmsg([data], [(1, 1, number.to_bytes(4, "little"))])
        close(number)
        return count

    return ship


class Finder:
    """Gives the guest's own side of the package to whoever imports `belljar` here."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        # A pickle names the module that something is defined in.
        if name != "belljar" and not name.startswith("belljar._"):
            return None
        return sys.modules["_frozen_importlib"].ModuleSpec(name, self, is_package=name == "belljar")

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        scope = self.names("belljar_guest")
        module.__dict__.update({name: scope[name] for name in scope if name not in ("__name__", "__builtins__")})
        module._scope = self.names("values")["scope_of"]
