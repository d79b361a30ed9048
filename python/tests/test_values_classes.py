"""Records with a class: plain data, or the class itself where the host's annotation names it."""

from __future__ import annotations

import enum
import pickle
import threading
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Optional, TypedDict, TypeVar

import cloudpickle
import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from values_support import back, encode, guest, load, same

from belljar import ValueRefused, _values


class Colour(enum.Enum):
    RED = "r"
    ODD = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Bits(enum.Flag):
    A = 1
    B = 2


@dataclass
class Point:
    x: int
    y: float = 0.0
    double: int = field(init=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")
        self.double = 2 * self.x


@dataclass(frozen=True)
class Line:
    points: list[Point]
    colour: Optional[Colour] = None  # noqa: UP045 - both spellings must be understood


@dataclass
class Empty:
    pass


@dataclass
class Node:
    value: int
    children: list[Node]


class Pair(NamedTuple):
    left: Any
    right: Any


Plain = namedtuple("Plain", "a b")


class Movie(TypedDict):
    name: str
    pair: Pair


class User(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str
    age: int = Field(default=3, alias="years")
    line: Line | None = None


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    size: int = Field(default=1, validation_alias=AliasChoices("size_a", "size_b"))
    inner: Optional[User] = None  # noqa: UP045


T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    item: T


LINE = Line([Point(1, 2.5), Point(3)], Colour.RED)


@dataclass(frozen=True)
class Account:
    """Whose fields are in part none of a caller's business."""

    name: str
    admin: bool = field(init=False)
    trusted: bool = field(init=False, default=False)
    rights: list[str] = field(init=False, default_factory=list)
    #: Set later, by a method.
    seen: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "admin", self.name == "root")


@dataclass(slots=True)
class Slotted:
    name: str
    fixed: int = field(init=False, default=1)
    seen: int = field(init=False)


def test_what_a_class_computes_is_its_own() -> None:
    """A guest can set any attribute of its own copy; the host's class says what the value is."""
    forged = Account("guest")
    for name, value in {"admin": True, "trusted": True, "rights": ["all"], "seen": 7}.items():
        object.__setattr__(forged, name, value)
    made = back(forged, Account)
    assert (made.name, made.admin, made.trusted, made.rights, made.seen) == ("guest", False, False, [], 7)
    # It is what the class says for that name, not what is harmless.
    root = Account("root")
    object.__setattr__(root, "seen", 1)
    object.__setattr__(root, "admin", False)
    assert back(root, Account).admin is True
    slotted = Slotted("x")
    slotted.fixed, slotted.seen = 2, 3
    made = back(slotted, Slotted)
    assert (made.fixed, made.seen) == (1, 3)
    # Without the class it is data.
    assert back(forged)["admin"] is True


def test_plain_without_annotation() -> None:
    assert back(LINE) == {
        "points": [{"x": 1, "y": 2.5, "double": 2}, {"x": 3, "y": 0.0, "double": 6}],
        "colour": "r",
    }
    assert same(back(Pair(1, [2])), (1, [2]))
    assert same(back([Colour.RED, Colour.ODD, Level.LOW, Bits.A | Bits.B]), ["r", (1, 2), 1, 3])
    assert back([Empty(), Empty()]) == [{}, {}]
    assert back(User.model_validate({"name": "a", "years": 4, "more": [1]})) == {
        "name": "a",
        "age": 4,
        "line": None,
        "more": [1],
    }
    # Another class than the one that came.
    assert back(Pair(1, 2), list[Point]) == (1, 2)


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (LINE, Line),
        ([LINE, None, LINE], list[Line | None]),
        ({"a": (1, LINE)}, dict[str, tuple[int, Line]]),
        (LINE.points, "list[Point]"),
        (Node(1, [Node(2, []), Node(3, [Node(4, [])])]), Node),
        (Empty(), Empty | None),
        (Pair(Colour.ODD, Level.LOW), tuple[Pair, Colour, Level]),
        ([Plain(1, 2)] * 3, list[Plain]),
        (Bits.A | Bits.B, Bits),
        ({"name": "x", "pair": Pair(1, 2)}, Movie),
        (User(name="a", line=LINE), User),
        ([User.model_validate({"name": "a", "years": 4, "extra": {"b": 1}})], list[User]),
        (Frozen.model_validate({"size_b": 4, "inner": {"name": "b"}}), Frozen),
        (Box(LINE), Box[Line]),
        ({Colour.RED: {Pair(1, 2)}}, dict[Colour, set[Pair]]),
    ],
)
def test_rebuilt_with_annotation(value: Any, annotation: Any) -> None:
    if isinstance(annotation, str):
        annotation = eval(annotation)
    made = back(value, annotation)
    assert made == value and type(made) is type(value) and repr(made) == repr(value)
    assert back(value, _values.classes(annotation)) == value


