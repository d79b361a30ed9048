"""`files=` and `outcome.files` of decorated functions and of `Sandbox`: as `run()` has them."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

import belljar
from belljar import Sandbox, SandboxExecutor, sandbox


def shout(name: str, target: str = "out.txt") -> str:
    with open(name) as file:
        text = file.read()
    with open(target, "w") as file:
        file.write(text.upper())
    return text


def listing(_: object = None) -> list[str]:
    import os

    return sorted(os.listdir())


reads = sandbox(files={"in.txt": "one"})(shout)


def test_a_function_has_its_files_and_gives_back_what_it_leaves() -> None:
    assert reads("in.txt") == "one"
    outcome = reads.outcome("in.txt")
    assert outcome.value == "one" and outcome.changes.created == ["out.txt"]
    assert {name: file.text() for name, file in outcome.files.items()} == {"out.txt": "ONE"}
    # Without files= too: what is left comes back, and a plain call leaves none for the next.
    assert sandbox(shout).outcome("/etc/hostname", "host.txt").files["host.txt"].text().isupper()
    assert sandbox(listing)() == []


def test_contents_are_those_of_the_call(tmp_path: Path) -> None:
    source = tmp_path / "source"
    works = sandbox(files={"deep/in.txt": source, "raw": memoryview(b"raw"), "more": bytearray(b"more")})(shout)
    for text in ("first", "second"):
        source.write_text(text)
        assert works("deep/in.txt") == text
    assert works("raw") == "raw" and works("more") == "more"
    source.unlink()
    with pytest.raises(FileNotFoundError, match="source"):
        works("raw")


def test_options_change_them_and_they_travel() -> None:
    other = reads.options(files={"other": "two"}, timeout=20)
    assert other("other") == "two" and reads("in.txt") == "one"
    with pytest.raises(FileNotFoundError):
        other("in.txt")
    with pytest.raises(FileNotFoundError):
        reads.options(files=None)("in.txt")
    assert reads.options(timeout=20)("in.txt") == "one"
    by_value = cloudpickle.loads(cloudpickle.dumps(sandbox(files={"in.txt": "sent"})(lambda: open("in.txt").read())))
    assert by_value() == "sent"
    again = pickle.loads(pickle.dumps(Sandbox(files={"in.txt": "kept"})))
    with again:
        assert again.call(shout, "in.txt") == "kept"


def test_collect_bounds_what_comes_back() -> None:
    for few in (reads.options(collect=2), reads.options(collect="0")):
        outcome = few.outcome("in.txt")
        assert outcome.files == {} and outcome.changes.created == ["out.txt"]
    assert reads.options(collect=3).outcome("in.txt").files["out.txt"].text() == "ONE"


def test_generators_maps_and_tasks_have_them_too() -> None:
    @sandbox(files={"in.txt": "a b c"})
    def words() -> Iterator[str]:
        yield from open("in.txt").read().split()

    @sandbox(files={"in.txt": "a b c"})
    async def awords() -> AsyncIterator[str]:
        for word in open("in.txt").read().split():
            yield word

    @sandbox(files={"in.txt": "one"})
    async def ashout(target: str) -> str:
        return shout("in.txt", target)

    async def tasks() -> tuple[Any, ...]:
        outcomes = [outcome async for outcome in ashout.map(["a", "b"], outcomes=True)]
        left = [sorted(outcome.files) for outcome in outcomes]
        return [word async for word in awords()], await ashout("x"), (await ashout.outcome("x")).files["x"].text(), left

    assert list(words()) == ["a", "b", "c"]
    assert asyncio.run(tasks()) == (["a", "b", "c"], "one", "ONE", [["a"], ["b"]])
    left = [outcome.files for outcome in reads.map(["in.txt"] * 2, ["a", "b"], outcomes=True)]
    assert [{name: file.text() for name, file in files.items()} for files in left] == [{"a": "ONE"}, {"b": "ONE"}]
    assert list(reads.map(["in.txt"] * 2)) == ["one", "one"]


def test_a_sandbox_gives_them_to_each_of_its_jobs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(open('in.txt').read())")
    with Sandbox(files={"in.txt": "box", "both": "box"}) as box:
        assert box.call(shout, "in.txt") == "box"
        assert box.outcome(shout, "in.txt").files["out.txt"].text() == "BOX"
        assert box.outcome(reads, "in.txt").files["out.txt"].text() == "BOX"
        assert box.run("open('in.txt').read()").value == "box"
        assert box.run_file(script).stdout == "box\n"
        assert box.run_command(["cat", "in.txt"]).stdout == "box"
        # A run's own are put over them.
        own = {"both": "own", "new": "own"}
        told = "[open(name).read() for name in ('in.txt', 'both', 'new')]"
        assert box.run(told, files=own).value == ["box", "own", "own"]
        assert box.call(listing) == ["both", "in.txt"]

        async def tasks() -> list[object]:
            return [
                await box.acall(shout, "in.txt"),
                (await box.aoutcome(shout, "in.txt")).files["out.txt"].text(),
                (await box.arun("open('new').read()", files=own)).value,
            ]

        assert asyncio.run(tasks()) == ["box", "BOX", "own"]
    with Sandbox(collect=0) as box:
        leaves = "open('left', 'w').write('x')"
        assert box.run(leaves).files == {} and list(box.run(leaves, collect=9).files) == ["left"]
    with SandboxExecutor(1, files={"in.txt": "pool"}) as pool:
        assert pool.submit(shout, "in.txt").result() == "pool"


def test_folders_and_drafts_as_in_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "in.txt").write_text("host")
    drafts = sandbox(workdir=folder, draft=True)(shout)
    assert drafts("in.txt") == "host"
    outcome = drafts.outcome("in.txt")
    assert outcome.files["out.txt"].text() == "HOST" and sorted(path.name for path in folder.iterdir()) == ["in.txt"]
    assert not outcome.apply() and (folder / "out.txt").read_text() == "HOST"
    with Sandbox(workdir=folder, draft=True) as box:
        assert not box.outcome(shout, "in.txt", "new").apply()
    (applied,) = drafts.map(["in.txt"], ["mapped"], outcomes=True)
    assert not applied.apply()
    assert sorted(path.name for path in folder.iterdir()) == ["in.txt", "mapped", "new", "out.txt"]
    # A folder that is written directly has the files as well, as it has those of a run.
    given = sandbox(workdir=folder, files={"given": "x"})(listing)
    assert "given" in given() and (folder / "given").read_text() == "x"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["in.csv"], r"files=\['in.csv'\]: is no dict; it takes a dict of names and contents"),
        ("in.csv", "files='in.csv': is no dict"),
        ({3: b""}, r"files=\{3: …\}: is no name of a file"),
        ({"in.csv": 3}, r"files\['in.csv'\] is of type int\nhint: give bytes, text, or a Path of the host"),
        ([b"x" * 1000], r"files=\[b'x+\.\.\.: is no dict"),
    ],
)
def test_mistakes_are_told_where_they_are_written(wrong: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        sandbox(files=wrong)
    with pytest.raises(TypeError, match=told):
        reads.options(files=wrong)
    with pytest.raises(TypeError, match=told):
        Sandbox(files=wrong)
    with pytest.raises(TypeError, match=told):
        belljar.run("1", files=wrong)
    with Sandbox() as box, pytest.raises(TypeError, match=told):
        box.run("1", files=wrong)


def test_other_mistakes() -> None:
    with pytest.raises(TypeError, match=r"collect=\[\]: is no size"):
        sandbox(collect=[])  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="collect='many': is no size"):
        belljar.run("1", collect="many")
    with pytest.raises(TypeError, match="unknown keyword 'file'; did you mean 'files'"):
        sandbox(file={"a": b""})  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unknown keyword 'flies'; did you mean 'files'"):
        Sandbox(flies={"a": b""})  # type: ignore[call-arg]


def test_a_call_without_files_is_put_together_quickly() -> None:
    """Judged by what is made, not by the clock: the bytes are there before anything is encoded."""
    quick, full = sandbox(listing), sandbox(files={"a": "x"})(listing)
    quick(), full()
    made = [inspect.getattr_static(each, "__belljar_callee__").request((1,), {}, early=True) for each in (quick, full)]
    assert made[0].data is not None and made[1].data is None
    assert b"collect" not in made[0].data and "collect" not in made[1].header
