"""What a hostile guest may send instead of a value: the host refuses it, quickly, and runs nothing."""

from __future__ import annotations

import gc
import io
import marshal
import pickle
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_values import EXAMPLES
from test_values_classes import LINE, Line, Pair, User
from values_support import back, encode, guest

from belljar import ValueRefused, _values

CALLED: list[object] = []


class Boom:
    """What would tell on itself if anything unpickled it."""

    def __reduce__(self) -> Any:
        return CALLED.append, ("boom",)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """By this thread's own clock: the machine may be busy."""
    before = time.thread_time()
    yield
    assert time.thread_time() - before < seconds


def refused(
    head: bytes, buffers: list[Any] | None = None, annotation: Any = None, match: str = "the guest|result"
) -> None:
    with pytest.raises(ValueRefused, match=match) as caught:
        _values.decode(head, [memoryview(buffer) for buffer in buffers or []], annotation)
    # Refused before anything was allocated, not because it could not be.
    assert "does not fit into memory" not in str(caught.value)


def blob(data: bytes) -> bytes:
    return (len(data) << 1).to_bytes(4, "little") + data


def number(value: int) -> bytes:
    return b"\x08" + blob(value.to_bytes(8, "little", signed=True))


def text(value: str) -> bytes:
    return b"\0" + blob(value.encode())


def test_the_helpers_write_what_a_guest_writes() -> None:
    """The control for all that is forged below."""
    assert _values.decode(b"\1i" + number(7), []) == 7
    assert _values.decode(b"\1l\2" + (2).to_bytes(8, "little") + b"s" + text("a\0b"), []) == ["a", "b"]


