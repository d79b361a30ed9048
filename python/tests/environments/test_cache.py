"""Environments are kept: found again offline, verified before use, pruned when nobody uses them. docs/reference/attacks.md: DP-06, DP-09."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .desk import PYTHON, Desk, remove
from .index import Index
from .packages import Entry, wheel

VERSION = "import lib; print(lib.version)"


def test_the_same_wish_finds_its_environment_without_network(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib"), wheel("b_pkg", "2", {"b_pkg.py": "version = 2"}))
    code = "import lib, b_pkg; print(lib.version, b_pkg.version)"
    assert each_desk.run(code, "--with", "lib", "--with", "B_pkg >= 1 , <3") == "1 2\n"
    [environment] = each_desk.environments()
    asked = len(index.asked)
    assert asked > 0
    index.close()
    for words in (
        ["lib", "B_pkg >= 1 , <3"],
        ["b-pkg<3,>=1", "LIB"],
        ["b.pkg<3.0,>=1.0", "lib", "Lib"],
    ):
        assert each_desk.run(code, *(word for wish in words for word in ("--with", wish))) == "1 2\n", words
    (each_desk.folder / "wishes.txt").write_text("# comment\nlib\n\nb_pkg<3,>=1  # why\n")
    assert each_desk.run(code, "-r", "wishes.txt") == "1 2\n"
    assert each_desk.environments() == [environment] and len(index.asked) == asked
    # Control: another wish needs the index, which is gone.
    each_desk.refused("--with", "lib>=1", UV_HTTP_RETRIES="0")


def test_another_wish_with_the_same_lock_shares_the_environment(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    assert desk.run(VERSION, "--with", "lib") == desk.run(VERSION, "--with", "lib==1") == "1\n"
    assert len(desk.environments()) == 1


def test_refresh_resolves_again(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"))
    assert desk.run(VERSION, "--with", "lib") == "1\n"
    index.add(wheel("lib", "2"))
    # Control: without the word the lock is remembered.
    assert desk.run(VERSION, "--with", "lib") == "1\n"
    assert desk.run(VERSION, "--with", "lib", "--refresh") == "2\n"
    assert desk.run(VERSION, "--with", "lib") == "2\n"
    assert len(desk.environments()) == 2


def test_another_index_is_another_wish(desk: Desk, index: Index) -> None:
    """What one index calls lib another may call something else: what was built from one never serves for the other."""
    index.add(wheel("lib", files={"lib.py": "version = 'first'"}))
    with Index() as other:
        other.add(wheel("lib", files={"lib.py": "version = 'second'"}))
        assert desk.run(VERSION, "--with", "lib") == "first\n"
        assert desk.run(VERSION, "--with", "lib", UV_DEFAULT_INDEX=other.url) == "second\n"
        assert desk.run(VERSION, "--with", "lib") == "first\n"


def test_what_another_recipe_built_is_built_anew_from_the_same_lock(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"))
    assert desk.run(VERSION, "--with", "lib") == "1\n"
    [new] = desk.environments()
    index.add(wheel("lib", "2"))

    def as_if(recipe: int) -> Path:
        """What an earlier version, or a later one, would have left: a key of its own, and a request that leads there."""
        old = new.with_name(f"{recipe:032x}")
        new.rename(old)
        about = json.loads((old / "about.json").read_text())
        (old / "about.json").write_text(json.dumps({**about, "key": old.name, "recipe": recipe}))
        [request] = (desk.cache / "requests").glob("*.json")
        request.write_text(json.dumps({**json.loads(request.read_text()), "key": old.name}))
        return old

    present = json.loads((new / "about.json").read_text())["recipe"]
    for recipe in (present - 1, present + 1):
        as_if(recipe)
        assert desk.run(VERSION, "--with", "lib") == "1\n"
        assert new in desk.environments()
    # Control: one of the same recipe is taken as it is, whatever its key.
    old = as_if(present)
    assert desk.run(VERSION, "--with", "lib") == "1\n"
    assert old in desk.environments() and new not in desk.environments()


def change(path: Path) -> None:
    path.chmod(0o644)
    path.write_text("version = 'tampered'\n")


def change_and_keep_the_time(path: Path) -> None:
    about = path.stat()
    path.chmod(0o644)
    text = path.read_text()
    # The same size, so that only the content, and the time of the change of the inode, tell.
    path.write_text(text.replace("genuine", "harmful"))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    path.chmod(about.st_mode)


def replace(path: Path) -> None:
    path.parent.chmod(0o755)
    path.unlink()
    path.write_text("version = 'tampered'\n")


def delete(path: Path) -> None:
    path.parent.chmod(0o755)
    path.unlink()


def add(path: Path) -> None:
    path.parent.chmod(0o755)
    (path.parent / "added.pth").write_text("import sys; sys.tampered = True\n")


def add_bytecode(path: Path) -> None:
    """Which would run in place of the source beside it."""
    folder = path.parent / "__pycache__"
    folder.parent.chmod(0o755)
    if folder.exists():
        folder.chmod(0o755)
    folder.mkdir(exist_ok=True)
    (folder / "lib.cpython-399.pyc").write_bytes(b"x")


def link(path: Path) -> None:
    other = path.parents[6] / "elsewhere.py"
    other.write_text("version = 'tampered'\n")
    path.parent.chmod(0o755)
    path.unlink()
    path.symlink_to(other)


def test_what_is_here_already_is_built_without_the_index(desk: Desk, index: Index) -> None:
    index.pages_are_kept = True
    index.add(wheel("lib", files={"lib.py": "version = 'genuine'\n"}))
    assert desk.run(VERSION, "--with", "lib") == "genuine\n"
    index.close()
    add(desk.file("lib.py"))
    assert desk.run(VERSION, "--with", "lib") == "genuine\n"
    # Control: without uv's cache somebody has to be asked.
    add(desk.file("lib.py"))
    remove(desk.cache / "uv")
    desk.refused("--with", "lib", UV_HTTP_RETRIES="0")


@pytest.mark.parametrize("tamper", [change, change_and_keep_the_time, replace, delete, add, add_bytecode, link])
def test_a_tampered_environment_is_noticed_and_rebuilt(
    tamper: Callable[[Path], None], desk: Desk, index: Index
) -> None:
    index.add(wheel("lib", files={"lib.py": "version = 'genuine'\n"}))
    code = "import sys, lib; print(lib.version, hasattr(sys, 'tampered'))"
    assert desk.run(code, "--with", "lib") == "genuine False\n"
    file = desk.file("lib.py")
    before = sorted(path.name for path in file.parent.rglob("*"))
    tamper(file)
    # Control: it is tampered with, and a host that looked no further would run it.
    after = sorted(path.name for path in file.parent.rglob("*"))
    assert after != before or file.read_text() != "version = 'genuine'\n"
    assert desk.run(code, "--with", "lib") == "genuine False\n"
    file = desk.file("lib.py")
    assert sorted(path.name for path in file.parent.rglob("*")) == before
    assert file.read_text() == "version = 'genuine'\n" and not file.is_symlink()


def test_list_tells_what_is_there(desk: Desk, index: Index) -> None:
    assert desk.listed() == []
    index.add(wheel("lib", requires=["needed"]), wheel("needed", "3"))
    start = time.time()
    desk.run(VERSION, "--with", "lib")
    [one] = desk.listed()
    assert one["key"] == desk.environments()[0].name
    packages = one["packages"]
    assert isinstance(packages, list)
    assert {(package["name"], package["version"]) for package in packages} == {("lib", "1"), ("needed", "3")}
    assert isinstance(one["size"], int) and one["size"] > 0
    for moment in ("built", "last_used"):
        told = one[moment]
        assert isinstance(told, (int, float)) and start - 2 <= told <= time.time() + 2
    told = desk.call("env", "list").stdout
    assert "lib" in told and str(one["key"])[:8] in told


def test_many_are_built_ahead(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"), wheel("lib", "2"), wheel("other"))
    (desk.folder / "one.txt").write_text("lib==1\n")
    (desk.folder / "two.txt").write_text("lib==2\n")
    (desk.folder / "script.py").write_text(
        "# /// script\n# dependencies = ['other']\n# ///\nimport other\nprint(other.version)\n"
    )
    told = desk.call(
        "env", "build", "-r", "one.txt", "-r", "two.txt", "--script", "script.py", "--json", "--python", PYTHON
    )
    assert told.returncode == 0, told.stderr
    assert len(json.loads(told.stdout)["environments"]) == 3 and len(desk.environments()) == 3
    index.close()
    assert [desk.run(VERSION, "--with", f"lib=={version}") for version in "12"] == ["1\n", "2\n"]
    told = desk.call("run", "--python", PYTHON, "script.py")
    assert told.stdout == "1\n", told.stderr


def test_one_that_cannot_be_built_does_not_stop_the_others(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    (desk.folder / "good.txt").write_text("lib\n")
    (desk.folder / "bad.txt").write_text("nosuchpackage\n")
    told = desk.call("env", "build", "-r", "bad.txt", "-r", "good.txt", "--python", PYTHON)
    assert told.returncode == 125 and told.stderr.count("nosuchpackage") == 1
    assert "belljar: bad.txt: the index has no package nosuchpackage; " in told.stderr
    table = [line.split() for line in told.stdout.splitlines()]
    [built] = desk.environments()
    assert table[0] == ["set", "environment", "python", "size", "packages"]
    assert table[1] == ["bad.txt", "not", "built", "-", "-", "-"]
    assert table[2][:2] == ["good.txt", built.name[:12]] and table[2][-2:] == ["lib", "1"]
    told = desk.call("env", "build", "-r", "bad.txt", "-r", "good.txt", "--json", "--python", PYTHON)
    assert told.returncode == 125
    report = json.loads(told.stdout)
    assert [one["key"] for one in report["environments"]] == [built.name]
    [failed] = report["failed"]
    assert failed["set"] == "bad.txt" and "nosuchpackage" in failed["message"] and "spelling" in failed["hint"]


def test_what_was_just_built_is_not_taken_away_for_the_next(desk: Desk, index: Index) -> None:
    for name in "abc":
        index.add(wheel(name, files={f"{name}.py": ""}, entries=[Entry(f"{name}.bin", os.urandom(4 << 20))]))
        (desk.folder / f"{name}.txt").write_text(f"{name}\n")
    files = [word for name in "abc" for word in ("-r", f"{name}.txt")]
    assert desk.call("env", "build", *files, "--python", PYTHON, BELLJAR_CACHE_SIZE="5M").returncode == 0
    assert len(desk.environments()) == 3
    # Control: the next build finds that nobody uses them.
    index.add(wheel("d", files={"d.py": ""}))
    desk.run("import d", "--with", "d", BELLJAR_CACHE_SIZE="5M")
    assert len(desk.environments()) < 4


def test_prune_never_takes_one_in_use(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib", files={"lib.py": "", "late.py": "version = 'late'\n"}), wheel("idle"))
    each_desk.run("import idle", "--with", "idle")
    code = "print('up', flush=True); input(); import late; print(late.version)"
    guest = each_desk.start("run", "--python", PYTHON, "--with", "lib", "-c", code)
    assert guest.stdout is not None
    assert guest.stdout.readline() == "up\n"
    assert len(each_desk.environments()) == 2
    told = each_desk.call("env", "prune", "--all", "--dry-run")
    assert told.returncode == 0 and len(each_desk.environments()) == 2, told.stderr
    told = each_desk.call("env", "prune", "--all")
    assert told.returncode == 0, told.stderr
    [kept] = each_desk.environments()
    assert list(kept.rglob("late.py")), "the idle one is gone, and the one in use is not"
    out, err = guest.communicate("\n", timeout=60)
    assert out == "late\n", err
    # Control: nobody uses it any more.
    assert each_desk.call("env", "prune", "--all").returncode == 0
    assert each_desk.environments() == []
    # And it can be had again.
    each_desk.run("import lib", "--with", "lib")


def test_prune_by_age(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    desk.run(VERSION, "--with", "lib")
    assert desk.call("env", "prune", "--older-than", "30d").returncode == 0
    assert len(desk.environments()) == 1
    told = desk.call("env", "prune", "--older-than", "0s", "--json")
    assert told.returncode == 0, told.stderr
    json.loads(told.stdout)
    assert desk.environments() == []


def test_the_cap_takes_the_least_recently_used(desk: Desk, index: Index) -> None:
    for name in "abc":
        index.add(wheel(name, files={f"{name}.py": ""}, entries=[Entry(f"{name}.bin", os.urandom(4 << 20))]))

    def there() -> set[str]:
        return {path.name[0] for folder in desk.environments() for path in folder.rglob("*.bin")}

    def use(name: str, **more: str) -> None:
        desk.run(f"import {name}", "--with", name, **more)

    use("a")
    use("b")
    # Control: without a cap both stay.
    assert there() == {"a", "b"}
    # Times of use are kept to the second or better.
    time.sleep(1.1)
    use("a")
    use("c", BELLJAR_CACHE_SIZE="10M")
    assert there() == {"a", "c"}
    time.sleep(1.1)
    use("a", BELLJAR_CACHE_SIZE="10M")
    assert there() == {"a", "c"}
    told = desk.call("env", "prune", "--max-size", "5M")
    assert told.returncode == 0 and there() == {"a"}, told.stderr
