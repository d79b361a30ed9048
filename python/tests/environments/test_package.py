"""Environments from Python: the same names, the same cache, and calls that stay warm."""

from __future__ import annotations

from .desk import Desk, python
from .index import Index
from .packages import wheel


def test_two_sets_in_one_program(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    program = """
from belljar import sandbox
import concurrent.futures, os

def version() -> tuple[str, bool]:
    import sys
    warm = "lib" in sys.modules
    import lib
    return lib.version, warm

one = sandbox(dependencies=["lib==1"])(version)
two = sandbox(dependencies=["lib==2"])(version)
plain = sandbox(version)
print([one()[0], two()[0], one()[0], two()[0]])
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    calls = [pool.submit(call) for call in (one, two) * 10]
    print([call.result()[0] for call in calls] == ["1", "2"] * 10)
print(one()[1], two()[1])
try:
    plain()
except ModuleNotFoundError as error:
    print(error)
"""
    told = python(desk, program).splitlines()
    assert told[0] == "['1', '2', '1', '2']" and told[1] == "True"
    assert told[2] == "True True", "what was asked for is imported before the call"
    assert "lib" in told[3]
    assert len(desk.environments()) == 2


def test_every_way_in(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    program = """
import asyncio, belljar
code = "import lib; print(lib.version)"
print(belljar.run(code, dependencies=["lib"]).check().stdout, end="")
with belljar.Sandbox(dependencies=["lib"]) as box:
    print(box.run(code).check().stdout, end="")
    print(box.call(lambda: __import__("lib").version))
print(asyncio.run(belljar.arun(code, dependencies=["lib"])).check().stdout, end="")
"""
    assert python(desk, program) == "1\n" * 4
    assert len(desk.environments()) == 1


def test_auto_installs_what_the_code_needs_at_the_version_that_is_here(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    program = """
import pathlib, sys
place = pathlib.Path("here/site-packages")
(place / "lib-1.dist-info").mkdir(parents=True)
(place / "lib.py").write_text("version = 'of the host'")
(place / "lib-1.dist-info/METADATA").write_text("Name: lib\\nVersion: 1\\n")
(place / "lib-1.dist-info/RECORD").write_text("lib.py,,\\n")
sys.path.insert(0, str(place.absolute()))
import belljar, lib
@belljar.sandbox(dependencies="auto")
def f():
    return lib.version
@belljar.sandbox(dependencies="auto")
def plain():
    return 1
print(f(), plain(), belljar.run("import lib; lib.version", dependencies="auto").check().value)
"""
    assert python(desk, program) == "1 1 1\n"
    assert len(desk.environments()) == 1


def test_failures_are_dependency_errors(desk: Desk, index: Index) -> None:
    from . import hostile

    index.add(wheel("lib", "1"))
    index.add(hostile.backend("sourced", desk.folder / "mark", desk.folder / "none"))
    program = """
import belljar
for wishes in (["nosuchpackage"], ["lib==1", "lib>1"], ["-r /etc/passwd"], ["sourced"], ["lib @ http://127.0.0.1/lib-1-py3-none-any.whl"]):
    try:
        belljar.run("print(1)", dependencies=wishes)
    except belljar.DependencyError as error:
        print(repr(wishes), "|", str(error).replace("\\n", " | "))
print(belljar.run("import sourced; print('built')", dependencies=["sourced"], allow_builds=True).check().stdout)
"""
    told = python(desk, program).splitlines()
    assert len(told) == 7, told
    assert "nosuchpackage" in told[0] and "lib" in told[1]
    # The next step is told in words that fit.
    assert "allow_builds" in told[3] and "allow_urls" in told[4]
    assert told[5] == "built" and not (desk.folder / "mark").exists()


def test_cloudpickle_is_the_callers(desk: Desk, index: Index) -> None:
    """Whatever version a package brings: it would not know what the caller's pickles name."""
    index.add(
        wheel("cloudpickle", "0.1"), wheel("lib", files={"lib.py": "import cloudpickle\n"}, requires=["cloudpickle"])
    )
    program = """
import belljar, cloudpickle
rate = [2]
def outer(x):
    return lambda y: (x + y) * rate[0]
def version():
    import importlib.metadata, lib
    return lib.cloudpickle.__version__ == ours, importlib.metadata.version("cloudpickle")
ours = cloudpickle.__version__
for more in ({}, {"mount": [f"{__import__('tempfile').mkdtemp()}:/data:rw"]}):
    with belljar.Sandbox(dependencies=["lib"], **more) as box:
        print(box.call(version), box.call(outer(1), 2), box.run("1").cold is None)
"""
    assert python(desk, program) == "(True, '0.1') 6 True\n(True, '0.1') 6 False\n"


def test_refresh_from_python(desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"))
    program = """
import belljar, sys
print(belljar.run("import lib; print(lib.version)", dependencies=["lib"], refresh=bool(sys.argv[1:])).check().stdout, end="")
"""
    assert python(desk, program) == "1\n"
    index.add(wheel("lib", "2"))
    assert python(desk, program) == "1\n"
    assert python(desk, program.replace("bool(sys.argv[1:])", "True")) == "2\n"


def test_python_and_the_command_line_share(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    assert desk.run("import lib; print(lib.version)", "--with", "lib") == "1\n"
    index.close()
    assert (
        python(
            desk,
            "import belljar; print(belljar.run('import lib; print(lib.version)', dependencies=['lib']).check().stdout)",
        )
        == "1\n\n"
    )


def test_what_is_missing_is_to_be_asked_for(desk: Desk, index: Index) -> None:
    """Nobody can install anything into an environment."""
    index.add(wheel("lib"))
    told = desk.call("run", "--with", "lib", "-c", "import lib, yaml")
    assert told.returncode == 1 and "yaml comes from the distribution PyYAML; add it with --with PyYAML" in told.stderr
    program = "import belljar; print(belljar.run('import yaml', dependencies=['lib']).exception.hint)"
    assert 'add it with dependencies=["PyYAML"]' in python(desk, program)