def test_other_formats_are_no_values() -> None:
    array = io.BytesIO()
    np.save(array, np.array([Boom()]), allow_pickle=True)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, pa.schema([("a", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch([[1]], names=["a"]))
    code = marshal.dumps(compile("CALLED.append(1)", "x", "exec"))
    for data in [pickle.dumps(Boom(), protocol) for protocol in range(6)] + [code, array.getvalue(), stream.getvalue()]:
        for head in data, b"\1" + data, b"\1k" + data, b"\1X" + data, b"\1W" + data, b"\1P" + data, b"":
            refused(head, annotation=Line)
        for tag in range(256):
            refused(bytes((1, tag)) + data)
            refused(bytes((1, tag)), [data])
    assert not CALLED


def test_pickles_inside_values_stay_shut() -> None:
    """Bytes are bytes, and a token is never opened; a guest can put any bytes into either."""
    data = pickle.dumps(Boom())
    assert back([data]) == [data]
    token = _values.decode(b"\1k\0\2" + len(data).to_bytes(8, "little") + blob(data), [])
    assert isinstance(token, _values.Kept) and not CALLED
    repr(token), hash(token), token == token, pickle.loads(pickle.dumps(token))
    assert not CALLED
    with pytest.raises(TypeError):
        back(Boom())
    with pytest.raises(TypeError):
        back(np.array([Boom()]))


def test_nothing_is_imported_by_name() -> None:
    before = set(sys.modules)
    for name in "antigravity", "this", "os.path", "antigravity/x", "../antigravity", "tzdata.zoneinfo":
        refused(b"\1B\1" + text("2020-01-01") + (1).to_bytes(4, "little") + b"s" + text(name) + number(0) + blob(b"\0"))
        refused(b"\1P" + text(name) + text("x"))
        refused(b"\1D" + text(name) + number(0), match="an unknown default")
        refused(b"\1xx" + text(name) + blob(bytes(8)))
    assert not {"antigravity", "this"} & (set(sys.modules) - before)
    control = (
        b"\1B\1" + text("2020-01-01") + (1).to_bytes(4, "little") + b"s" + text("Europe/Zurich") + b"\1" + blob(b"\0")
    )
    assert str(_values.decode(control + blob(b"\0"), []).tzinfo) == "Europe/Zurich"


def test_short_inputs_stay_small() -> None:
    """Each of these names far more than it brings."""
    huge = (1 << 40).to_bytes(8, "little")
    most = (1 << 62).to_bytes(8, "little")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with within(5):
        for tag in b"ltqhzdoC":
            for size in huge, most, b"\xff" * 8:
                refused(bytes((1, tag, 2)) + size + b"N" + blob(b"\0"))
                refused(bytes((1, tag, 8)) + blob(size))
        for tag in b"Nbifcsyagu":
            refused(b"\1l\2" + huge + bytes((tag,)) + blob(b""))
        refused(b"\1r" + b"\xff" * 4)
        refused(b"\1u" + b"\xff" * 4 + b"\1" + blob(b"\0"))
        refused(b"\1Od" + text("a\0b") + b"\xff" * 4)
        shape = b"t\2" + (2).to_bytes(8, "little") + b"i\x08" + blob(most * 2)
        refused(b"\1Xs" + text("<f8") + shape + b"C" + blob(b""))
        for dtype in "O", "|O8", "<U0", "V0", "S", "<f8,<f8", "object", "datetime64[ns]", "<U999999999":
            refused(b"\1Xs" + text(dtype) + shape + b"C" + blob(b""))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_memory_is_charged_before_it_is_taken() -> None:
    """A byte each on the wire, two hundred and more in memory: a million are fine, not any number."""
    count = 1_000_000
    empty_sets: list[set[int]] = [set() for _ in range(count)]
    head, buffers = encode(empty_sets)
    del empty_sets
    assert len(_values.decode(head, buffers)) == count
    with pytest.raises(ValueRefused, match="far more memory than what it sent"):
        _values.decode(head, buffers, room=0)


def test_deep_and_cyclic_values() -> None:
    deep: Any = []
    for _ in range(150):
        deep = [deep]
    assert back(deep) == deep
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(TypeError, match=r"result.* nested more than 200 levels deep; return"):
        back(deep)
    level = b"l\2" + (1).to_bytes(8, "little")
    for count in 201, 100_000:
        refused(b"\1" + level * count + b"N" + blob(b"\0"))
        refused(b"\1" + (b"u\1\0\0\0\1" + blob(b"\0")) * count + b"N" + blob(b"\0"))
    assert _values.decode(b"\1" + level * 150 + b"N" + blob(b"\0"), []) is not None
    loop: list[Any] = [1]
    loop.append({"x": (loop,)})
    for value in loop, [loop, loop], {"a": loop}:
        with pytest.raises(TypeError, match=r"result.* contains itself; return it without the loop"):
            back(value)
    bomb: list[Any] = []
    for _ in range(100):
        bomb = [bomb] * 10
    wide: dict[str, Any] = {}
    for _ in range(100):
        wide = dict.fromkeys("abcdefghij", wide)
    twice: Any = ()
    for _ in range(100):
        twice = twice, twice
    for value in bomb, wide, twice:
        with within(20), pytest.raises(TypeError, match="more than 67108864 items; return"):
            back(value)


def test_little_stack_is_no_crash() -> None:
    """A value that is deep, read by a host that is deep itself."""
    value: Any = 0
    for _ in range(90):
        value = [(value,)]
    head, buffers = encode(value)

    def down(levels: int) -> Any:
        return down(levels - 1) if levels else _values.decode(head, buffers)

    with pytest.raises(ValueRefused, match="too deeply for the stack"):
        down(sys.getrecursionlimit() - 150)
    assert down(10) == value


def test_huge_integers() -> None:
    for bits in 10_000_000, 80_000_001:
        with within(20):
            assert back(1 << bits) == 1 << bits
            assert back(-(1 << bits)) == -(1 << bits)
    with pytest.raises(TypeError, match="fraction of more than"):
        from fractions import Fraction

        back(Fraction(1, 3**20_000))
    # Two of a million bits take minutes to reduce.
    data = (3**20_000).to_bytes(4000, "little")
    size = b"\x08" + blob(len(data).to_bytes(8, "little"))
    with within(2):
        refused(b"\1Q\0" + size + blob(data) + b"\0" + size + blob(data), match="too large a fraction")


def test_odd_strings() -> None:
    refused(b"\1s\0" + blob(b"\xff\xfe"))
    refused(b"\1s\0" + blob(b"\xf4\x90\x80\x80"))
    refused(b"\1s\0" + blob(b"a\0b"))
    assert back("\ud800") == "\ud800"
    for word in "1e999999999999999999999", "1" * 10 + "x", "":
        refused(b"\1A" + text(word))
        refused(b"\1B\0" + text(word) + blob(b"\0"))
    refused(b"\1M" + text("x"))


def test_keys_that_fall_together() -> None:
    """All with one hash: a dict of them takes time with the square of their number."""
    modulus = sys.hash_info.modulus
    keys = [index * modulus for index in range(1, 60_001)]
    count = (60_000).to_bytes(8, "little")
    sizes = b"".join(((key.bit_length() >> 3) + 1).to_bytes(1, "little") for key in keys)
    body = b"".join(key.to_bytes((key.bit_length() >> 3) + 1, "little", signed=True) for key in keys)
    integers = b"i\0\1" + blob(sizes) + blob(body)
    with within(10):
        refused(b"\1h\2" + count + integers, match="chosen to be slow")
    with within(10):
        refused(b"\1d\2" + count + integers + b"N" + blob(bytes(60_000)), match="chosen to be slow")
    # As many that do not, and equal ones.
    honest = {index * 7: None for index in range(60_000)}
    with within(10):
        assert back(honest) == honest and back(set(honest)) == set(honest)
    refused(b"\1h\2" + (2).to_bytes(8, "little") + b"i\1" + blob(b"\1\1"), match="equal items")
    refused(b"\1d\2" + (2).to_bytes(8, "little") + b"i\1" + blob(b"\1\1") + b"N" + blob(b"\0\0"), match="equal keys")
    # No key at all.
    refused(b"\1d\2" + (1).to_bytes(8, "little") + b"l\1" + blob(b"\0") + b"N" + blob(b"\0"))


def test_buffers_are_used_once_and_in_order() -> None:
    first, second = bytes(100_000), b"\1" * 100_000
    head, buffers = encode([first, second])
    assert back([first, second]) == [first, second]
    refused(head, [buffers[0]])
    refused(head, [*buffers, b"x"])
    refused(head, [])
    at = head.rindex((3).to_bytes(4, "little"))
    refused(head[:at] + (1).to_bytes(4, "little") + head[at + 4 :], buffers, match="out of order")
    refused(head + b"\0", buffers, match="left over")
    refused(head[:-1], buffers)


def test_arrays_that_are_none() -> None:
    one = b"t\2" + (1).to_bytes(8, "little") + b"i\1" + blob(b"\2")
    control = b"\1Xs" + text("|b1") + one + b"C" + blob(b"\1\0")
    assert _values.decode(control, []).tolist() == [True, False]
    refused(b"\1Xs" + text("|b1") + one + b"C" + blob(b"\2\0"), match="neither")
    refused(b"\1Xs" + text("<U1") + one + b"C" + blob(b"\xff" * 8), match="a character that is none")
    refused(b"\1Xs" + text("<f8") + one + b"C" + blob(bytes(15)))
    refused(b"\1Xs" + text("<f8") + one + b"Z" + blob(bytes(16)))
    refused(b"\1xx" + text("|b1") + blob(b"\2"))
    many = b"t\2" + (40).to_bytes(8, "little") + b"i\1" + blob(b"\1" * 40)
    refused(b"\1Xs" + text("<f8") + many + b"C" + blob(bytes(8)), match="shape")


def lowered(value: Any) -> Any:
    guest["host"]["features"] = 1
    try:
        return guest["part"]("values_arrow")["lower"](value)
    finally:
        guest["host"]["features"] = 0


def arrow(low: Any) -> Any:
    """A polars series of what a guest says are Arrow's buffers."""
    encoder = guest["Encoder"](None)
    encoder.out.append(b"LS")
    encoder.column([("a", "String", "a", low)])
    return _values.decode(b"".join(encoder.out), [memoryview(bytearray(part)) for part in encoder.buffers])


def test_arrow_with_bad_buffers() -> None:
    kind, length, (validity, offsets, data), children = lowered(pa.array(["ab", "c", None], pa.large_string()))
    assert arrow((kind, length, [validity, offsets, data], children)).to_list() == ["ab", "c", None]
    bad = np.array([0, 1 << 40, 3, 3], np.int64).view(np.uint8)
    back_and_forth = np.array([0, 3, 1, 3], np.int64).view(np.uint8)
    negative = np.array([-5, 1, 2, 3], np.int64).view(np.uint8)
    for forged in [
        (kind, length, [validity, bad, data], children),
        (kind, length, [validity, back_and_forth, data], children),
        (kind, length, [validity, negative, data], children),
        (kind, length, [validity, offsets[:8], data], children),
        (kind, length, [validity, None, data], children),
        (kind, length, [validity, offsets, None], children),
        (kind, length, [validity, offsets], children),
        (kind, length, [validity, offsets, np.full(3, 255, np.uint8)], children),
        (kind, 1 << 50, [validity, offsets, data], children),
        (kind, -1, [validity, offsets, data], children),
        (kind, 1000, [None, offsets, data], children),
        ("int64", length, [None, data], []),
        ("int64", length, [None, None], []),
        ("extension", length, [None, data], []),
        (("extension", "arrow.py_extension_type"), length, [None, data], []),
        (("dictionary", False), 1, [], [("int32", 1, [None, np.full(4, 9, np.uint8)], []), (kind, 0, [None] * 3, [])]),
        (("list",), 1, [None, np.full(8, 9, np.uint8)], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("struct", ["a"]), 10, [None], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("fixed_list", 1 << 30), 10, [None], [("int8", 1, [None, np.zeros(1, np.uint8)], [])]),
        (("decimal", 128, 1, 0), 1, [None, np.full(16, 127, np.uint8)], []),
        (("timestamp", "ns", "../../etc"), 1, [None, np.zeros(8, np.uint8)], []),
    ]:
        with pytest.raises(ValueRefused):
            arrow(forged)


def test_arrow_extension_types_are_never_made() -> None:
    """A host may have registered some; no guest reaches them."""

    class Loud(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "test.loud")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialized: Any) -> Any:
            CALLED.append("extension")
            return cls()

    pa.register_extension_type(Loud())
    try:
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.ExtensionArray.from_storage(Loud(), pa.array([1]))))
        guest["host"]["features"] = 1
        with pytest.raises(TypeError, match="is of Arrow's type extension"):
            back(column)
    finally:
        guest["host"]["features"] = 0
        pa.unregister_extension_type("test.loud")
    assert not CALLED


