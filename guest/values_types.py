"""Writers for types that are met less often: the standard library's, enums, records with a class, kept objects."""

import sys

FRACTION_BITS = 1 << 14
DEFAULTS = (list, dict, set, int, float, str, bool, tuple, bytes, frozenset, complex)
PLAIN = "None, bool, int, float, complex, str, bytes, list, tuple, set, dict, dates, decimals, arrays, data frames"
# Set by install.
Bad, WRITERS = Exception, {}


def part(name):
    return {}


def install(scope):
    """Takes what it needs from values.py."""
    globals().update({name: scope[name] for name in ("Bad", "WRITERS", "part")})


def writer(kind, example):
    """What writes values of exactly this type."""
    module, name = kind.__module__, kind.__qualname__
    found = KNOWN.get((module, name))
    if found is None or getattr(sys.modules.get(module), name, None) is not kind:
        found = foreign(kind, example, str(module).partition(".")[0]) or of_class(kind)
    if found is None:
        raise Bad(example, f"is of type {module}.{name}, which cannot leave the jar", advice(kind))
    WRITERS[kind] = found
    return found


def foreign(kind, example, package):
    if package == "belljar":
        return kept if kind.__name__ == "Keep" else None
    if package in ("numpy", "pandas", "polars"):
        return part(f"values_{package}")["writer"](kind, example)
    return None


def of_class(kind):
    enum = sys.modules.get("enum")
    if enum is not None and issubclass(kind, enum.Enum):
        return enums
    if issubclass(kind, tuple) and type(getattr(kind, "_fields", None)) is tuple:
        return named_tuples
    if "__pydantic_fields__" in kind.__dict__ and hasattr(kind, "model_fields"):
        return models
    if "__dataclass_fields__" in kind.__dict__:
        return data_classes
    return None


def advice(kind):
    for base in (bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset, dict):
        if issubclass(kind, base):
            return f"return {base.__name__}(...) of it"
    if hasattr(kind, "__next__"):
        return "return a list(...) of it"
    if kind is memoryview or kind.__name__ == "array":
        return "return bytes(...) of it, or a numpy array"
    if issubclass(kind, BaseException):
        return "raise it, or return str(...) of it"
    return f"return plain data ({PLAIN}), or belljar.keep(...) of it for a later call"


def deques(encoder, values):
    encoder.out.append(b"q")
    encoder.column([value.maxlen for value in values])
    encoder.children(values)


def mappings(tag):
    def writer(encoder, values):
        encoder.out.append(tag)
        encoder.mappings(values)

    return writer


def numbers(tag, *names):
    """For values that are a few numbers each."""

    def writer(encoder, values):
        encoder.out.append(tag)
        for name in names:
            encoder.numbers([getattr(value, name) for value in values])

    return writer


def texts(tag, text):
    """For values that `text` makes a string of."""

    def writer(encoder, values):
        encoder.out.append(tag)
        encoder.texts(list(map(text, values)))

    return writer


def default_dicts(encoder, values):
    encoder.out.append(b"D")
    for value in values:
        if value.default_factory is not None and value.default_factory not in DEFAULTS:
            raise Bad(value, f"has the default {value.default_factory!r:.100}, which is code", "return dict(...) of it")
    factories = [value.default_factory for value in values]
    encoder.texts(["" if factory is None else factory.__name__ for factory in factories])
    encoder.mappings(values)


def moments(encoder, values):
    """The text without its zone, the zones, and which of two equal hours it is."""
    encoder.out.append(b"B" if hasattr(values[0], "date") else b"E")
    zones = [value.tzinfo for value in values]
    if zones.count(None) == len(zones):
        encoder.out.append(b"\0")
        encoder.texts([value.isoformat() for value in values])
    else:
        encoder.out.append(b"\1")
        encoder.texts([value.replace(tzinfo=None).isoformat() for value in values])
        code, table = {}, []
        for zone, value in zip(zones, values, strict=True):
            if id(zone) not in code:
                code[id(zone)] = len(table)
                table.append(described(zone, value))
        encoder.out.append(len(table).to_bytes(4, "little"))
        encoder.column(table)
        encoder.numbers([code[id(zone)] for zone in zones])
    encoder.blob(bytes([value.fold for value in values]))


def described(zone, value):
    from datetime import timedelta, timezone

    if zone is None:
        return None
    if type(zone) is timezone:
        offset, *name = zone.__getinitargs__()
        return offset // timedelta(microseconds=1), *name
    zoneinfo = sys.modules.get("zoneinfo")
    if zoneinfo is not None and type(zone) is zoneinfo.ZoneInfo and zone.key is not None:
        return zone.key
    fix = "use zoneinfo.ZoneInfo(name) or datetime.timezone"
    raise Bad(value, f"has a zone of type {type(zone).__module__}.{type(zone).__qualname__}", fix)


