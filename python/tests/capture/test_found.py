"""What was found by those who attacked the capture; each was wrong once."""

from __future__ import annotations

import os
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from belljar import Sandbox, ValueRefused, sandbox
from belljar._capture import imports, own, tree
from belljar._capture.read import Full
from capture.project import run, write
from capture.test_tree import pack, packed  # noqa: F401


def test_links_of_a_strict_editable_install_lead_to_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write(
        tmp_path / "project" / "src", {"shop/__init__.py": "X = 1\n", "shop/data.txt": "data", "shop/sub/a.py": ""}
    )
    write(tmp_path / "home", {"key.pem": "-----BEGIN PRIVATE KEY-----", "notes.txt": "CANARY", "data.txt": "CANARY"})
    place = tmp_path / "build" / "__editable__.shop-1.0-py3-none-any" / "shop"
    (place / "sub").mkdir(parents=True)
    for name in "__init__.py", "data.txt", "sub/a.py":
        (place / name).symlink_to(real / "shop" / name)
    monkeypatch.syspath_prepend(place.parent)
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    assert sorted(packed("shop")) == ["shop/__init__.py", "shop/data.txt", "shop/sub/a.py"]
    (place / "n.txt").symlink_to(tmp_path / "home" / "notes.txt")
    (place / "data.txt").unlink()
    (place / "data.txt").symlink_to(tmp_path / "home" / "data.txt")
    (place / "__init__.py").unlink()
    (place / "__init__.py").symlink_to(tmp_path / "home" / "key.pem")
    assert dict(packed("shop")) == {"shop/sub/a.py": b""}
    del sys.modules["shop"]


def test_a_call_that_is_refused_leaves_no_trace(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": "from belljar import sandbox\nLIMIT = 1\n@sandbox\ndef f(x):\n    return LIMIT\n"
                     "class Odd:\n    def __reduce__(self):\n        raise TypeError('not by value')\n"})  # fmt: skip
    main = """
import threading
import app
from belljar import ValueRefused
app.LIMIT = 5
print(app.f([1]), app.f(1))
for bad in (threading.Lock(), app.Odd()):
    try:
        app.f(bad)
    except ValueRefused as error:
        print(type(bad).__name__)
    print(app.f([1]), app.f(1))
"""
    assert run(main, tmp_path) == ["5 5", "lock", "5 5", "Odd", "5 5"]


def test_what_pickle_knows_by_its_name_only_takes_its_module_along(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "lib.py": """
import functools
@functools.lru_cache
def cached(x):
    return x * 2
class Single:
    def __reduce__(self):
        return "ONE"
ONE = Single()
"""
        },
    )
    main = """
import functools, typing
from belljar import run, sandbox
from lib import cached, ONE, Single
@functools.lru_cache(maxsize=7, typed=True)
def here(x):
    return x * 3
Kind = typing.TypeVar("Kind")
@sandbox
def f(given):
    return cached(4), isinstance(ONE, Single), given(5), here(2), here(2), here.cache_info()[:3], Kind.__name__
print(f(cached))
print(run("c(3)", inputs={"c": cached}).check().value)
"""
    assert run(main, tmp_path) == ["(8, True, 10, 6, 6, (1, 1, 7), 'Kind')", "6"]


def test_rooms_of_functions_with_other_modules_are_few(tmp_path: Path) -> None:
    files = {f"many/m{number}.py": f"X = {number}\n" for number in range(40)}
    write(tmp_path, {"many/__init__.py": "", **files})
    main = """
import importlib
from belljar import _frames, sandbox
opens = []
encode = _frames.encode
def counting(kind, *given):
    opens.append(kind == _frames.OPEN)
    return encode(kind, *given)
_frames.encode = counting
modules = [importlib.import_module(f"many.m{number}") for number in range(40)]
def function(module):
    return sandbox(lambda: module.X)
print([function(module)() for module in modules] == list(range(40)), sum(opens))
"""
    assert run(main, tmp_path) == ["True 2"]