def test_frames_that_are_none() -> None:
    def frame(*low: Any) -> Any:
        encoder = guest["Encoder"](None)
        encoder.out.append(b"W")
        encoder.column([low])
        return _values.decode(b"".join(encoder.out), [memoryview(bytearray(part)) for part in encoder.buffers])

    index = ("R", 0, 2, 1, None)
    names = ("I", ("o", ["a"]), None, None)
    column = ("n", np.arange(2))
    assert frame("F", names, index, [column], None).shape == (2, 1)
    for low in [
        ("F", names, index, [("n", np.arange(3))], None),
        ("F", names, index, [column, column], None),
        ("F", names, index, [("n", [1, 2])], None),
        ("F", names, ("R", 0, 2, 0, None), [column], None),
        ("F", names, ("M", [index], [np.array([5, 6])], ["x"]), [column], None),
        ("F", names, index, [("c", np.array([5, 6]), index, False)], None),
        ("F", names, index, [("m", "Int64", np.arange(2), np.zeros(3, bool))], None),
        ("F", names, index, [("m", "object", np.arange(2), np.zeros(2, bool))], None),
        ("F", names, index, [("z", np.arange(2).view("M8[ns]"), ("zone", "../x"))], None),
        ("F", names, index, [("z", np.arange(2).view("M8[ns]"), ("pytz", "../x"))], None),
        ("F", names, index, [("s", "pickle", "NA", ["a", "b"])], None),
        ("F", names, index, [("s", "python", "NA", ["a", 2])], None),
        ("F", names, index, [("p", np.arange(2), "__import__('os')")], None),
        ("__class__", "x"),
        ("F",),
        ("T", "2020", None),
    ]:
        try:
            pytest.fail(f"{low} is accepted as {frame(*low)}")
        except ValueRefused:
            pass