def fractions(encoder, values):
    for value in values:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > FRACTION_BITS:
            fix = "return its numerator and denominator"
            raise Bad(value, f"is a fraction of more than {FRACTION_BITS} bits", fix)
    encoder.out.append(b"Q")
    encoder.numbers([value.numerator for value in values])
    encoder.numbers([value.denominator for value in values])


def uuids(encoder, values):
    encoder.out.append(b"U")
    encoder.blob(b"".join([value.bytes for value in values]))


def paths(encoder, values):
    encoder.out.append(b"P")
    encoder.texts([type(values[0]).__name__])
    encoder.texts(list(map(str, values)))


def names(encoder, kind):
    encoder.texts([str(kind.__module__), kind.__qualname__])


def enums(encoder, values):
    """By value and by name; without its class, the host gets the value."""
    encoder.out.append(b"e")
    names(encoder, type(values[0]))
    encoder.column([value.name for value in values])
    encoder.column([value.value for value in values])


def named_tuples(encoder, values):
    kind = type(values[0])
    objects(encoder, b"n", kind, kind._fields, [tuple(value) for value in values])


def data_classes(encoder, values):
    kind, rows = type(values[0]), []
    fields = [name for name, field in kind.__dataclass_fields__.items() if field._field_type.name == "_FIELD"]
    for value in values:
        missing = [name for name in fields if not hasattr(value, name)]
        if missing:
            raise Bad(value, f"has no {missing[0]}", "set every field before it is returned")
        rows.append([getattr(value, name) for name in fields])
    objects(encoder, b"d", kind, fields, rows)


def models(encoder, values):
    """Their fields, which of them were set, and what they hold beside their fields."""
    kind = type(values[0])
    fields = list(kind.__pydantic_fields__)
    rows = []
    for value in values:
        missing = [name for name in fields if name not in value.__dict__]
        if missing:
            raise Bad(value, f"has no {missing[0]}", "set every field before it is returned")
        if getattr(value, "__pydantic_private__", None):
            fix = "return model_dump() of it"
            raise Bad(value, f"is a {kind.__qualname__} with private attributes", fix)
        rows.append([value.__dict__[name] for name in fields])
    objects(encoder, b"p", kind, fields, rows)
    encoder.column([sorted(value.__pydantic_fields_set__) for value in values])
    encoder.column([value.__pydantic_extra__ for value in values])


def objects(encoder, flavour, kind, fields, rows):
    """A column for each field."""
    if any(len(row) != len(fields) for row in rows):
        raise Bad(None, f"holds a {kind.__qualname__} of a wrong length", "return tuple(...) of it")
    encoder.out.append(b"O" + flavour)
    names(encoder, kind)
    encoder.out.append(len(fields).to_bytes(4, "little"))
    if not fields:
        encoder.blob(bytes(len(rows)))
        return
    encoder.texts(list(fields))
    for column in zip(*rows, strict=True):
        encoder.column(list(column))


def kept(encoder, values):
    """Pickled, for another guest to open; the host passes it on unseen."""
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    encoder.out.append(b"k")
    pickles = []
    for value in values:
        try:
            pickles.append(dumps(value.value, 5))
        except Exception as error:
            fix = "keep something that can be pickled"
            raise Bad(value, f"cannot be kept: {type(error).__name__}: {error}"[:500], fix) from None
    encoder.raw(pickles)


KNOWN = {
    ("collections", "deque"): deques,
    ("collections", "OrderedDict"): mappings(b"o"),
    ("collections", "Counter"): mappings(b"C"),
    ("collections", "defaultdict"): default_dicts,
    ("builtins", "range"): numbers(b"g", "start", "stop", "step"),
    ("datetime", "date"): texts(b"A", lambda value: value.isoformat()),
    ("datetime", "datetime"): moments,
    ("datetime", "time"): moments,
    ("datetime", "timedelta"): numbers(b"G", "days", "seconds", "microseconds"),
    ("decimal", "Decimal"): texts(b"M", str),
    ("fractions", "Fraction"): fractions,
    ("uuid", "UUID"): uuids,
    **{
        (module, name): paths
        for module in ("pathlib", "pathlib._local")
        for name in ("PosixPath", "PurePosixPath", "PureWindowsPath")
    },
}
