"""Values between host and guest: what goes in is pickled, what comes back is read as data and never unpickled.

docs/reference/values.md has the layout.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from belljar._errors import ValueRefused
from belljar._values.features import features
from belljar._values.kept import Kept, keep
from belljar._values.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from belljar._values.annotation import Classes

    Buffer: TypeAlias = "bytes | bytearray | memoryview"
    Pickler: TypeAlias = "Callable[[object], tuple[bytes, Sequence[Any]]]"

__all__ = ["Kept", "Parts", "Pickled", "ValueRefused", "classes", "decode", "encode", "encode_call", "keep", "pickled"]


CALL = Struct("<BBBIIII")
LIMIT = 1 << 32


class Parts(NamedTuple):
    """What travels: the head first, then the buffers."""

    head: bytes
    buffers: list[memoryview]


class Pickled(NamedTuple):
    """Something that is pickled already, and may be sent many times."""

    data: bytes
    buffers: list[memoryview]


def pickled(obj: object, *, pickler: Pickler) -> Pickled:
    """Pickles with `pickler`, which gives the pickle and the buffers that it left out."""
    data, buffers = pickler(obj)
    return Pickled(data, [flat(buffer) for buffer in buffers])


def encode(obj: object, *, pickler: Pickler) -> Parts:
    """For the guest: `decode` there gives the same object."""
    return framed(pickled(obj, pickler=pickler))


def encode_call(function: Pickled, given: tuple[Any, Any], *, pickler: Pickler) -> Parts:
    """For the guest: `decode` there gives the function and, of `given`, the arguments and the keyword arguments."""
    data, buffers = pickler(given)
    if not buffers and not function.buffers and len(function.data) + len(data) < LIMIT:
        return Parts(b"".join((call_sizes(len(function.data), len(data)), function.data, data)), [])
    return framed(function, Pickled(data, [flat(buffer) for buffer in buffers]))


def call_sizes(function: int, given: int) -> bytes:
    """What a call without buffers begins with, by the sizes of its two pickles: `framed` makes the same."""
    return CALL.pack(1, features(), 2, function, 0, given, 0)


def decode(
    head: bytes | memoryview,
    buffers: Sequence[memoryview] = (),
    annotation: Any = None,
    *,
    room: int | None = None,
) -> Any:
    """The value that the guest sent; ValueRefused for whatever is wrong with it.

    Classes that `annotation` names (an annotation, or what `classes` made of one) are rebuilt, all others come as plain
    data. Arrays are made over the buffers, which are theirs from then on. `room` is how much memory the value may take,
    beside what was sent.
    """
    try:
        return Reader(head, buffers, classes(annotation), room).value()
    except ValueRefused:
        raise
    except RecursionError:
        cause = ValueRefused("the guest's value is nested too deeply for the stack that is left here")
    except MemoryError:
        cause = ValueRefused("the guest's value does not fit into memory", "return less at once")
    except Exception as error:
        cause = ValueRefused(f"the guest sent a value that is malformed: {type(error).__name__}: {error}"[:500])
    raise cause from None


def classes(annotation: Any) -> Classes | None:
    """The classes that an annotation names, to be given to `decode` again and again."""
    if annotation is None:
        return None
    from belljar._values.annotation import Classes

    return annotation if isinstance(annotation, Classes) else Classes(annotation)


def framed(*items: Pickled) -> Parts:
    sizes = b"".join([word(len(data)) + word(len(buffers)) for data, buffers in items])
    head = b"".join([bytes((1, features(), len(items))), sizes, *[data for data, _ in items]])
    return Parts(head, [buffer for _, buffers in items for buffer in buffers])


def word(number: int) -> bytes:
    try:
        return number.to_bytes(4, "little")
    except OverflowError:
        raise ValueRefused("what is sent takes 4 GiB without its arrays", "send less at once") from None


def flat(buffer: Any) -> memoryview:
    """A pickle's buffer as plain bytes."""
    raw = buffer.raw() if hasattr(buffer, "raw") else memoryview(buffer)
    return raw.cast("B") if raw.format != "B" or raw.ndim != 1 else raw
