"""Ordinary code of some size, and in the styles of the libraries that people build on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from capture.project import run, write


def ring(count: int) -> dict[str, str]:
    """Modules of one package that import each other, with what modules have: locks, loggers, open files, classes."""
    body = """
import logging, threading
{imports}
LOCK, LOG, FILE = threading.Lock(), logging.getLogger(__name__), open(__file__)
class Thing:
    value = {number}
def total(depth):
    return {number} + (m{next}.total(depth - 1) if depth else 0)
"""
    files = {"ring/__init__.py": ""}
    for number in range(count):
        imports = "\n".join(f"from . import m{other}" for other in range(count) if other != number)
        files[f"ring/m{number}.py"] = body.format(imports=imports, number=number, next=(number + 1) % count)
    return files


def test_forty_modules_that_import_each_other(tmp_path: Path) -> None:
    write(tmp_path, ring(40))
    main = """
from belljar import sandbox
from ring import m0, m7
from ring.m7 import Thing
@sandbox(timeout=20)
def f(thing):
    return m0.total(39), thing.value, isinstance(thing, Thing), m7.Thing is Thing
print(f(Thing()), f(Thing()))
"""
    told = f"({sum(range(40))}, 7, True, True)"
    assert run(main, write(tmp_path, ring(40))) == [f"{told} {told}"]


def test_a_function_of_a_package_of_five_hundred_files(tmp_path: Path) -> None:
    files = {f"big/part{number}/m{item}.py": f"X = {item}\n" for number in range(25) for item in range(20)}
    files |= {f"big/part{number}/__init__.py": "" for number in range(25)}
    files |= {"big/__init__.py": "", "big/tasks.py": """
from belljar import sandbox
from big.part3 import m4
from big.part24 import m19
@sandbox
def work():
    import os
    from big.part0.m7 import X
    count = sum(name.endswith(".py") for _, _, names in os.walk("/own") for name in names)
    return m4.X, m19.X, X, count
"""}  # fmt: skip
    write(tmp_path, files)
    assert run("from big.tasks import work\nprint(work(), work())\n", tmp_path) == ["(4, 19, 7, 527) (4, 19, 7, 527)"]


def test_asserts_that_pytest_has_rewritten(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "helper.py": "def positive(x):\n    return x > 0\n",
            "test_it.py": """
from belljar import sandbox
import helper
import pytest

@sandbox
def checked(x):
    def inner(y):
        assert helper.positive(y), f"bad {y}"
        return y
    return [inner(value) for value in x]

@sandbox
def plain(x):
    assert x == 1, "one"
    return x

def test_good():
    assert checked([1, 2]) == [1, 2] and plain(1) == 1

def test_bad():
    with pytest.raises(AssertionError, match="bad -1"):
        checked([1, -1])
    with pytest.raises(AssertionError, match="one"):
        plain(2)
""",
        },
    )
    words = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
    told = subprocess.run(words, capture_output=True, text=True, timeout=100, cwd=tmp_path, check=False)
    assert "2 passed" in told.stdout, told.stdout + told.stderr
    # The control: pytest did rewrite them.
    probe = "import test_it\ndef test_rewritten():\n    assert '@pytest_ar' in test_it.plain.__wrapped__.__code__.co_names\n"
    (tmp_path / "test_probe.py").write_text(probe)
    words[-1] = str(tmp_path / "test_probe.py")
    again = subprocess.run(
        [*words, str(tmp_path / "test_it.py")], capture_output=True, text=True, timeout=100, cwd=tmp_path, check=False
    )
    assert "3 passed" in again.stdout, again.stdout + again.stderr


DJANGO = {
    "site_/__init__.py": "",
    "site_/settings.py": """
