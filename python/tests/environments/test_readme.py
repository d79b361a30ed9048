"""What the README shows runs as it is written, and does what it says. Its Rust is a doctest of the library."""

from __future__ import annotations

import re
import subprocess

import pytest
from support import BINARY, ROOT

from .desk import PYTHON, Desk, python
from .index import Index
from .packages import wheel
from .test_demo import PANDAS

README = (ROOT / "README.md").read_text()
# Who runs each line that installs or tests; `make demo` has its own tests.
ELSEWHERE = {
    "make demo": "test_demo.py",
    "python3 -m venv .venv && . .venv/bin/activate": "test_wheel.py",
    "pip install .": "test_wheel.py",
    "make test": None,
}


@pytest.fixture
def desk_with_pandas(desk: Desk, index: Index) -> Desk:
    index.add(wheel("pandas", "2.9", {"pandas.py": PANDAS}))
    return desk


def blocks(language: str) -> list[str]:
    """All blocks in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """The lines of a block without their remarks, each with what the README shows below it."""
    entries = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] if block.startswith("$ ") else block.splitlines()
    parts = [entry.partition("\n") for entry in entries]
    return [(re.sub(r" {2,}# .*", "", line), shown) for line, _, shown in parts]


def test_every_block_is_tried() -> None:
    fences = re.findall(r"^```(.*)$", README, re.MULTILINE)
    assert set(fences[::2]) == {"python", "sh", "console", "rust"} and set(fences[1::2]) == {""}


def test_python(desk_with_pandas: Desk) -> None:
    first, second = blocks("python")
    *definition, call = first.strip().splitlines()
    call, _, shown = call.partition("   # ")
    checks = f"""
assert repr({call}) == {shown!r}
assert outcome.status == 'raised'
assert "Hint: did you mean 'sales.csv'?" in outcome.for_model()
test_submission()
print("held")
"""
    assert python(desk_with_pandas, "\n".join([*definition, second, checks])) == "held\n"


def test_console(desk_with_pandas: Desk) -> None:
    desk = desk_with_pandas
    room = desk.folder / "room"
    (room / "project").mkdir(parents=True)
    (room / "clean.py").write_text("open('cleaned', 'w').close()\n")
    (room / "report.py").write_text("from importlib.util import find_spec\nprint(find_spec('pandas') is not None)\n")
    (desk.folder / "bin").mkdir()
    (desk.folder / "bin/belljar").symlink_to(BINARY)
    # The interpreter of these tests comes first, as in a virtualenv: others may not have what an environment is built with.
    (desk.folder / "bin/python3").symlink_to(PYTHON)
    said = {}
    [console] = blocks("console")
    for command, shown in commands(console):
        told = subprocess.run(
            ["bash", "-c", command], cwd=room, text=True, stdin=subprocess.DEVNULL, timeout=100,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=desk.environment(PATH=f"{desk.folder / 'bin'}:/usr/bin:/bin"),
        )  # fmt: skip
        said[command] = told.stdout
        assert told.returncode == (124 if "--policy" in command else 0), (command, told.stdout)
        assert not shown or told.stdout.startswith(shown), (command, told.stdout)
    [draft] = [text for command, text in said.items() if "--draft" in command]
    assert "+ cleaned" in draft and list((room / "project").iterdir()) == []
    [packages] = [text for command, text in said.items() if "--with" in command]
    assert packages.splitlines()[-1] == "True"
    [each] = [text for command, text in said.items() if "--each" in command]
    assert "2 scripts: 2 ok" in each


def test_install(desk: Desk) -> None:
    [block] = blocks("sh")
    lines = [command for command, _ in commands(block)]
    assert set(lines) == {*ELSEWHERE, "belljar doctor"}
    assert desk.call("doctor").returncode == 0
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z]+)", README):
        assert f"\n{target}:" in makefile, target
    [prefix] = re.findall(r'`make install (PREFIX="[^"]+")`', README)
    assert prefix.startswith("PREFIX=") and "PREFIX ?=" in makefile


def test_figures() -> None:
    """Every figure is in the pages that `make bench` writes."""
    pages = "".join(path.read_text() for name in ("bench.md", "package.md") for path in (ROOT / "docs").rglob(name))
    figures = re.findall(r"[\d.]+\sms\b", README)
    assert len(figures) >= 5
    for figure in figures:
        assert " ".join(figure.split()) in pages, figure


def test_it_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150 and max(map(len, lines)) <= 100
