"""Installed packages that the guest lacks are named at once; `dependencies="auto"` takes them along."""

from __future__ import annotations

from pathlib import Path

import pytest

from belljar import ValueRefused, sandbox
from capture.project import run, write


def installed(place: Path, name: str, version: str, files: dict[str, str], needs: str = "") -> None:
    """A distribution, as an installer leaves it."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = "".join(f"Requires-Dist: {need}\n" for need in needs.split("|") if need)
    record = "".join(f"{file},sha256=x,1\n" for file in files)
    meta = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}",
        f"{info}/RECORD": record,
    }
    write(place, {**files, **meta})


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A folder with 300 distributions."""
    place = tmp_path / "lib" / "site-packages"
    for number in range(295):
        files = {f"pack{number}/m{item}.py": "" for item in range(20)}
        installed(place, f"pack{number}", "1.0", {f"pack{number}/__init__.py": "", **files})
    installed(
        place,
        "Py-Yam.L",
        "6.0.1",
        {"yam/__init__.py": "from . import inner\nVALUE = 1\n", "yam/inner.py": "def f():\n    return 1\n"},
    )
    installed(
        place,
        "corp-space",
        "2.0+local",
        {"corp/space/mod.py": "X = 1\n"},
        "Py_Yam-L>=1|pack3 ; extra == 'more'|nothere",
    )
    installed(
        place,
        "single",
        "0.1",
        {"single_file.py": "class Thing:\n    pass\n"},
        'corp.space[more]>=1; python_version > "3"',
    )
    return place


CASES = {
    "module": ("import yam\ndef f():\n    return yam.VALUE\n", "'yam', a global of f() (module): the module 'yam' is of Py-Yam.L 6.0.1"),
    "function": ("from yam.inner import f as g\ndef f():\n    return g()\n", "'g', a global of f() (function): function f is of Py-Yam.L 6.0.1"),
    "submodule": ("import yam.inner\ndef f():\n    return yam.inner.f()\n", "'yam', a global of f() (module): the module 'yam' is of Py-Yam.L 6.0.1"),
    "namespace": ("from corp.space import mod\ndef f():\n    return mod.X\n", "'mod', a global of f() (module): the module 'corp.space.mod' is of corp-space 2.0+local"),
    "class": ("from single_file import Thing\ndef f():\n    return Thing()\n", "'Thing', a global of f() (type): class Thing is of single 0.1"),
    "argument": ("import single_file\ndef f(x=single_file.Thing()):\n    return 1\n", "f() (function): class Thing is of single 0.1"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing_is_named_with_its_distribution(crowd: Path, tmp_path: Path, case: str) -> None:
    source, told = CASES[case]
    main = f"""
from belljar import sandbox, ValueRefused
{source}
try:
    print(sandbox(f)())
except ValueRefused as error:
    print(error.message)
    print(error.hint)
"""
    message, hint = run(main, tmp_path, path=(crowd,))
    assert message == f"cannot send {told}, which the guest does not have"
    pin = {"Py-": "Py-Yam.L==6.0.1", "cor": "corp-space==2.0", "sin": "single==0.1"}
    wanted = next(value for key, value in pin.items() if f"is of {key}" in told)
    assert hint.startswith(f'give it dependencies=["{wanted}"], or show it all packages that you have here with venv=')


def test_an_own_module_that_imports_it_is_named_with_the_line(crowd: Path, tmp_path: Path) -> None:
    write(tmp_path, {"mine/__init__.py": "", "mine/api.py": "import os\n\nimport yam\nX = 1\ndef f():\n    return X\n"})
    main = """
from belljar import sandbox, ValueRefused
from mine import api
import mine.api
g = api.f
@sandbox
def by_value():
    return g()
@sandbox
def by_name():
    return api.X
print(by_value())
try:
    by_name()
except ValueRefused as error:
    print(error)
"""
    first, message, hint = run(main, tmp_path, path=(crowd,))
    assert first == "1", "what does not need it goes by value"
    assert message == (
        "cannot send 'api', a global of by_name() (module): the module 'mine.api' cannot be imported there: line 3 of"
        " mine.api imports yam, and that is of Py-Yam.L 6.0.1, which the guest does not have"
    )
    assert 'dependencies=["Py-Yam.L==6.0.1"]' in hint and hint.endswith(
        "or import it inside the function that needs it"
    )


def test_an_import_in_a_condition_is_none_that_must_fail(crowd: Path, tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "try:\n    import yam\nexcept ImportError:\n    yam = None\nX = 1\n"})
    main = "from belljar import sandbox\nimport mine\n@sandbox\ndef f():\n    return mine.X, mine.yam\nprint(f())\n"
    assert run(main, tmp_path, path=(crowd,)) == ["(1, None)"]


def test_auto_takes_what_the_code_needs_at_the_versions_that_are_here(crowd: Path, tmp_path: Path) -> None:
    write(tmp_path, {"mine.py": "import single_file\ndef later():\n    import pack7\n", "other.py": "import pack8\n"})
    main = """
from belljar import sandbox
from belljar._capture.auto import of_function, of_source
from belljar._guest import guest
from belljar._policy import Policy
import mine, other, yam, pack9, pack10
there = guest(Policy({}), None)
def helper():
    return pack9
def f():
    import pack11.m3
    return mine.single_file, helper()
def g():
    return yam
def own():
    return mine
print(of_function(f, there))
print(of_function(g, there))
print(of_function(lambda: 1, there))
print(of_source("Here:\\n```python\\nimport pack14\\nawait f()\\n```\\nDone.", there))
print(of_source("import pack12, os\\nfrom pack13 import m1\\nimport nowhere", there), of_source("(", there))
"""
    needs = ["corp-space==2.0", "pack11==1.0", "pack3==1.0", "pack9==1.0", "Py-Yam.L==6.0.1", "single==0.1"]
    told = [str(needs), "['Py-Yam.L==6.0.1']", "[]", "['pack14==1.0']", "['pack12==1.0', 'pack13==1.0'] []"]
    assert run(main, tmp_path, path=(crowd,)) == told


def test_auto_refuses_what_no_index_has(crowd: Path, tmp_path: Path) -> None:
    (crowd / "single-0.1.dist-info" / "direct_url.json").write_text("{}")
    main = """
from belljar import sandbox, DependencyError
import single_file
@sandbox(dependencies="auto")
def f():
    return single_file
try:
    f()
except DependencyError as error:
    print(error.message)
"""
    told = 'dependencies="auto": single 0.1 was installed from a folder or an address'
    assert run(main, tmp_path, path=(crowd,)) == [told]


def test_auto_needs_code() -> None:
    from belljar import Sandbox, run_command

    with pytest.raises(ValueError, match="needs code to look at"), Sandbox(dependencies="auto"):
        pass
    with pytest.raises(ValueError, match="needs code to look at"):
        run_command(["ls"], dependencies="auto")


def test_the_environment_of_this_process_is_never_sent() -> None:
    from os import environ

    @sandbox
    def f() -> object:
        return environ["HOME"]

    with pytest.raises(ValueRefused, match=r"os.environ, all variables of this process") as caught:
        f()
    assert caught.value.hint == 'name those that the guest may have: env=["LANG"]'