SECRET_KEY = "not one"
INSTALLED_APPS = ["django.contrib.contenttypes", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
""",
    "shop/__init__.py": "",
    "shop/models.py": """
from django.db import models

class Item(models.Model):
    name = models.CharField(max_length=20)
    price = models.IntegerField()

    def label(self):
        return f"{self.name}: {self.price}"
""",
    "shop/tasks.py": """
import sys
import django
from belljar import sandbox

@sandbox(venv=sys.prefix, env={"DJANGO_SETTINGS_MODULE": "site_.settings"}, modules=["site_"])
def work(prices):
    django.setup()
    from django.db import connection
    from shop.models import Item
    with connection.schema_editor() as editor:
        editor.create_model(Item)
    for price in prices:
        Item.objects.create(name="pen", price=price)
    return Item.objects.count(), [item.label() for item in Item.objects.order_by("price")]
""",
}


def test_django(tmp_path: Path) -> None:
    """Settings are named by a string, which nobody can see in the code: `modules=` names them."""
    write(tmp_path, DJANGO)
    # In a program that has it all set up already, as manage.py has.
    main = """
import os
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "site_.settings"
django.setup()
import shop.models
from shop.tasks import work
print(work([2, 1]), work([3]))
"""
    assert run(main, tmp_path) == ["(2, ['pen: 1', 'pen: 2']) (1, ['pen: 3'])"]


SQLALCHEMY = {
    "app/__init__.py": "",
    "app/models.py": """
import logging
from sqlalchemy import create_engine, ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, sessionmaker

log = logging.getLogger("app")
engine = create_engine("sqlite://")
Session = sessionmaker(engine)

class Base(DeclarativeBase):
    pass

class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    orders: Mapped[list["Order"]] = relationship(back_populates="user")

class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    user: Mapped[User] = relationship(back_populates="orders")
""",
    "app/tasks.py": """
import sys
from belljar import sandbox
from app.models import Base, Order, Session, User, engine, log

@sandbox(venv=sys.prefix)
def work(name):
    log.info("working")
    Base.metadata.create_all(engine)
    with Session() as session:
        session.add(User(name=name, orders=[Order(), Order()]))
        session.commit()
        return [(user.name, len(user.orders)) for user in session.query(User)]
""",
}


def test_sqlalchemy(tmp_path: Path) -> None:
    assert run("from app.tasks import work\nprint(work('a'), work('b'))\n", write(tmp_path, SQLALCHEMY)) == [
        "[('a', 2)] [('b', 2)]"
    ]


def test_sqlalchemy_in_the_functions_own_module(tmp_path: Path) -> None:
    """Its classes and its engine cannot go by value."""
    models = SQLALCHEMY["app/models.py"]
    tasks = SQLALCHEMY["app/tasks.py"].replace("from app.models import Base, Order, Session, User, engine, log\n", "")
    write(tmp_path, {"app/__init__.py": "", "app/all.py": models + tasks})
    assert run("from app.all import work\nprint(work('a'))\n", tmp_path) == ["[('a', 2)]"]


CLASSES = """
import abc, enum, sys
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypedDict, TypeVar
import attrs
from pydantic import BaseModel, field_validator
from belljar import sandbox

T = TypeVar("T")

@attrs.define
class Point:
    x: int
    y: int = attrs.field(default=2, validator=attrs.validators.instance_of(int))

@dataclass(frozen=True)
class Line:
    points: tuple = field(default_factory=tuple)

class Colour(enum.Enum):
    RED = "red"

class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()

class Model(BaseModel):
    name: str
    tags: list[str] = []

    @field_validator("name")
    @classmethod
    def short(cls, value):
        return value[:3]

class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

class Square(Shape):
    def area(self):
        return 4

class Box(Generic[T]):
    def __init__(self, item: T) -> None:
        self.item = item

class Pair(NamedTuple):
    one: int
    two: int

@sandbox(venv=sys.prefix)
def work(point, line, colour, model, shape, box, pair):
    return [
        isinstance(point, Point) and point.y, attrs.asdict(Point(1)), isinstance(line, Line) and len(line.points),
        colour is Colour.RED, (Flags.A | Flags.B).value, isinstance(model, Model) and model.name,
        Model(name="abcdef").name, isinstance(shape, Shape) and shape.area(), box.item, isinstance(pair, Pair),
    ]

def arguments():
    return Point(1), Line((1,)), Colour.RED, Model(name="x"), Square(), Box(5), Pair(1, 2)
"""
TOLD = "[2, {'x': 1, 'y': 2}, 1, True, 3, 'x', 'abc', 4, 5, True]"


def test_classes_of_every_style_in_a_script_and_in_a_module(tmp_path: Path) -> None:
    assert run(CLASSES + "\nprint(work(*arguments()))\n", tmp_path) == [TOLD]
    write(tmp_path, {"classes.py": CLASSES})
    assert run("import classes\nprint(classes.work(*classes.arguments()))\n", tmp_path) == [TOLD]
    # As source: the function that uses them is in another module.
    main = """
import sys
from belljar import sandbox
import classes
@sandbox(venv=sys.prefix)
def work(*given):
    return classes.work(*given)
print(work(*classes.arguments()))
"""
    assert run(main, tmp_path) == [TOLD]


def test_names_of_classes_and_cached_properties_by_value(tmp_path: Path) -> None:
    main = """
from functools import cached_property
from belljar import sandbox
class Outer:
    class Inner:
        @cached_property
        def value(self):
            return [1]
def made():
    class Local:
        pass
    return Local
Local = made()
@sandbox
def f():
    inner = Outer.Inner()
    return Outer.Inner.__qualname__, Local.__qualname__, inner.value is inner.value
print(f())
"""
    assert run(main, tmp_path) == ["('Outer.Inner', 'made.<locals>.Local', True)"]
