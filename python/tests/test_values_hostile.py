"""What a hostile guest may send instead of a value: the host refuses it, quickly, and runs nothing."""

from __future__ import annotations

import io
import marshal
import pickle
import resource
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hostile_support import CALLED, Boom, blob, number, refused, text, within
from test_values_classes import Line, Pair
from values_support import back, encode

from belljar import ValueRefused, _values


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


def test_refusals_on_the_host_have_the_row_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the host lacks is told of with its own row, though rows come as columns."""
    import zoneinfo

    zurich, tokyo = zoneinfo.ZoneInfo("Europe/Zurich"), zoneinfo.ZoneInfo("Asia/Tokyo")
    late = datetime(2024, 5, 1, tzinfo=tokyo)
    early = datetime(2024, 5, 1, tzinfo=zurich)
    cases: list[tuple[object, str]] = [
        (late, "result"),
        ([early, late], "result[1]"),
        ([{"x": early, "y": early}] * 17 + [{"x": early, "y": late}], "result[17]['y']"),
        ([[], [early], [early, early, late]], "result[2][2]"),
        ([(early, 1), (early, 2), (late, 3)], "result[2][0]"),
        ({"a": {1: early, 2: late}}, "result['a'][2]"),
        ([1, "x", {"k": [early]}, None, {"k": [early, late]}], "result[4]['k'][1]"),
        ([{early}, {early, late}], "result[1]{...}"),
        ([Pair(1, early), Pair(1, late)], "result[1].right"),
        ({early: 1, late: 2}, "result.key(...)"),
    ]
    sent = [(encode(value), path) for value, path in cases]
    real = zoneinfo.ZoneInfo

    def without_tokyo(name: str) -> zoneinfo.ZoneInfo:
        if name == "Asia/Tokyo":
            raise zoneinfo.ZoneInfoNotFoundError(name)
        return real(name)

    monkeypatch.setattr(zoneinfo, "ZoneInfo", without_tokyo)
    for (head, buffers), path in sent:
        with pytest.raises(ValueRefused) as caught:
            _values.decode(head, buffers)
        assert caught.value.message == f"{path} has the time zone Asia/Tokyo, which is not known here"
