"""Packages that are installed in the interpreter itself: a guest has none of them, unless the policy says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import cloudpickle
import pytest
from support import skip
from test_versions import VERSIONS, interpreters

from belljar import run

LIST = "import os, site\n{folder: sorted(os.listdir(folder)) for folder in site.getsitepackages() if os.path.isdir(folder)}"


@pytest.mark.parametrize("version", VERSIONS)
def test_every_interpreter_comes_without(version: str) -> None:
    if version not in interpreters():
        skip("interpreters")
    python = os.path.realpath(interpreters()[version])
    code = LIST.replace("\n", "; found = ") + "; print(repr(found))"
    asked = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    there = eval(asked.stdout)
    assert there, "an interpreter has such a folder"
    assert run(LIST, python=python).check().value == {folder: [] for folder in there}
    assert run(LIST, python=python, site_packages=True).check().value == there
    assert not run("import pip", python=python).ok


# Started by an interpreter of the test's own, which has a module that no guest has.
PROGRAM = """
from belljar import Sandbox, ValueRefused, sandbox
import planted

@sandbox
def there():
    try: import planted
    except ImportError: return None
    return planted.__file__

@sandbox
def uses(thing, more):
    return thing.double(), more(thing.x), type(thing).__module__

def is_its_own(thing):
    import planted
    return thing is planted.Thing

assert there() is None
assert there.options(site_packages=True)() == planted.__file__
# Named where the guest lacks it, and by name where it has it.
try:
    uses(planted.Thing(2), planted.triple)
except ValueRefused as error:
    assert "class Thing is of planted, which the guest does not have" in error.message, error
    assert error.hint.endswith("show it all packages that you have here with site_packages=True"), error
assert uses.options(site_packages=True)(planted.Thing(2), planted.triple) == (4, 6, "planted")
with Sandbox() as box:
    assert box.call(planted.triple, 3) == 9
with Sandbox(site_packages=True) as box:
    assert box.call(planted.triple, 3) == 9
    assert box.call(is_its_own, planted.Thing)
print("fine")
"""
PLANTED = """
class Thing:
    def __init__(self, x): self.x = x
    def double(self): return self.x * 2
def triple(x): return x * 3
"""


def test_what_only_the_interpreter_has_is_named(tmp_path: Path) -> None:
    system = Path("/usr/bin/python3").resolve()
    if not system.name.startswith("python3."):
        skip("interpreters")
    prefix, name = tmp_path / "python", system.name
    library = prefix / "lib" / name
    (prefix / "bin").mkdir(parents=True)
    library.mkdir(parents=True)
    shutil.copy(system, prefix / "bin")
    for entry in Path("/usr/lib", name).iterdir():
        if entry.name not in ("site-packages", "dist-packages", "sitecustomize.py"):
            (library / entry.name).symlink_to(entry)
    python = prefix / "bin" / name
    asked = "import site; print(*site.getsitepackages(), sep='\\n')"
    words = [str(python), "-I", "-c", asked]
    for folder in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder, "planted.py").write_text(PLANTED)
    shutil.copytree(Path(cloudpickle.__file__).parent, tmp_path / "site" / "cloudpickle")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(tmp_path / "site")])}
    words = [str(python), str(tmp_path / "program.py")]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=100)
    assert told.stdout == "fine\n", told.stderr
