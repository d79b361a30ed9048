"""What the README shows runs as it is written, and does what it says. Its Rust is a doctest of the library."""

from __future__ import annotations

import re
import subprocess

import pytest
from support import BINARY, ROOT

from .desk import PYTHON, Desk, python
from .index import Index
from .packages import wheel

# Enough of it for what the README asks of it: the index of these tests has no other.
PANDAS = """
class DataFrame:
    def __init__(self, rows):
        self.rows = rows
    def describe(self):
        return self
    def to_dict(self):
        return {name: {"count": len(self.rows)} for name in self.rows[0]}
"""


@pytest.fixture
def desk_with_pandas(desk: Desk, index: Index) -> Desk:
    index.add(wheel("pandas", "2.9", {"pandas.py": PANDAS}))
    return desk


def block(language: str) -> str:
    """The one block in this language."""
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert isinstance(found, str)
    return found


def test_python(desk_with_pandas: Desk) -> None:
    checks = """
assert count("to be or not to be") == {"to": 2, "be": 2, "or": 1, "not": 1}
assert count.outcome("to be").ok and list(count.map(["a b", "c"])) == [{"a": 1, "b": 1}, {"c": 1}]
assert outcome.value == 2 and "ZeroDivisionError" in run("1/0").for_model()
assert summarise([{"a": 1}, {"a": 2}]) == {"a": {"count": 2}}
with Sandbox(network="none", preload=["json"]) as box:
    assert (box.run("print('hi')").stdout, box.call(pow, 2, 10)) == ("hi\\n", 1024)
print("held")
"""
    assert python(desk_with_pandas, block("python") + checks) == "held\n"


def test_console(desk_with_pandas: Desk) -> None:
    desk = desk_with_pandas
    room = desk.folder / "room"
    (room / "project").mkdir(parents=True)
    (room / "clean.py").write_text("open('cleaned', 'w').close()\n")
    (room / "report.py").write_text("from importlib.util import find_spec\nprint(find_spec('pandas') is not None)\n")
    (room / "script.py").write_text("print('script')\n")
    (desk.folder / "bin").mkdir()
    (desk.folder / "bin/belljar").symlink_to(BINARY)
    # The interpreter of these tests comes first, as in a virtualenv: others may not have what an environment is built with.
    (desk.folder / "bin/python3").symlink_to(PYTHON)
    said = {}
    for entry in re.split(r"^\$ ", block("console"), flags=re.MULTILINE)[1:]:
        line, _, shown = entry.partition("\n")
        command = re.sub(r" {3,}# .*", "", line)
        told = subprocess.run(
            ["bash", "-c", command], cwd=room, text=True, stdin=subprocess.DEVNULL, timeout=100,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=desk.environment(PATH=f"{desk.folder / 'bin'}:/usr/bin:/bin"),
        )  # fmt: skip
        said[command] = told.stdout
        if "--memory" in command and told.returncode == 1:
            # As the remark says, where there is no cgroup.
            assert "\nMemoryError\n" in told.stdout, told.stdout
            continue
        assert told.returncode == (137 if "--memory" in command else 0), (command, told.stdout)
        assert not shown or told.stdout == shown, command
    [draft] = [text for command, text in said.items() if "--draft" in command]
    assert "+ cleaned" in draft and list((room / "project").iterdir()) == []
    [packages] = [text for command, text in said.items() if "--with" in command]
    assert packages.splitlines()[-1] == "True"
    [each] = [text for command, text in said.items() if "--each" in command]
    assert "3 scripts: 3 ok" in each
    [json] = [text for command, text in said.items() if "--json" in command]
    assert json.startswith("{") and '"script\\n"' in json