def test_what_was_set_stays() -> None:
    assert back(User(name="a"), User).model_fields_set == {"name"}
    assert back(User(name="a", years=3), User).model_fields_set == {"name", "age"}


def test_classes_check_what_they_are_given() -> None:
    bad = Point(1)
    bad.x = -1
    with pytest.raises(ValueRefused, match=r"Point does not take .*x is negative"):
        back([bad], list[Point])
    with pytest.raises(ValueRefused, match=r"^result\[1\]\['a'\]\[2\]: Point does not take"):
        back([{"a": [Point(1)]}, {"a": [Point(1), Point(2), bad]}], list[dict[str, list[Point]]])
    assert back([bad]) == [{"x": -1, "y": 0.0, "double": 2}]
    user = User(name="a")
    user.__dict__["name"] = 7
    with pytest.raises(ValueRefused, match="User does not take"):
        back(user, User)


def test_a_guest_cannot_name_a_class() -> None:
    """Names only choose among what the annotation has; a forged one finds nothing, and imports nothing."""
    head, buffers = encode(Pair(1, 2))
    forged = head.replace(__name__.encode(), b"os\0system"[: len(__name__)].ljust(len(__name__), b"x"))
    assert forged != head
    for annotation in None, Pair:
        try:
            assert _values.decode(forged, buffers, annotation) == (1, 2)
        except ValueRefused:
            pass
    other = head.replace(b"\0Pair", b"\0Line")
    assert _values.decode(other, buffers, Line) == (1, 2)


def test_another_shape_of_the_class_is_refused() -> None:
    @dataclass
    class Point:
        z: int

    Point.__qualname__ = "Point"
    with pytest.raises(ValueRefused, match="Point does not take what the guest sent: TypeError: its fields are z"):
        back(Point(1), globals()["Point"])


def pickler(value: object) -> tuple[bytes, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    return cloudpickle.dumps(value, 5, buffer_callback=buffers.append), buffers


def test_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    inside = ModuleType("belljar")
    vars(inside).update(load("belljar_guest"))
    secret: dict[str, Any] = {"weights": [1.0, 2.0], "loop": []}
    secret["loop"].append(secret)
    token = back({"model": inside.keep(secret), "score": 1})
    assert token["score"] == 1 and isinstance(token["model"], _values.Kept)
    assert "bytes" in repr(token["model"]) and pickle.loads(pickle.dumps(token["model"])) == token["model"]
    head, buffers = _values.encode([token["model"]], pickler=pickler)
    with monkeypatch.context() as patch:
        # As in a jar, where the name belongs to the guest's own module.
        patch.setitem(sys.modules, "belljar", inside)
        opened = guest["decode"](head, buffers)[0]
    assert opened["weights"] == [1.0, 2.0] and opened["loop"][0] is opened
    with pytest.raises(TypeError, match=r"result\[1\] cannot be kept"):
        back([0, inside.keep(threading.Lock())])


def test_the_guest_learns_what_the_host_has() -> None:
    from belljar._values.features import features, installed

    assert features() == 1 and installed("pyarrow") and not installed("no_such_package")
    guest["decode"](*_values.encode(1, pickler=pickler))
    assert guest["host"]["features"] == 1
    guest["host"]["features"] = 0


def test_host_to_guest() -> None:
    shared = [1]
    value = {"a": shared, "b": shared, "c": pickle.PickleBuffer(bytearray(200_000)), 3: (None, LINE)}
    head, buffers = _values.encode(value, pickler=pickler)
    assert len(buffers) == 1 and len(head) < 1000
    made = guest["decode"](head, [memoryview(bytearray(buffer)) for buffer in buffers])
    assert made["c"] == bytearray(200_000) and made[3] == (None, LINE)
    assert made["a"] == [1] and made["a"] is made["b"]
    function = _values.pickled(lambda x, y: x + y, pickler=pickler)
    parts = _values.encode_call(function, ((1,), {"y": 2}), pickler=pickler)
    call, args, kwargs = guest["decode"](parts.head, parts.buffers)
    assert call(*args, **kwargs) == 3