def test_labels_that_fall_together() -> None:
    """pandas' tables have no secret: numbers with one hash make it take time with the square of their number."""
    low = np.arange(1, 400_000, dtype=np.uint64)
    high = (low ^ (low << np.uint64(11))) & np.uint64(0xFFFFFFFF)
    bad = ((high << np.uint64(33)) | low).view(np.int64)
    together = [index * sys.hash_info.modulus for index in range(1, 60_001)]
    for index in [
        pd.Index(bad),
        pd.Index(bad[::-1].view("M8[ns]")),
        pd.MultiIndex(levels=[pd.Index(bad), [1]], codes=[[0], [0]], verify_integrity=False),
        pd.Index(together, dtype=object),
    ]:
        low_level = guest["part"]("values_pandas")["index"](index)
        encoder = guest["Encoder"](None)
        encoder.out.append(b"W")
        encoder.column([low_level])
        with within(20):
            refused(b"".join([b"\1", *encoder.out[1:]]), [bytes(part) for part in encoder.buffers], match="to be slow")
    for honest in [
        pd.Index(np.arange(400_000) << 20),
        pd.Index(np.zeros(400_000, np.int64)),
        pd.Index(np.random.default_rng(0).integers(0, 1 << 62, 400_000)),
        pd.date_range("2020", periods=400_000, freq="s", tz="UTC"),
        pd.Index([(index, str(index)) for index in range(10_000)], tupleize_cols=False),
    ]:
        with within(20):
            pd.testing.assert_index_equal(back(honest), honest)


