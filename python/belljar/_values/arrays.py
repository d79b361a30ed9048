"""Columns of numpy's scalars and arrays. Their types come from a closed grammar, and never hold objects."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from belljar._values.atoms import raw
from belljar._values.reader import Reader, malformed, parts

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from belljar._values.reader import Column

UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
TYPE = re.compile(
    rf"[<>|=]?(b1|i[1248]|u[1248]|f2|f4|f8|f16|c8|c16|c32|[SUV][1-9]\d{{0,8}}|[mM]8(\[[1-9]?\d{{0,8}}({UNITS})\])?)"
)
FIX = "return tolist() of it"
FIELDS, LEVELS = 1000, 8

DIMENSIONS = 32


def scalars(reader: Reader, count: int) -> Column:
    np = reader.module("numpy", FIX)
    mode = reader.byte()
    reader.charge(64 * count)
    if mode == ord("U"):
        return reader.each(np.str_, reader.texts(count))
    if mode == ord("S"):
        return reader.each(np.bytes_, raw(reader, count))
    if mode == ord("M"):
        codes, numbers = reader.texts(count), reader.numbers(count)
        types = {code: data_type(np, code) for code in set(codes)}
        if any(dtype.kind not in "mM" for dtype in types.values()):
            raise malformed("a wrong array type")
        return reader.each(lambda code, number: np.array(number, np.int64).view(types[code])[()], codes, numbers)
    dtype = data_type(np, reader.texts(1)[0])
    if dtype.kind not in "biufc":
        raise malformed("a wrong array type")
    data = reader.blob(dtype.itemsize * count)
    return list(checked(np, np.frombuffer(data, dtype)))


def arrays(reader: Reader, count: int) -> Column:
    np = reader.module("numpy", FIX)
    types, shapes = reader.column(count), reader.column(count)
    known: dict[str, Any] = {}

    def make(described: Any, shape: Any) -> Any:
        if type(described) is not str:
            reader.watch()
            return array(reader, np, data_type(np, described), shape)
        dtype = known.get(described)
        if dtype is None:
            dtype = known[described] = data_type(np, described)
        return array(reader, np, dtype, shape)

    return reader.each(make, types, shapes)


def array(reader: Reader, np: ModuleType, dtype: Any, shape: Any) -> Any:
    if not is_shape(shape):
        raise malformed("a wrong shape")
    order = reader.byte()
    if order not in b"CF":
        raise malformed("a wrong order")
    inline = not reader.next_byte() & 1
    data = reader.blob(prod(shape) * dtype.itemsize)
    reader.charge(200 + len(data) * inline)
    if not data:
        # Something is allocated also for nothing.
        reader.charge(dtype.itemsize)
        return np.zeros(shape, dtype)
    made = np.frombuffer(data, dtype)
    # Ours to change, and not with the whole head behind it.
    if inline or not (made.flags.writeable and made.flags.aligned):
        made = made.copy()
    return checked(np, made).reshape(shape, order=chr(order))


def is_shape(shape: Any) -> bool:
    """To multiply integers of any size would take any time."""
    return type(shape) is tuple and len(shape) <= DIMENSIONS and all(type(n) is int and 0 <= n < 1 << 63 for n in shape)


def checked(np: ModuleType, made: Any) -> Any:
    """Refuses bits that are no value of their type: numpy reads beyond what it counted on such ones."""
    dtype = made.dtype
    if dtype.names is not None:
        for name in dtype.names:
            checked(np, made[name])
    elif dtype.kind == "b" and made.size and made.view(np.uint8).max() > 1:
        raise malformed("a boolean that is neither")
    elif dtype.kind == "U" and made.size:
        letters = np.ascontiguousarray(made).reshape(-1).view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if letters.max() > 0x10FFFF:
            raise malformed("a character that is none")
    return made


def data_type(np: ModuleType, described: Any, levels: int = LEVELS) -> Any:
    if type(described) is str:
        if not TYPE.fullmatch(described):
            raise malformed("a wrong array type")
        return np.dtype(described)
    if type(described) is not list or not 0 < len(described) <= FIELDS or levels == 0:
        raise malformed("a wrong array type")
    fields: list[Any] = []
    for field in described:
        name, kind, *shape = parts(field, 2, 3)
        if type(name) is not str:
            raise malformed("a wrong array type")
        if shape and not (is_shape(shape[0]) and 0 not in shape[0]):
            raise malformed("a wrong array type")
        fields.append((name, data_type(np, kind, levels - 1), *shape))
    return np.dtype(fields)


READERS = {ord("x"): scalars, ord("X"): arrays}
