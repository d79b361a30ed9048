"""An exception, its causes and the members of its groups as data, so that a client can make them again.

As careful as the report: the job wrote these classes. No `__getattribute__`, property or `__dict__` of theirs is asked,
the data is of exact built-in types, and all of it together is bounded.
"""

LINKS, DEPTH, NESTED, NAMES, TEXT, ROOM = 64, 16, 8, 16, 2000, 128 << 10
BITS, HEAP = 16_000, 1 << 9
GROUP = __builtins__.get("BaseExceptionGroup")
DICT, ARGS, CAUSE, CONTEXT, SUPPRESS = (
    BaseException.__dict__[name].__get__
    for name in ("__dict__", "args", "__cause__", "__context__", "__suppress_context__")
)
MRO, FLAGS, SCOPE, QUALNAME = (
    type.__dict__[name].__get__ for name in ("__mro__", "__flags__", "__dict__", "__qualname__")
)
# What built-in exceptions keep beside their dict.
FIELDS = {
    OSError: ("errno", "strerror", "filename", "filename2"),
    SyntaxError: ("msg", "filename", "lineno", "offset", "text"),
    ImportError: ("msg", "name", "path"),
    NameError: ("name",),
    AttributeError: ("name",),
}


class Slotted:
    __slots__ = ("slot",)


MEMBER = type(Slotted.__dict__["slot"])


def chain(error, report):
    """Links, each after all that it names, so the error itself is the last. `report` has the names of that file."""
    found = Chain(report)
    found.add(error, DEPTH)
    return found.links


class Odd(Exception):
    """A value that is no plain data, or for which there is no room."""


class Chain:
    def __init__(self, report):
        self.report, self.room = report, ROOM
        # Where each exception is; None while those below it are looked at, which cuts circles.
        self.links, self.places, self.members = [], {}, set()

    def add(self, error, depth):
        if id(error) in self.places:
            return self.places[id(error)]
        if depth == 0 or len(self.places) == LINKS:
            return None
        self.places[id(error)] = None
        try:
            link = self.look(error)
        except Odd:
            return None
        for name, value in ("cause", CAUSE(error)), ("context", CONTEXT(error)):
            link[name] = None if value is None else self.add(value, depth - 1)
        if GROUP is not None and issubclass(type(error), GROUP):
            self.add_members(error, link, depth)
        self.places[id(error)] = len(self.links)
        self.links.append(link)
        return len(self.links) - 1

    def add_members(self, group, link, depth):
        """A member of two groups would be looked at twice by whoever searches them: it stays with the first."""
        link["members"] = members = []
        for number, error in enumerate(GROUP.__dict__["exceptions"].__get__(group)):
            place = self.add(error, depth - 1)
            if place is None or place in self.members:
                self.leave(f"exceptions[{number}]", link["left"])
                continue
            self.members.add(place)
            members.append(place)

    def look(self, error):
        """All but what it leads to. The name and the bases first: without them there is no link."""
        kind, left = type(error), []
        mro = MRO(kind)
        classes = [base for base in mro if FLAGS(base) & HEAP and id(base) not in self.report["BUILTIN_ERRORS"]]
        link = {
            "classes": [[self.text(module(base)), self.text(QUALNAME(base))] for base in classes[:NAMES]],
            "bases": [self.text(base.__name__) for base in mro if id(base) in self.report["BUILTIN_ERRORS"]][:-1],
            "suppress": SUPPRESS(error),
            "left": left,
        }
        grouped = GROUP is not None and issubclass(kind, GROUP)
        args = () if grouped else ARGS(error)
        link["args"] = [self.argument(number, value, left) for number, value in enumerate(args)]
        link["fields"] = self.pairs(fields(kind, error), left)
        names = dict(DICT(error))
        notes = names.pop("__notes__", None)
        link["state"] = self.pairs([*slots(classes, error), *names.items()], left)
        try:
            message = GROUP.__dict__["message"].__get__(error) if grouped else self.report["message"](error)
            link["message"] = self.text(message)
            link["notes"] = [self.text(note) for note in (notes if type(notes) is list else [])[:NAMES]]
        except Odd:
            pass
        return link

    def argument(self, number, value, left):
        """What is no plain data is told as text: messages are made of arguments."""
        try:
            return self.within(value)
        except Odd:
            self.leave(f"args[{number}]", left)
            return self.text(self.report["guarded"](str, value, default=""))

    def pairs(self, items, left):
        found = []
        for name, value in items:
            if type(name) is not str or name[:2] == "__" == name[-2:]:
                continue
            try:
                found.append([self.text(name), self.within(value)])
            except Odd:
                self.leave(name, left)
        return found

    def leave(self, name, left):
        """Tells what was left out, as far as there is room for that."""
        if len(left) < NAMES and len(name) <= 100 and self.room > 1000:
            left.append(self.text(name))

    def within(self, value):
        """The data of a value. One that is left out takes no room."""
        room = self.room
        try:
            return self.data(value, NESTED)
        except BaseException:
            self.room = room
            raise Odd from None

    def data(self, value, depth):
        kind = type(value)
        self.take(32)
        if value is None or kind is bool or (kind is int and abs(value) < 1 << 63):
            return value
        if kind is str:
            return self.whole(value)
        if kind is int and value.bit_length() <= BITS:
            self.take(value.bit_length() // 4)
            return {"int": hex(value)}
        if kind is float:
            return {"float": repr(value)}
        if kind is bytes:
            self.take(2 * len(value))
            return {"bytes": value.hex()}
        if depth == 0 or kind not in (list, tuple, dict):
            raise Odd
        if kind is dict:
            return {"dict": [[self.key(key), self.data(item, depth - 1)] for key, item in value.items()]}
        items = [self.data(item, depth - 1) for item in value]
        return items if kind is list else {"tuple": items}

    def key(self, value):
        if type(value) is not str:
            raise Odd
        return self.whole(value)

    def text(self, value):
        return self.whole(self.report["cut"](self.report["exact"](value), TEXT))

    def whole(self, value):
        self.take(len(value))
        # As it will be written: an escape takes six bytes.
        self.take(len(self.report["dump"](value).encode()) - len(value))
        return value

    def take(self, size):
        self.room -= size
        if self.room < 0:
            raise Odd


def module(kind):
    name = SCOPE(kind).get("__module__")
    return name if type(name) is str else ""


def fields(kind, error):
    for base, names in FIELDS.items():
        if issubclass(kind, base):
            for name in names:
                value = base.__dict__[name].__get__(error)
                if value is not None:
                    yield name, value


def slots(classes, error):
    """Nearest last, so that a slot which a subclass has again is that of the subclass."""
    for kind in reversed(classes):
        for name, slot in SCOPE(kind).items():
            if type(slot) is MEMBER:
                try:
                    yield name, slot.__get__(error)
                except (AttributeError, TypeError):
                    # Nothing is in it; or it is one of another class.
                    pass