def corpus() -> list[tuple[bytes, list[memoryview]]]:
    """A valid encoding of everything."""
    frames = [
        pd.DataFrame(
            {"a": [1, 2], "b": ["x", None], "c": pd.Categorical(["a", "b"]), "d": pd.array([1, None], "Int64")}
        ),
        pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [[1], [2, 3]]}),
        [np.arange(6).reshape(2, 3), np.float64(1), np.array(["a"]), np.array([True])],
        [LINE, Pair(1, 2), User(name="a")],
        [{"a": index, "b": str(index), "c": None if index % 2 else 1.5} for index in range(100)],
        b"x" * 70_000,
    ]
    guest["host"]["features"] = 1
    made = [encode(value) for value in [*EXAMPLES, *frames]]
    guest["host"]["features"] = 0
    return made


CORPUS = corpus()


def survives(head: bytes, buffers: list[Any]) -> None:
    try:
        value = _values.decode(head, [memoryview(bytearray(buffer)) for buffer in buffers], tuple[Line, Pair, User])
    except ValueRefused:
        return
    # What is accepted can be used.
    if not isinstance(value, int):
        try:
            repr(value)
        except (ValueError, OverflowError, ArithmeticError):
            pass


@pytest.mark.parametrize("seed", range(8))
def test_mutated_values(seed: int) -> None:
    """Bytes changed, cut, doubled and swapped: a refusal or a value, and never anything else."""
    chance = random.Random(seed)
    for _ in range(1500):
        head, buffers = chance.choice(CORPUS)
        data = bytearray(head)
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            at = chance.randrange(len(data))
            what = chance.randrange(6)
            if what == 0:
                data[at] = chance.randrange(256)
            elif what == 1:
                data[at] ^= 1 << chance.randrange(8)
            elif what == 2:
                del data[at : at + chance.randrange(1, 9)]
            elif what == 3:
                data[at:at] = data[at : at + chance.randrange(1, 17)]
            elif what == 4:
                data[at : at + 8] = chance.choice((b"\xff" * 8, bytes(8), (1 << 62).to_bytes(8, "little")))
            else:
                other = chance.choice(CORPUS)[0]
                data[at : at + 8] = other[chance.randrange(len(other)) :][:24]
            if not data:
                data = bytearray(b"\1")
        changed = [bytes(buffer) for buffer in buffers]
        if changed and chance.random() < 0.5:
            changed[0] = changed[0][: chance.randrange(len(changed[0]))]
        survives(bytes(data), changed)
    gc.collect()


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300), st.lists(st.binary(max_size=50), max_size=3))
@example(b"", [])
def test_any_bytes(head: bytes, buffers: list[bytes]) -> None:
    survives(head, buffers)
    survives(b"\1" + head, buffers)


def test_refusals_have_path_and_fix() -> None:
    class Text(str):
        pass

    def items() -> Iterator[int]:
        yield 1

    for value, words in [
        ({"a": [0, 1, 2, object()]}, r"result\['a'\]\[3\] is of type builtins.object, .*; return plain data"),
        ({"a": Text("x")}, r"result\['a'\] is of type .*Text, .*; return str\(...\) of it"),
        ([{Text("x"): 1}], r"result\[0\].key\('x'\) is of type .*Text"),
        (({1: {2: {len}}},), r"result\[0\]\[1\]\[2\]\{<built-in function len>\} is of type builtins.builtin"),
        (Pair(1, items()), r"result.right is of type builtins.generator, .*; return a list"),
        (memoryview(b"x"), r"result is of type builtins.memoryview, .*; return bytes"),
        (ValueError("x"), r"result is of type builtins.ValueError, .*; raise it, or return str"),
        ([int], r"result\[0\] is of type builtins.type"),
        (Path, r"result is of type"),
    ]:
        with pytest.raises(TypeError, match=words) as caught:
            back(value)
        assert type(caught.value).__name__ == "ValueRefused"
