"""What is packed, and what somebody who can write there meanwhile cannot make of it."""

from __future__ import annotations

import importlib.util
import mmap
import os
import py_compile
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from belljar import ValueRefused, sandbox
from belljar._capture import tree as trees
from belljar._capture.closure import Modules
from belljar._capture.own import Own
from belljar._guest import guest
from belljar._policy import Policy
from capture.project import run, write


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, {"swapped/__init__.py": "X = 1\n", "swapped/data.txt": "harmless"})
    yield tmp_path / "swapped"
    for name in [name for name in sys.modules if name.partition(".")[0] in ("swapped", "lone")]:
        del sys.modules[name]


def packed(name: str = "swapped") -> trees.Files:
    """What would go into a jar, read anew."""
    importlib.import_module(name)
    modules = Modules(guest(Policy({}), None))
    return trees.pack(modules.closure([name]).own, modules)


def by_path(folder: Path) -> dict[str, bytes]:
    """The control: as one would read a folder, with a look before each file is opened."""
    found = {}
    for entry in os.scandir(folder):
        if entry.is_file(follow_symlinks=False):
            try:
                found[entry.name] = Path(entry.path).read_bytes()
            except OSError:
                continue
    return found


def test_nobody_can_swap_a_file_for_a_link_meanwhile(pack: Path, tmp_path: Path) -> None:
    """IM-01."""
    key = tmp_path / "key"
    key.write_text("CANARY")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.symlink(key, pack / "x")
            os.rename(pack / "x", pack / "data.txt")
            (pack / "x").write_text("harmless")
            os.rename(pack / "x", pack / "data.txt")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = {packed().get("swapped/data.txt", b"") for _ in range(1000)}
        taken = any(b"CANARY" in by_path(pack).values() for _ in range(20_000))
    finally:
        over.set()
        swapper.join()
    assert seen <= {b"", b"harmless"} and b"harmless" in seen
    assert taken, "the control: by path it is taken"


