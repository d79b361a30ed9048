"""Arrow's arrays from buffers. No message of Arrow's own is read: no extension types, nothing compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from belljar._values.reader import Reader, malformed, parts

if TYPE_CHECKING:
    from typing import Any

LEVELS, WIDTH = 32, 1 << 20
# Of binaries and lists that all have one length.
SIZE = 1 << 31
PLAIN = {
    "null": "null",
    "bool": "bool_",
    **{name: name for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 string binary".split()},
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "date32[day]": "date32",
    "date64[ms]": "date64",
    "large_string": "large_string",
    "large_binary": "large_binary",
}
# Validity first; then what the type needs.
BUFFERS = {"null": 1, "string": 3, "binary": 3, "large_string": 3, "large_binary": 3, "struct": 1, "fixed_list": 1}


def array(reader: Reader, lowered: Any) -> Any:
    """Put together, and then every offset, index, character and length in it is checked."""
    pyarrow = reader.module("pyarrow", "return it with numpy's types")
    made = build(reader, pyarrow, lowered, LEVELS)
    made.validate(full=True)
    return made


def build(reader: Reader, pyarrow: Any, lowered: Any, levels: int) -> Any:
    reader.watch()
    described, length, buffers, children = parts(lowered, 4)
    if levels == 0 or type(length) is not int or not 0 <= length <= 8 * reader.most + 1024:
        raise malformed("a wrong array of Arrow's")
    name, *more = (described,) if type(described) is str else parts(described, 1, 4)
    inner = [build(reader, pyarrow, child, levels - 1) for child in parts(children, 0, WIDTH)]
    if name == "dictionary":
        indices, dictionary = inner
        for part in inner:
            part.validate(full=True)
        return pyarrow.DictionaryArray.from_arrays(indices, dictionary, ordered=more[0] is True, safe=True)
    kind = arrow_type(pyarrow, name, more, [child.type for child in inner])
    own = [None if buffer is None else pyarrow.py_buffer(octets(buffer)) for buffer in parts(buffers, 0, 3)]
    # Where a buffer is missing, the check itself would follow a null pointer. A null array has one that is never there.
    if len(own) != BUFFERS.get(name, 2) or (name == "null" and own != [None]):
        raise malformed("a wrong number of buffers")
    if any(buffer is None for buffer in own[1:]):
        if length:
            raise malformed("a missing buffer")
        own = [own[0], *[pyarrow.py_buffer(bytes(16)) if buffer is None else buffer for buffer in own[1:]]]
    return pyarrow.Array.from_buffers(kind, length, own, children=inner)


def names_texts_only(kind: Any) -> bool:
    """Whether what is named by number in an array are texts: polars writes out anything else."""
    if hasattr(kind, "value_type") and hasattr(kind, "index_type"):
        return str(kind.value_type) in ("string", "large_string")
    return all(names_texts_only(kind.field(place).type) for place in range(kind.num_fields))


def octets(buffer: Any) -> Any:
    """Bytes, or numpy's array of them; whatever else lies in memory is nobody's buffer."""
    kind = getattr(buffer, "dtype", None)
    if type(buffer) is not bytes and (type(buffer).__name__ != "ndarray" or str(kind) != "uint8" or buffer.ndim != 1):
        raise malformed("a buffer that is none")
    return buffer


def arrow_type(pyarrow: Any, name: str, more: list[Any], inner: list[Any]) -> Any:
    """From a closed list of types."""
    if name in PLAIN and not more:
        return getattr(pyarrow, PLAIN[name])()
    if name == "timestamp":
        unit, zone = more
        from belljar._values.standard import NAME

        # An offset is written as +01:00.
        if zone is not None and not (type(zone) is str and NAME.fullmatch(zone.replace(":", ""))):
            raise malformed("a wrong zone")
        return pyarrow.timestamp(unit, zone)
    if name in ("duration", "time32", "time64"):
        return getattr(pyarrow, name)(more[0])
    if name in ("fixed", "fixed_list") and not (type(more[0]) is int and 0 <= more[0] < SIZE):
        raise malformed("a wrong size")
    if name == "fixed":
        return pyarrow.binary(more[0])
    if name == "decimal":
        bits, precision, scale = more
        return {128: pyarrow.decimal128, 256: pyarrow.decimal256}[bits](precision, scale)
    if name in ("list", "large_list"):
        return {"list": pyarrow.list_, "large_list": pyarrow.large_list}[name](inner[0])
    if name == "fixed_list":
        return pyarrow.list_(inner[0], more[0])
    if name == "struct":
        return pyarrow.struct(list(zip(parts(more[0], len(inner)), inner, strict=True)))
    raise malformed("an unknown type of Arrow's")
