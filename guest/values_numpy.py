"""Writers for numpy: arrays as they lie in memory, scalars many at once."""

import sys

BITS = "biufcmMSUV"
Bad = Exception


def install(scope):
    """Takes what it needs from values.py."""
    globals()["Bad"] = scope["Bad"]


def writer(kind, example):
    numpy = sys.modules["numpy"]
    if kind is numpy.ndarray:
        return arrays
    if issubclass(kind, numpy.ndarray):
        raise Bad(example, f"is a {kind.__qualname__}, not a plain array", "return numpy.asarray(...) of it")
    if not issubclass(kind, numpy.generic):
        return None
    if kind in (numpy.void, numpy.object_) or numpy.dtype(kind).type is not kind:
        raise Bad(example, f"is of type numpy.{kind.__qualname__}", "return item() of it")
    return {"U": strings, "S": byteses, "M": moments, "m": moments}.get(numpy.dtype(kind).kind, scalars)


def strings(encoder, values):
    encoder.out.append(b"xU")
    # Not by `str`, which drops NULs at the end.
    encoder.texts(values)


def byteses(encoder, values):
    encoder.out.append(b"xS")
    encoder.raw(list(map(bytes, values)))


def moments(encoder, values):
    """Dates and spans: each has a unit of its own."""
    encoder.out.append(b"xM")
    encoder.texts([value.dtype.str for value in values])
    encoder.numbers([int(value.view("i8")) for value in values])


def scalars(encoder, values):
    dtype = values[0].dtype
    encoder.out.append(b"xx")
    encoder.texts([dtype.str])
    encoder.blob(sys.modules["numpy"].array(values, dtype).tobytes())


def arrays(encoder, values):
    encoder.out.append(b"X")
    encoder.column([described(value.dtype, value) for value in values])
    encoder.column([value.shape for value in values])
    for value in values:
        # Column-major arrays are written as they lie.
        turned = value.flags.f_contiguous and not value.flags.c_contiguous
        encoder.out.append(b"F" if turned else b"C")
        encoder.blob(content(value.T if turned else value))


def content(array):
    """Its bytes; copied only if they do not lie in a row."""
    if array.nbytes == 0:
        return b""
    numpy = sys.modules["numpy"]
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data


def described(dtype, array):
    """The name of a type, or the list of a record's fields."""
    if dtype.hasobject or dtype.kind not in BITS or dtype.itemsize == 0:
        fix = "return tolist() of it, or astype(...) a fixed type"
        raise Bad(array, f"is an array of {dtype}, which is no fixed type", fix)
    if dtype.names is None:
        return dtype.str
    numpy = sys.modules["numpy"]
    if numpy.dtype(dtype.descr) != dtype:
        raise Bad(array, f"is an array of {dtype}, with fields that overlap or have titles", "return its fields")
    return dtype.descr
