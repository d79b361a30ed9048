"""Values on their way between host and guest: opens what the host sent, writes what goes back as typed columns.

docs/reference/values.md has the layout. A column holds any number of values of one type, so that almost every loop runs
in C; types that are met less often are in files of their own, which `load` brings.
"""

import marshal
import sys
from itertools import chain

# Kept apart from the head from this size on, so that it is neither copied nor out of line with an array's needs.
LARGE = 1 << 16
PARTS = 1 << 15
DEPTH = 200
# At this level the whole value is looked through once for loops, and for parts shared so often that it explodes.
DEEP = 16
ITEMS = 1 << 26
# What one frame can carry.
MOST = 1 << 30
WIDTH = 256
SHAPES = 64
# First bytes of what is no pickle, and how values of a function are found.
PLAIN, NAMED, MARSHALLED = b"FNM"
CONSTANT, MODULE, NAME, TUPLE, ALIAS, UNION = range(6)
# What the host can take, as it said with the job: 1 pyarrow.
host = {"features": 0}
parts = {}
# By a number of the host's.
scopes = {}


Function: type = type(lambda: None)
ELSEWHERE = "leave it in a file, for outcome.files or in a folder of the host: mount=['out:/out:rw']"


class ValueRefused(TypeError):
    """A value that cannot go to the host: where it is and why, and what to do."""

    def __str__(self):
        return "; ".join(self.args)


class Bad(Exception):
    """An item that cannot be written; its path is looked for only now."""

    def __init__(self, item, reason, fix):
        self.item, self.reason, self.fix = item, reason, fix


def load(name):
    """Set by whoever loads this file: gives the names of the file `name` beside it."""
    raise ImportError(f"nothing loads {name}")


def part(name):
    scope = parts.get(name)
    if scope is None:
        scope = parts[name] = load(name)
        scope["install"](globals())
    return scope


def decode(head, buffers):
    """The object that the host sent, by pickle or marshal: this is the side where that is allowed."""
    head = memoryview(head)
    if head[0] != 1:
        raise ValueError("the head of a value is of another version")
    host["features"] = head[1]
    count, at, start, found = head[2], 3 + 8 * head[2], 0, []
    for index in range(count):
        sizes = head[3 + 8 * index : 11 + 8 * index].cast("I")
        end = start + sizes[1]
        found.append(opened(head[at : at + sizes[0]], buffers[start:end]))
        at, start = at + sizes[0], end
    return found[0] if count == 1 else (found[0], *found[1])


def opened(data, buffers):
    if data[0] == PLAIN:
        return function(*marshal.loads(data[1:]))
    if data[0] == NAMED:
        return look_up(marshal.loads(data[1:]))
    if data[0] == MARSHALLED:
        return marshal.loads(data[1:])
    from _pickle import loads

    return loads(data, buffers=buffers)


def function(code, named, submodules, names, defaults, number):
    """One that the host sent without cloudpickle."""
    for name in submodules:
        __import__(name)
    scope = scope_of(number, {name: look_up(value) for name, value in named.items()})
    # As in any module: those of the job, and not those that this file has kept.
    scope["__builtins__"] = vars(sys.modules["builtins"])
    made = Function(code, scope, names[0], look_up(defaults))
    made.__name__, made.__qualname__, made.__module__, made.__doc__ = names
    return made


def scope_of(number, named):
    """The globals of functions that have the same ones at the host, in whatever way each of them came."""
    scope = scopes.setdefault(number, {})
    scope.update(named)
    return scope


def look_up(value):
    kind, first, *more = value
    if kind == CONSTANT:
        return first
    if kind == TUPLE:
        return tuple(map(look_up, first))
    if kind == ALIAS:
        return look_up(first)[look_up(*more)]
    if kind == UNION:
        first, *more = look_up(first)
        for other in more:
            first |= other
        return first
    __import__(first)
    place = sys.modules[first]
    for name in more[0].split(".") if kind == NAME else ():
        place = getattr(place, name)
    return place


