"""Keys of sets, dicts and indexes: a guest chooses most of their hashes, and those with one hash are all compared.

What nobody could interrupt is counted beforehand: two frozensets are compared in one go that takes, at each level, the
square of how many members share a hash.
"""

from __future__ import annotations

from itertools import groupby
from sys import getsizeof
from time import thread_time
from typing import TYPE_CHECKING

from belljar._values.reader import RANDOM_HASHES, Reader, malformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

# So many keys fall together without harm; more are added in steps, and the time that takes is watched.
FEW, STEP = 64, 256
SECONDS, SECONDS_A_KEY = 0.5, 20e-6
# Numbers of at most eight bytes: few of them have one hash, and to compare them takes no time.
LIGHT = b"Nbf"


def fair(reader: Reader) -> bool:
    """Whether the next column's hashes are secret, so that nobody can choose keys that fall together."""
    return RANDOM_HASHES and reader.next_byte() in b"sy"


def light(reader: Reader) -> bool:
    """Whether the next column holds nothing that takes long to compare."""
    tag, width = reader.next_byte(), reader.view[reader.at + 1 : reader.at + 2]
    return tag in LIGHT or (tag == ord("i") and bytes(width) in (b"\1", b"\x08"))


def watched_steps(reader: Reader, count: int) -> Iterator[slice]:
    """Which keys to add next; stops when they take far longer than keys do."""
    for start in range(0, count, STEP):
        before = thread_time()
        yield slice(start, start + STEP)
        reader.spent += thread_time() - before
        reader.keys += STEP
        if reader.spent > SECONDS + SECONDS_A_KEY * reader.keys:
            raise malformed("keys that were chosen to be slow")


def check_keys(reader: Reader, keys: Sequence[Any]) -> None:
    """Refuses keys that take too long to compare, before any two of them are."""
    if len(keys) <= FEW and len(set(map(hash, keys))) == len(keys):
        return
    taken = 128 * len(keys)
    reader.charge(taken)
    hashes = list(map(hash, keys))
    if not all_differ(reader, hashes):
        for group in together(hashes, keys):
            heaviest = 0
            for count, key in enumerate(group if len(group) > 1 else ()):
                heaviest = max(heaviest, weight(reader, key))
                reader.compare(count * heaviest)
    reader.room += taken


def check_labels(reader: Reader, labels: Iterable[Any]) -> None:
    """The same for labels of an index: some may be equal, and pandas' tables know 32 bits of a hash."""
    keys = [label for label in labels if not (RANDOM_HASHES and type(label) in (str, bytes))]
    taken = 128 * len(keys)
    reader.charge(taken)
    try:
        hashes = [(whole ^ whole >> 32) & 0xFFFF_FFFF for whole in map(hash, keys)]
    except TypeError:
        # What has no hash is never looked up.
        return
    if len(keys) > 1 and not all_differ(reader, hashes):
        for group in together(hashes, keys):
            heaviest = 0
            known: list[Any] = []
            for key in group if len(group) > 1 else ():
                heaviest = max(heaviest, weight(reader, key))
                reader.compare(len(known) * heaviest)
                if key not in known:
                    known.append(key)
    reader.room += taken


def all_differ(reader: Reader, hashes: list[int]) -> bool:
    if len(hashes) <= FEW:
        return len(set(hashes)) == len(hashes)
    seen: set[int] = set()
    for step in watched_steps(reader, len(hashes)):
        seen.update(hashes[step])
    return len(seen) == len(hashes)


def together(hashes: list[int], keys: Sequence[Any]) -> Iterator[list[Any]]:
    """Those that share a hash; sorted, which takes no longer for numbers that were chosen."""
    order = sorted(range(len(keys)), key=hashes.__getitem__)
    for _, places in groupby(order, hashes.__getitem__):
        yield [keys[place] for place in places]


def weight(reader: Reader, key: Any) -> int:
    """At most so many steps does it take to compare it with another that is no heavier; 50 to 100 ns each."""
    reader.compare(1)
    if isinstance(key, int):
        # To compare it with a Decimal takes time with the square of its size.
        return 1 + (key.bit_length() >> 8) ** 2
    if isinstance(key, frozenset):
        members = list(key)
        groups = together(list(map(hash, members)), members)
        return 1 + sum(len(group) ** 2 * max(weight(reader, member) for member in group) for group in groups)
    parts = parts_of(key)
    if parts is not None:
        return 8 + sum([weight(reader, part) for part in parts])
    return 8 + (getsizeof(key) >> 8)


def parts_of(key: Any) -> Iterable[Any] | None:
    """What else is compared when it is."""
    if isinstance(key, tuple):
        return key
    fields = getattr(type(key), "__dataclass_fields__", None)
    if fields is not None:
        return [getattr(key, name, None) for name in fields]
    if hasattr(type(key), "__pydantic_fields__"):
        return list(vars(key).values())
    name = type(key).__name__
    if name == "Fraction":
        return key.numerator, key.denominator
    return (key.left, key.right) if name == "Interval" else None