def test_links_count_where_they_stay_inside(pack: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("outside")
    (pack / "sub").mkdir()
    (pack / "sub" / "real.txt").write_text("inside")
    (pack / "in.txt").symlink_to("sub/real.txt")
    (pack / "out.txt").symlink_to("../outside.txt")
    (pack / "absolute.txt").symlink_to(tmp_path / "outside.txt")
    (pack / "hidden.txt").symlink_to(".env")
    (pack / ".env").write_text("SECRET")
    (pack / "folder").symlink_to(tmp_path)
    (pack / "loop").symlink_to("loop")
    os.mkfifo(pack / "fifo")
    assert sorted(packed()) == ["swapped/__init__.py", "swapped/data.txt", "swapped/in.txt", "swapped/sub/real.txt"]
    assert packed()["swapped/in.txt"] == b"inside"


def test_a_folder_in_the_place_of_the_package_is_not_taken(pack: Path, tmp_path: Path) -> None:
    packed()
    write(tmp_path / "keys", {"notes": "CANARY"})
    pack.rename(tmp_path / "away")
    pack.symlink_to(tmp_path / "keys")
    assert dict(packed()) == {}


def test_a_module_alone_is_no_link_to_something_else(pack: Path, tmp_path: Path) -> None:
    lone = tmp_path / "lone.py"
    write(tmp_path, {"lone.py": "X = 1\n", "elsewhere/lone.py": "X = 2\n", "key.txt": "CANARY"})
    assert dict(packed("lone")) == {"lone.py": b"X = 1\n"}
    lone.unlink()
    lone.symlink_to("key.txt")
    assert dict(packed("lone")) == {}
    lone.unlink()
    lone.symlink_to("elsewhere/lone.py")
    assert dict(packed("lone")) == {"lone.py": b"X = 2\n"}, "as build tools link modules of the same name"
    lone.unlink()
    os.mkfifo(lone)
    assert dict(packed("lone")) == {}


def planted(folder: Path) -> None:
    """Bytecode that Python takes without a look at the source: it says so itself."""
    write(folder, {"mine.py": "VALUE = 'source'\n", "other/mine.py": "VALUE = 'planted'\n"})
    cache = folder / "__pycache__"
    cache.mkdir()
    target = importlib.util.cache_from_source(str(folder / "mine.py"))
    py_compile.compile(
        str(folder / "other" / "mine.py"), cfile=target, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def test_bytecode_that_was_planted_does_not_go_in(tmp_path: Path) -> None:
    """IM-03. The control is the host itself, which runs it."""
    planted(tmp_path)
    main = """
from belljar import sandbox
import mine
@sandbox
def f():
    return mine.VALUE
print(mine.VALUE, f(), f.warm().preloaded.keys(), f())
"""
    assert run(main, tmp_path) == ["planted source dict_keys(['mine']) source"]


def test_the_key_is_of_the_bytes_that_were_packed(pack: Path) -> None:
    """IM-04: a write through a mapping leaves size and times as they are."""
    path = pack / "data.txt"

    def key() -> tuple[str, tuple[int, ...]]:
        found = os.stat(path)
        files = packed()
        return trees.Tree(files, {}).key, (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[:1] = b"1"
        first, facts = key()
        view[:1] = b"2"
        second, same = key()
    assert facts == same, "the control: what the disk says of the file is the same"
    assert first != second


def test_what_is_made_at_import_is_the_same_in_all_calls_unless_nothing_is_preloaded(tmp_path: Path) -> None:
    """IM-05, as docs/reference/python.md says it."""
    write(tmp_path, {"keys.py": "import secrets\nKEY = secrets.token_hex()\n"})
    main = """
from belljar import sandbox
import keys
@sandbox
def f():
    return keys.KEY
f.warm(2)
g = f.options(preload=[])
g.warm(2)
print(len({f() for _ in range(4)}), len({g() for _ in range(4)}))
"""
    assert run(main, tmp_path) == ["1 4"]


def test_a_tree_has_bounds_and_says_so(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (pack / f"part{number}.txt").write_text("x" * 100)
    assert len(packed()) == 32
    # With too much beside its modules, these go alone.
    monkeypatch.setattr(trees, "MOST_FILES", 10)
    assert sorted(packed()) == ["swapped/__init__.py"]
    monkeypatch.setattr(trees, "MOST_FILES", 0)
    with pytest.raises(ValueRefused, match="the source of 'swapped' has more than 0 files or 64 MiB") as caught:
        packed()
    assert caught.value.hint == "show it to the guest as it is, with modules=['swapped']"


def test_a_file_of_any_size_takes_no_more_memory_than_the_bound(pack: Path) -> None:
    with (pack / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert sorted(packed()) == ["swapped/__init__.py"]


def test_a_tree_is_packed_once_for_all_functions(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "X = 1\n", "b.py": "import a\nY = a.X\n"})
    main = """
from belljar import sandbox
from belljar._capture import tree
from belljar import _frames
import a, b
packs, opens = [], []
pack, encode = tree.pack, _frames.encode
tree.pack = lambda *given: packs.append(1) or pack(*given)
def counting(kind, number, header, parts=()):
    if kind == _frames.OPEN:
        opens.append(sum(map(len, parts)))
    return encode(kind, number, header, parts)
_frames.encode = counting
@sandbox
def f():
    return b.Y
@sandbox
def g():
    return b.Y + 1
@sandbox
def h():
    return a.X, b.Y
for _ in range(3):
    f(), g()
print(len(packs), len(opens))
h(), f(), g(), h()
print(len(packs), len(opens), f.warm().preloaded.keys() == {"a", "b"})
"""
    # A function that needs other modules of the same files at once has them imported for all.
    assert run(main, tmp_path) == ["1 1", "1 2 True"]


def test_what_a_function_imports_is_found_in_every_version(tmp_path: Path) -> None:
    from belljar._capture.names import Import, named

    source = """
def f(x):
    import a.b as c, d
    from . import e
    from ..g import h as i, j
    class Inner:
        value = K
        def method(self):
            from l import m
            return n
    del o
    global p
    p = 1
    return q.r, [s for t in u], lambda: v, x.w
"""
    scope: dict[str, object] = {}
    exec(source, scope)
    found = named(scope["f"].__code__)  # type: ignore[attr-defined]
    assert set(found.reads) - {"__name__", "__build_class__"} == {"K", "n", "q", "s", "u", "v"}
    assert set(found.imports) == {
        Import(0, "a.b", ()), Import(0, "d", ()), Import(1, "", ("e",)), Import(2, "g", ("h", "j")), Import(0, "l", ("m",)),
    }  # fmt: skip


def test_names_of_code_are_those_that_dis_tells() -> None:
    """Over the standard library: the same as the interpreter's own reading of its instructions."""
    import dis
    import json.decoder
    import logging
    import typing

    from belljar._capture.names import named, nested

    def by_dis(code: object) -> set[str]:
        reads = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL"}
        return {str(item.argval) for one in nested(code) for item in dis.get_instructions(one) if item.opname in reads}  # type: ignore[arg-type]

    for module in (json.decoder, logging, typing, dis, threading):
        assert module.__file__ is not None
        code = compile(Path(module.__file__).read_text(), "x", "exec")
        assert set(named(code).reads) == by_dis(code)


def test_imports_of_a_module_are_those_that_its_bytecode_has() -> None:
    """The quick reader may find more, in texts, and must not miss one."""
    import concurrent.futures.process
    import email.message
    import logging.config

    from belljar._capture import imports
    from belljar._capture.names import named

    for module in (concurrent.futures.process, email.message, logging.config, importlib.util, pytest):
        assert module.__file__ is not None
        source = Path(module.__file__).read_bytes()
        quick = {(one.level, one.name) for one in imports.all_of(source)}
        exact = {(one.level, one.name) for one in named(compile(source, "x", "exec")).imports}
        assert exact <= quick, module
    tricky = b"import a; import b\nif 1: import c\nfrom d import (e, # f\n  g)\nimport h \\\n  , i\ntry: from .j import *\nfinally: pass\n"
    assert {one.name for one in imports.all_of(tricky)} == {"a", "b", "c", "d", "h", "i", "j"}
    needed = list(imports.unconditional(tricky + b'"""\nimport k\n"""\ndef f():\n    import l\n'))
    assert [(one.line, one.what.name) for one in needed] == [(1, "a"), (1, "b"), (3, "d"), (5, "h"), (5, "i")]


def test_a_decorated_function_binds_nothing_until_it_is_called(pack: Path) -> None:
    import swapped  # type: ignore[import-not-found]

    own = Own(guest(Policy({}), None), __name__)
    assert own.load() is None and own.has("swapped")
    load = own.load()
    assert load is not None and load.roots == {"swapped"} and load is own.load()

    @sandbox
    def f() -> int:
        return int(swapped.X)

    assert f() == 1