def encode(value):
    """The head and the buffers that the host makes the same value of."""
    encoder = Encoder(value)
    try:
        encoder.column([value])
    except Bad as bad:
        found = bad
    except RecursionError:
        found = Bad(
            value, "is nested too deeply for the stack that is left", "return it from a place that is less deep"
        )
    else:
        head, buffers = b"".join(encoder.out), encoder.buffers
        # Each begins at a multiple of 64.
        size = len(head) + sum([memoryview(buffer).nbytes + 64 for buffer in buffers])
        if size <= MOST:
            return head, buffers
        found = Bad(None, f"takes {-(-size * 100 // MOST) / 100} GiB, and a call gives back 1 GiB", ELSEWHERE)
    raise ValueRefused(*part("values_path")["explain"](value, found)) from None


class Encoder:
    """Collects the pieces of the head, and the buffers."""

    def __init__(self, root):
        self.root, self.depth, self.count, self.checked = root, 0, 0, False
        # Layout of the head.
        self.out, self.buffers = [b"\1"], []

    def column(self, values):
        """Writes one or more values."""
        self.depth += 1
        if self.depth == DEEP and not self.checked:
            self.checked = True
            part("values_path")["check"](self.root)
        if self.depth > DEPTH:
            raise Bad(None, f"is nested more than {DEPTH} levels deep", "return it flattened, for example as rows")
        kinds = set(map(type, values))
        if len(kinds) == 1:
            self.single(kinds.pop(), values)
        else:
            self.union(values)
        self.depth -= 1

    def single(self, kind, values):
        writer = WRITERS.get(kind) or part("values_types")["writer"](kind, values[0])
        writer(self, values)

    def union(self, values):
        """Which type each has, then a column for each type."""
        types = list(map(type, values))
        kinds = list(dict.fromkeys(types))
        code = {kind: index for index, kind in enumerate(kinds)}
        self.out.append(b"u" + len(kinds).to_bytes(4, "little"))
        self.numbers(list(map(code.__getitem__, types)))
        for kind in kinds:
            self.single(kind, [value for value, its in zip(values, types, strict=True) if its is kind])

    def blob(self, data):
        """Bytes of any kind: in the head, or as a buffer of their own."""
        size = len(data)
        if size >= LARGE and len(self.buffers) < PARTS:
            self.out.append((len(self.buffers) << 1 | 1).to_bytes(4, "little"))
            self.buffers.append(data)
        elif size >> 31:
            raise Bad(None, "has too many parts of more than 64 KiB", "return fewer of them at once")
        else:
            self.out += ((size << 1).to_bytes(4, "little"), data)

    def numbers(self, values):
        """Integers: bytes if they fit, else words, else of any length."""
        try:
            data, width = bytes(values), b"\1"
        except (ValueError, OverflowError):
            try:
                data, width = packed("q", values), b"\x08"
            except (ValueError, OverflowError):
                sizes = [(value.bit_length() >> 3) + 1 for value in values]
                self.out.append(b"\0")
                self.numbers(sizes)
                pairs = zip(values, sizes, strict=True)
                self.blob(b"".join([value.to_bytes(size, "little", signed=True) for value, size in pairs]))
                return
        self.out.append(width)
        self.blob(data)

    def lengths(self, values, each=1):
        """How long each is; once for all if that is the same, but never nothing at all for something."""
        sizes = list(map(len, values))
        self.expect(each * sum(sizes))
        if sizes[0] and sizes.count(sizes[0]) == len(sizes):
            self.out.append(b"\x02" + sizes[0].to_bytes(8, "little"))
        else:
            self.numbers(sizes)

    def expect(self, count):
        """Before so many are put into one list: parts that are shared may be there any number of times."""
        self.count += count
        if self.count > ITEMS:
            raise Bad(self.root, f"has more than {ITEMS} items", "return fewer at once, or as an array")

    def nones(self, values):
        self.out.append(b"N")
        self.blob(bytes(len(values)))

    def booleans(self, values):
        self.out.append(b"b")
        self.blob(bytes(values))

    def floats(self, values):
        self.out.append(b"f")
        self.blob(packed("d", values))

    def complexes(self, values):
        self.out.append(b"c")
        self.blob(packed("d", list(chain.from_iterable((value.real, value.imag) for value in values))))

    def texts(self, values):
        """All in one, with a NUL between; with their lengths if they have that themselves."""
        text = "\0".join(values)
        if text.count("\0") == len(values) - 1:
            self.out.append(b"\0")
        else:
            self.out.append(b"\1")
            self.lengths(values, 0)
            text = "".join(values)
        self.blob(text.encode("utf-8", "surrogatepass"))

    def raw(self, values):
        """Large ones each for itself, so that nothing is copied to join them."""
        if len(values) <= 64 and min(map(len, values)) >= LARGE:
            self.out.append(b"\1")
            for value in values:
                self.blob(value)
        else:
            self.out.append(b"\0")
            self.lengths(values, 0)
            self.blob(b"".join(values))

    def children(self, values):
        """How many each holds, then all of them as one column."""
        self.lengths(values)
        flat = values[0] if len(values) == 1 else chain.from_iterable(values)
        flat = list(flat)
        if flat:
            self.column(flat)

    def dicts(self, values):
        if not self.records(values) and not self.shapes(values):
            self.out.append(b"d")
            self.mappings(values)

    def mappings(self, values):
        """Of any keys."""
        self.lengths(values)
        keys = list(chain.from_iterable(values))
        if keys:
            self.column(keys)
            self.column(list(chain.from_iterable([value.values() for value in values])))

    def records(self, values):
        """Dicts that all have the same strings for keys, in the same order: a column for each key."""
        count, names = len(values), list(values[0])
        width = len(names)
        if not 0 < width <= WIDTH:
            return False
        self.expect(count * width)
        keys = names if count == 1 else list(chain.from_iterable(values))
        # Equal is not enough: a subclass of str may be equal to one.
        if len(keys) != count * width or keys != names * count or set(map(type, keys)) != {str}:
            return False
        self.out.append(b"r" + width.to_bytes(4, "little"))
        self.texts(names)
        flat = list(chain.from_iterable(map(dict.values, values)))
        for index in range(width):
            self.column(flat[index::width])
        return True

    def shapes(self, values):
        """Dicts of a few sorts: which sort each is, then the records of each sort."""
        if len(values) < 16 or set(map(type, chain.from_iterable(values))) != {str}:
            return False
        sorts = {}
        for value in values:
            sorts.setdefault(tuple(value), []).append(value)
            if len(sorts) > SHAPES:
                return False
        if not all(0 < len(names) <= WIDTH for names in sorts):
            return False
        code = {names: index for index, names in enumerate(sorts)}
        self.out.append(b"R" + len(sorts).to_bytes(4, "little"))
        self.numbers([code[tuple(value)] for value in values])
        for group in sorts.values():
            self.records(group)
        return True


def packed(code, values):
    """The values as 8 bytes each. The module that does many at once is not loaded for a few."""
    if len(values) > 32:
        from array import array

        return array(code, values).tobytes()
    data = bytearray(8 * len(values))
    view = memoryview(data).cast(code)
    for index, value in enumerate(values):
        view[index] = value
    return data


def tagged(tag, write):
    """A writer that puts a tag before what `write` writes."""

    def writer(encoder, values):
        encoder.out.append(tag)
        write(encoder, values)

    return writer


WRITERS = {
    type(None): Encoder.nones,
    bool: Encoder.booleans,
    int: tagged(b"i", Encoder.numbers),
    float: Encoder.floats,
    complex: Encoder.complexes,
    str: tagged(b"s", Encoder.texts),
    bytes: tagged(b"y", Encoder.raw),
    bytearray: tagged(b"a", Encoder.raw),
    list: tagged(b"l", Encoder.children),
    tuple: tagged(b"t", Encoder.children),
    set: tagged(b"h", Encoder.children),
    frozenset: tagged(b"z", Encoder.children),
    dict: Encoder.dicts,
}