def test_what_a_class_has_is_as_it_is_at_the_call() -> None:
    class Meta(type):
        extra = 1

    class Kind(metaclass=Meta):
        allowed, handler, op, cut, _abcd = frozenset({1}), int, len, slice(1), 1

        class Inner:
            x = 1

    @sandbox
    def f() -> list[Any]:
        return [
            sorted(Kind.allowed),
            Kind.handler("7"),
            Kind.op([2]),
            Kind.cut.stop,
            Kind._abcd,
            Kind.Inner.x,
            Kind.extra,
        ]

    assert f() == [[1], 7, 1, 1, 1, 1, 1]
    Kind.allowed, Kind.handler, Kind.op, Kind.cut, Kind._abcd = frozenset({2}), float, max, slice(2), 2  # type: ignore[assignment]
    Kind.Inner.x, Meta.extra = 2, 2
    assert f() == [[2], 7.0, 2, 2, 2, 2, 2]


def test_submodules_that_only_an_inner_function_names() -> None:
    import xml.dom.minidom

    @sandbox
    def f() -> list[str]:
        return [node.toxml()[-4:] for node in (lambda: [xml.dom.minidom.parseString("<a/>")])()]

    assert f() == ["<a/>"]


def test_a_folder_in_the_place_of_a_file_is_nothing(pack: Path) -> None:  # noqa: F811
    (pack / "v1").mkdir()
    (pack / "v1" / "a.txt").write_text("a")
    (pack / "v2").symlink_to("v1")
    (pack / "mod.py").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        assert sorted(packed()) == ["swapped/__init__.py", "swapped/data.txt", "swapped/v1/a.txt"]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_package_is_no_link_to_a_folder_of_another_name(pack: Path, tmp_path: Path) -> None:  # noqa: F811
    packed()
    write(tmp_path / "private", {"company/__init__.py": "", "company/customers.csv": "CANARY"})
    pack.rename(tmp_path / "away")
    pack.symlink_to(tmp_path / "private" / "company")
    assert dict(packed()) == {}


TEXTS = [b"from" + b" " * 200_000, b"from x import (\n" * 60_000, b"import " + b"," * 200_000, b"from . " * 60_000]


@pytest.mark.parametrize("text", TEXTS, ids=["blanks", "brackets", "commas", "dots"])
def test_no_text_takes_long_to_look_through(text: bytes) -> None:
    """By the work that is done, not by a clock: the number of characters that are looked at is bounded by the pattern."""
    code = "from belljar._capture.imports import all_of\nimport sys, resource\n"
    code += "all_of(sys.stdin.buffer.read())\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_utime)\n"
    import subprocess

    told = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, check=True, timeout=100)
    assert float(told.stdout) < 5


