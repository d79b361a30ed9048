"""Arrow's arrays as the buffers that they are made of, for pandas and polars."""

import sys

PLAIN = (
    "null bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 halffloat float double date32[day] date64[ms]"
    " string large_string binary large_binary"
).split()
Bad = Exception


def install(scope):
    """Takes what it needs from values.py."""
    globals()["Bad"] = scope["Bad"]


def lower(array):
    """Type, length, buffers and children; the host puts it together again and validates it."""
    pyarrow = sys.modules["pyarrow"]
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):
            array = pyarrow.concat_arrays(array.chunks)
    array = classic(pyarrow, array)
    # A slice is written without what was cut off: two are joined, and begin at 0 then.
    return parts(pyarrow, pyarrow.concat_arrays([array, array.slice(0, 0)]))


def classic(pyarrow, array):
    """Views of strings, which only the newest can read, as strings."""
    types = pyarrow.types
    for name, plain in ("is_string_view", "large_string"), ("is_binary_view", "large_binary"):
        if hasattr(types, name) and getattr(types, name)(array.type):
            return array.cast(getattr(pyarrow, plain)())
    return array


def parts(pyarrow, array):
    kind, types = array.type, pyarrow.types
    described = describe(types, kind)
    own, children = array.buffers(), []
    if types.is_dictionary(kind):
        return (
            described,
            len(array),
            [],
            [parts(pyarrow, whole(pyarrow, part)) for part in (array.indices, array.dictionary)],
        )
    if types.is_struct(kind):
        own, children = own[:1], [array.field(place) for place in range(kind.num_fields)]
    elif types.is_list(kind) or types.is_large_list(kind):
        own, children = own[:2], [array.values]
    elif types.is_fixed_size_list(kind):
        own, children = own[:1], [array.values]
    buffers = [None if buffer is None else content(buffer) for buffer in own]
    return (
        described,
        len(array),
        buffers,
        [parts(pyarrow, whole(pyarrow, classic(pyarrow, child))) for child in children],
    )


def whole(pyarrow, array):
    return pyarrow.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def content(buffer):
    """Through numpy it is not copied."""
    try:
        import numpy
    except ImportError:
        return bytes(buffer)
    return numpy.frombuffer(buffer, numpy.uint8)


def describe(types, kind):
    name = str(kind)
    if name in PLAIN:
        return name
    if types.is_timestamp(kind):
        return "timestamp", kind.unit, kind.tz
    for check in "duration", "time32", "time64":
        if getattr(types, f"is_{check}")(kind):
            return check, kind.unit
    if types.is_fixed_size_binary(kind) and not types.is_decimal(kind):
        return "fixed", kind.byte_width
    if types.is_decimal128(kind) or types.is_decimal256(kind):
        return "decimal", kind.bit_width, kind.precision, kind.scale
    if types.is_dictionary(kind):
        return "dictionary", kind.ordered
    for check in "list", "large_list":
        if getattr(types, f"is_{check}")(kind):
            return (check,)
    if types.is_fixed_size_list(kind):
        return "fixed_list", kind.list_size
    if types.is_struct(kind):
        return "struct", [kind.field(place).name for place in range(kind.num_fields)]
    raise Bad(None, f"is of Arrow's type {name[:100]}", "cast it to another type")