def test_what_is_not_sent_counts_as_read(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for number in range(40):
        (pack / f"{number}.pem").write_bytes(b"-----BEGIN RSA PRIVATE KEY-----" + bytes(1000))
    monkeypatch.setattr(tree, "MOST_BYTES", 20_000)
    assert sorted(packed()) == ["swapped/__init__.py"]


def test_keys_are_seen_by_what_is_in_them_and_modules_by_their_ending(pack: Path) -> None:  # noqa: F811
    texts = {
        "pgp.asc": b"-----BEGIN PGP PRIVATE KEY BLOCK-----", "ec": b"x\n-----BEGIN EC PRIVATE KEY-----",
        "wide.txt": "-----BEGIN PRIVATE KEY-----".encode("utf-16"), "public.pem": b"-----BEGIN PUBLIC KEY-----",
        "credentials.py": b"-----BEGIN PRIVATE KEY-----", "credentials.json": b"{}", "data.pyc": b"", "__init__.pyc": b"x",
    }  # fmt: skip
    for name, text in texts.items():
        (pack / name).write_bytes(text)
    for folder in "id_rsa_tools", "hg/.hg", "svn/.svn", "env":
        (pack / folder).mkdir(parents=True)
    (pack / "env" / "pyvenv.cfg").write_text("x")
    for folder in "id_rsa_tools", "hg", "svn", "env":
        (pack / folder / "x.py").write_text("")
    names = ["__init__.py", "credentials.py", "data.pyc", "data.txt", "id_rsa_tools/x.py", "public.pem"]
    assert sorted(packed()) == [f"swapped/{name}" for name in names]


def test_archives_are_read_with_the_same_care(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {
            "zipped/__init__.py": "X = 1\n", "zipped/data.txt": "data", "zipped/k.pem": "-----BEGIN PRIVATE KEY-----",
            "zipped/.env": "SECRET", "zipped/venv/pyvenv.cfg": "", "zipped/venv/x.py": "", "zipped/id_rsa": "x",
        }.items():  # fmt: skip
            archive.writestr(name, text)
    monkeypatch.syspath_prepend(path)
    assert sorted(packed("zipped")) == ["zipped/__init__.py", "zipped/data.txt"]
    path.write_bytes(path.read_bytes().replace(b"X = 1", b"X = 2")[:-30])
    assert dict(packed("zipped")) == {}
    path.unlink()
    os.mkfifo(path)
    assert dict(packed("zipped")) == {}
    # Python's own importer would wait for it.
    path.unlink()
    sys.path_importer_cache.pop(str(path), None)
    del sys.modules["zipped"]


def test_source_of_any_kind_is_no_error_of_ours(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    with (pack / "huge.py").open("wb") as file:
        file.truncate(65 << 20)
    (pack / "user.py").write_text("def later():\n    from swapped import huge\n")
    deep = pack
    for _ in range(200):
        deep = deep / "d"
        deep.mkdir()
    with pytest.raises(ValueRefused, match="the source of 'swapped' has more than 5000 files or 64 MiB"):
        packed("swapped.user")
    (pack / "huge.py").unlink()
    assert sorted(packed("swapped.user")) == ["swapped/__init__.py", "swapped/user.py"]
    assert list(imports.unconditional(b"(" * 100_000)) == []
    assert list(imports.unconditional(b"x = " + b"-" * 200_000 + b"1")) == []


def test_what_is_no_function_is_refused_by_its_part() -> None:
    import functools

    class Callable:
        def __init__(self) -> None:
            self.lock = threading.Lock()

        def __call__(self) -> int:
            return 1

    class Unprintable:
        def __repr__(self) -> str:
            raise KeyError("no")

        def __reduce__(self) -> Any:
            raise TypeError("not to be sent")

    with pytest.raises(ValueRefused, match=r"cannot send partial\(\)\.args\[0\] \(lock\)"):
        sandbox(functools.partial(pow, threading.Lock()))()
    with Sandbox() as box, pytest.raises(ValueRefused, match=r"cannot send Callable\(\)\.lock \(lock\)"):
        box.call(Callable())
    with pytest.raises(ValueRefused, match="<Unprintable>"):
        sandbox(lambda x: x)({Unprintable(): 1})


def test_a_wrapper_around_a_decorated_function_counts(tmp_path: Path) -> None:
    main = """
import functools
from belljar import sandbox
def deco(function):
    @functools.wraps(function)
    def wrapper(*args):
        return ["deco", function(*args)]
    return wrapper
@deco
@sandbox
def f(x):
    return x
print(f(1), sandbox(lambda: f(1))(), sandbox(f)(1))
"""
    assert run(main, tmp_path) == ["['deco', 1] ['deco', 1] ['deco', 1]"]


def test_function_and_arguments_share_their_globals_and_classes(tmp_path: Path) -> None:
    main = """
from belljar import sandbox
COUNT, SEEN = 0, []
class Base:
    made = []
    def __init_subclass__(cls):
        Base.made.append(cls.__name__)
class Sub(Base):
    def get(self):
        SEEN.append(1)
        return COUNT
@sandbox
def f(given):
    global COUNT
    COUNT = 5
    return given.get(), len(SEEN), isinstance(given, Sub), len(Base.__subclasses__())
def plain(given):
    return COUNT
print(f(Sub()))
"""
    assert run(main, tmp_path) == ["(5, 1, True, 1)"]


def test_imports_in_every_way_of_writing_them(tmp_path: Path) -> None:
    write(tmp_path, {"bom.py": "\ufeffimport helper\n", "feed.py": "\fimport helper2\n", "helper.py": "X = 1\n", "helper2.py": "X = 2\n",
                     "pk/__init__.py": "", "pk/a.py": "from.b import V\nfrom .import d\n", "pk/b.py": "V = 3\n", "pk/d.py": "",
                     "pk/setup.py": "", "pk/tool.py": "from belljar import sandbox\n@sandbox\ndef f():\n    from .b import V\n    return V\nprint(f())\n"})  # fmt: skip
    main = "from belljar import sandbox\nimport bom, feed\nfrom pk import a\n@sandbox\ndef f():\n    return bom.helper.X, feed.helper2.X, a.V\nprint(f())\n"
    assert run(main, tmp_path) == ["(1, 2, 3)"]
    assert run("", tmp_path, words=(sys.executable, "-m", "pk.tool")) == ["3"]


def test_modules_that_are_something_else(tmp_path: Path) -> None:
    write(tmp_path, {
        "replaced.py": "import sys\nclass M:\n    X = 1\nsys.modules[__name__] = M()\n",
        "classed.py": "import sys, types\nclass C(types.ModuleType):\n    pass\nX = 2\nsys.modules[__name__].__class__ = C\n",
        "uses.py": "import replaced\ndef f():\n    return replaced.X\n",
    })  # fmt: skip
    main = "from belljar import sandbox\nimport uses, classed\n@sandbox\ndef f():\n    return uses.f(), classed.X\nprint(f())\n"
    assert run(main, tmp_path) == ["(1, 2)"]


def test_errors_of_this_package_are_there_in_a_jar(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "lib.py": """
import belljar
from belljar import sandbox, GuestError, TimeoutExceeded, Outcome, run
def helper(x) -> belljar.Outcome:
    try:
        raise TimeoutError
    except TimeoutExceeded:
        return "no"
    except (GuestError, TimeoutError):
        return x
"""
        },
    )
    main = """
from belljar import GuestError, TimeoutExceeded, sandbox
import lib
@sandbox
def f():
    try:
        raise KeyError(1)
    except TimeoutExceeded:
        return 0
    except (GuestError, KeyError):
        return lib.helper(2), issubclass(TimeoutExceeded, (GuestError, TimeoutError))
print(f())
"""
    assert run(main, tmp_path) == ["(2, True)"]


def test_modules_that_are_changed_in_place_are_seen(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """As `%autoreload 2` changes them, which leaves their spec as it is."""
    for name, fresh in ("something.else", True), (tree.AUTORELOAD, False):
        monkeypatch.setitem(sys.modules, name, sys)
        packed()
        made = tree.Tree(packed(), {"swapped": None})  # type: ignore[dict-item]
        assert made.is_fresh()
        os.utime(pack / "__init__.py", ns=(1, hash(name) % 10**9))
        assert made.is_fresh() is fresh


def test_a_module_of_ones_own_that_is_missing_there_is_no_package_to_install(tmp_path: Path) -> None:
    write(tmp_path, {"plugin.py": "X = 1\n"})
    main = """
import importlib, plugin
from belljar import sandbox
@sandbox
def f():
    return importlib.import_module("plug" + "in").X
try:
    f()
except ModuleNotFoundError as error:
    print(error.hint)
print(f.options(modules=["plugin"])())
"""
    told = "'plugin' is your own, and nothing that the call names imports it: name it with modules=['plugin']"
    assert run(main, tmp_path) == [told, "1"]


def test_trees_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch, pack: Path) -> None:  # noqa: F811
    (pack / "data.txt").write_bytes(bytes(50_000))
    packed()
    from belljar._capture.closure import Modules
    from belljar._guest import guest
    from belljar._policy import Policy

    modules = Modules(guest(Policy({}), None))
    found = modules.closure(["swapped"]).own
    monkeypatch.setattr(own, "_trees", {})
    monkeypatch.setattr(own, "MOST_KEPT", 120_000)
    for number in range(5):
        own.tree_of(
            {**found, f"x{number}": found["swapped"]._replace(name=f"x{number}", kind="value", path=None)}, modules
        )
    assert len(own._trees) == 2
    assert issubclass(Full, Exception)


def test_functions_of_other_versions_have_their_defaults(tmp_path: Path) -> None:
    from support import skip

    import belljar

    others = [version for version in ("3.10", "3.11", "3.12", "3.13") if version != f"3.{sys.version_info[1]}"]
    try:
        found = next(version for version in others if belljar.run("1", python=version).ok)
    except (StopIteration, belljar.BelljarError):
        skip("interpreters")
    main = f"""
from __future__ import annotations
from belljar import sandbox
STEP, Odd = 3, None
def marked(text):
    return lambda function: function
@sandbox(python={found!r})
# not this def here
@marked("def nothing")
def f(x: Odd, by=STEP) -> Odd:
    return x + by
print(f(1))
"""
    assert run(main, tmp_path) == ["4"]
