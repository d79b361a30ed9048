"""Modules of the caller's own go in as source, however they are made importable."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipapp
from pathlib import Path

import pytest

from capture.project import MAIN, SHOP, run, write

SAME = [
    *["(9, True, 6, 'Müller') ('/own/shop/__init__.py', 'shop.prices', 'lock', True) True"] * 3,
    "True",
    "True True",
]
# For setuptools: a package in src/ or beside the project file.
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "shop"
version = "1.0"
[tool.setuptools]
include-package-data = false
package-dir = {"" = "FOLDER"}
packages = ["shop", "shop.data", "shop.deep"]
[tool.setuptools.package-data]
"*" = ["*.txt"]
"""


def moved(files: dict[str, str], folder: str) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


def test_a_script_beside_others(tmp_path: Path) -> None:
    assert run(MAIN, write(tmp_path, SHOP)) == SAME


def test_a_folder_on_the_path_and_a_src_layout(tmp_path: Path) -> None:
    write(tmp_path / "project", {**moved(SHOP, "src"), "pyproject.toml": "", ".env": "SECRET=1"})
    assert run(MAIN, tmp_path, path=(tmp_path / "project" / "src",)) == SAME


def test_a_package_that_is_a_repository_itself_goes_without_what_lies_beside_its_modules(tmp_path: Path) -> None:
    plain = {name: text for name, text in SHOP.items() if "config" not in name and "deep" not in name}
    plain["shop/config.py"] = "FACTOR = 3\n"
    write(tmp_path, {**plain, "shop/.git/HEAD": "x", "shop/setup.py": "1", "shop/notes.txt": "x"})
    main = """
from belljar import sandbox
import shop
@sandbox
def listed():
    import os
    return shop.total([]), sorted(name for _, _, names in os.walk("/own") for name in names if name[-1] != "c")
print(listed())
"""
    assert run(main, tmp_path) == ["(0, ['__init__.py', 'config.py', 'orders.py', 'prices.py'])"]


def test_a_namespace_package_in_two_folders(tmp_path: Path) -> None:
    write(tmp_path / "one", {"corp/tools/__init__.py": "from corp.base import BASE\n", "corp/tools/add.py": "X = 1\n"})
    write(tmp_path / "two", {"corp/base.py": "BASE = 41\n", "corp/unused.py": "SECRET = 1\n"})
    main = """
import os
from belljar import sandbox
from corp.tools import add, BASE
@sandbox
def told():
    import corp.base
    names = sorted(f"{folder}/{name}" for folder, _, names in os.walk("/own") for name in names if name[-1] != "c")
    return corp.base.BASE + add.X, names
print(told())
"""
    files = "['/own/corp/base.py', '/own/corp/tools/__init__.py', '/own/corp/tools/add.py']"
    assert run(main, tmp_path, path=(tmp_path / "one", tmp_path / "two")) == [f"(42, {files})"]


def test_a_zipapp_and_a_zip_on_the_path(tmp_path: Path) -> None:
    write(tmp_path / "app", {**SHOP, "__main__.py": MAIN.replace("for _ in range(3)", "for _ in range(3)")})
    # A Path beside __file__ is no file in an archive, on either side; the guest has a folder.
    (tmp_path / "app/shop/config.py").write_text(
        "from importlib.resources import files\n"
        "FACTOR = int(files('shop').joinpath('data/factor.txt').read_text())\n"
        "NAME = files('shop').joinpath('data/name.txt').read_text(encoding='utf-8')\n"
    )
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    assert run("", tmp_path, words=(sys.executable, str(tmp_path / "app.pyz"))) == SAME
    assert run(MAIN, tmp_path, path=(tmp_path / "app.pyz",)) == SAME


@pytest.mark.parametrize("mode", ["", "strict", "compat"])
@pytest.mark.parametrize("folder", ["src", ""])
def test_editable_installs(tmp_path: Path, mode: str, folder: str) -> None:
    project = write(
        tmp_path / "project", {**moved(SHOP, folder or "."), "pyproject.toml": PROJECT.replace("FOLDER", folder)}
    )
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    place = next(venv.glob("lib/python3*/site-packages"))
    # The tools of the tests, cloudpickle and setuptools among them, are there as well.
    (place / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = str(venv / "bin" / "python")
    words = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--offline"]
    subprocess.run([*words, "--python", python, f"-Ceditable_mode={mode}", "-e", project], check=True)
    assert run(MAIN, tmp_path, python=python) == SAME


def test_a_linked_folder_in_site_packages_is_ones_own(tmp_path: Path) -> None:
    write(tmp_path / "real", SHOP)
    place = tmp_path / "lib" / "site-packages"
    place.mkdir(parents=True)
    (place / "shop").symlink_to(tmp_path / "real" / "shop")
    assert run(MAIN, tmp_path, path=(place,)) == SAME


def test_an_installed_application_sends_its_own_modules(tmp_path: Path) -> None:
    """As in an image for production, where `pip install .` has put everything into site-packages."""
    place = tmp_path / "lib" / "site-packages"
    write(place, {**SHOP, "shop/tasks.py": "from belljar import sandbox\nfrom shop import prices, Order\n"
                  "@sandbox\ndef work(orders):\n    return prices.total(orders), isinstance(orders[0], Order)\n",
                  "shop/__init__.py": "from .prices import total\nfrom .orders import Order\n",
                  "shop-1.0.dist-info/METADATA": "Name: shop\nVersion: 1.0\n",
                  "shop-1.0.dist-info/RECORD": "shop/__init__.py,,\nshop/prices.py,,\nshop/tasks.py,,\n"})  # fmt: skip
    main = "from shop.tasks import work\nfrom shop import Order\nprint(work([Order(2)]))\n"
    assert run(main, tmp_path, path=(place,)) == ["(6, True)"]
    # Another program that merely uses it is told its name.
    main = """
from belljar import sandbox, ValueRefused
import shop
@sandbox
def work():
    return shop.total([])
try:
    work()
except ValueRefused as error:
    print(error.message)
"""
    told = "cannot send 'shop', a global of work() (module): the module 'shop' is of shop 1.0, which the guest does not have"
    assert run(main, tmp_path, path=(place,)) == [told]


def test_an_own_module_may_have_the_name_of_one_of_the_standard_library(tmp_path: Path) -> None:
    write(tmp_path, {"statistics.py": "def mean(values):\n    return 'mine'\n"})
    main = "from belljar import sandbox\nimport statistics\n@sandbox\ndef f():\n    return statistics.mean([1])\nprint(f())\n"
    assert run(main, tmp_path) == ["mine"]


def test_state_of_run_time_stays_here_and_imports_run_again_there(tmp_path: Path) -> None:
    write(tmp_path, {"state.py": "import os\nCOUNT = 1\nPID = os.getpid()\n"})
    main = """
from belljar import sandbox
import state
LOCAL = 1
@sandbox
def f():
    return state.COUNT, state.PID, LOCAL
state.COUNT, LOCAL = 2, 2
count, pid, local = f()
print(count, pid != state.PID, local)
"""
    # The function's own module goes by value, as it is at the call.
    assert run(main, tmp_path) == ["1 True 2"]


def test_a_module_that_is_loaded_again_goes_as_it_is_then(tmp_path: Path) -> None:
    write(tmp_path, {"state.py": "VALUE = 1\n"})
    main = """
import importlib, pathlib
from belljar import sandbox
import state
@sandbox
def f():
    return state.VALUE
print(f())
pathlib.Path("state.py").write_text("VALUE = 22\\n")
print(f())
importlib.reload(state)
print(f())
"""
    # The host goes by what it has imported, and so does the guest.
    assert run(main, tmp_path) == ["1", "1", "22"]


def test_what_a_function_imports_when_it_runs_is_there(tmp_path: Path) -> None:
    write(tmp_path, SHOP)
    main = """
from belljar import sandbox
@sandbox
def f():
    from shop.deep import er
    import shop.config as config
    return er.NAME, config.FACTOR
print(f())
"""
    assert run(main, tmp_path) == ["('Müller', 3)"]


def test_functions_without_a_name_live_in_their_module(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "lib.py": """
class Box:
    pass
LIMIT = 3
def made(factor):
    def inner(x):
        return x * factor + LIMIT, isinstance(Box(), Box), is_box(Box())
    return inner
is_box = lambda value: type(value) is Box
TABLE = {"twice": lambda x: (x * 2, Box)}
"""
        },
    )
    main = """
from belljar import sandbox
import lib
inner, twice = lib.made(2), lib.TABLE["twice"]
@sandbox
def f(function):
    return inner(1), twice(1)[1] is lib.Box, function(1)
print(f(lib.made(5)))
"""
    assert run(main, tmp_path) == ["((5, True, True), True, (8, True, True))"]


def test_the_functions_own_module_goes_by_name_where_another_imports_it(tmp_path: Path) -> None:
    """Otherwise its classes would be there twice."""
    write(tmp_path, {
        "app/__init__.py": "",
        "app/tasks.py": "from belljar import sandbox\nfrom app import helpers\nclass Item:\n    pass\n"
        "@sandbox\ndef check():\n    return helpers.is_item(Item())\n"
        "@sandbox\ndef given(item):\n    return helpers.is_item(item), isinstance(item, Item)\n",
        "app/helpers.py": "def is_item(value):\n    from app.tasks import Item\n    return isinstance(value, Item)\n",
    })  # fmt: skip
    main = "from app import tasks\nprint(tasks.check(), tasks.given(tasks.Item()), tasks.check())\n"
    assert run(main, tmp_path) == ["True (True, True) True"]


def test_a_module_whose_globals_cannot_go_by_value_goes_by_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app.py": """
import threading
from belljar import sandbox
lock = threading.Lock()
handle = open(__file__)
@sandbox
def f(x):
    with lock:
        return x + len(handle.readline())
"""
        },
    )
    assert run("import app\nprint(app.f(1))\n", tmp_path) == ["2"]


def test_an_import_that_fails_there_names_module_line_and_cure(tmp_path: Path) -> None:
    write(tmp_path, {"settings.py": "import os\n\nURL = os.environ['SHOP_URL']\n", "app.py": "import settings\n"})
    main = """
import os
os.environ["SHOP_URL"] = "x"
from belljar import sandbox
import app
@sandbox
def f():
    return app.settings.URL
for function in (f, f, f.options(env={"SHOP_URL": "y"})):
    try:
        print(function())
    except ImportError as error:
        print(error.message)
"""
    told = (
        "settings cannot be imported in the jar: KeyError: 'SHOP_URL' (line 3 of /own/settings.py). Modules of your own"
        " are imported anew there: give them what they need with env= or files=, or do this in a function"
    )
    assert run(main, tmp_path) == [told, told, "y"]


def test_a_module_that_opens_a_file_at_import_is_left_to_the_workers(tmp_path: Path) -> None:
    write(tmp_path, {"held.py": "FILE = open(__file__)\n", "plain.py": "X = 1\n"})
    main = """
from belljar import sandbox
import held, plain
@sandbox
def f():
    return held.FILE.name, plain.X
warmed = f.warm()
print(list(warmed.preloaded), list(warmed.left_out), warmed.cold)
print(f(), f.outcome().cold)
"""
    assert run(main, tmp_path) == ["['plain'] ['held'] None", "('/own/held.py', 1) None"]


def test_modules_are_imported_in_the_working_directory_cold_and_warm(tmp_path: Path) -> None:
    """SQLAlchemy makes the path of a database absolute at import. What a module leaves there, workers must have, too."""
    write(tmp_path / "mine", {"place.py": "import os\nPATH = os.path.abspath('my.db')\n",
                              "writes.py": "open('made.txt', 'w').close()\n"})  # fmt: skip
    main = """
import os
from belljar import sandbox
import place, writes
@sandbox
def f():
    return place.PATH, os.getcwd(), writes.__name__ and os.listdir()
print(f())
warmed = f.warm()
print(list(warmed.preloaded), list(warmed.left_out), f(), f.outcome().cold)
"""
    there = "('/jar/my.db', '/jar', ['made.txt'])"
    assert run(main, tmp_path, path=(tmp_path / "mine",)) == [there, f"['place'] ['writes'] {there} None"]


def test_modules_of_a_generated_kind_are_refused_and_their_functions_go(tmp_path: Path) -> None:
    main = """
import sys, types
from belljar import sandbox, ValueRefused
made = types.ModuleType("made")
exec("X = 2\\ndef double(x):\\n    return x * X\\n", made.__dict__)
sys.modules["made"] = made
double = made.double
@sandbox
def f(x):
    return double(x)
@sandbox
def g(x):
    return made.double(x)
print(f(4))
try:
    g(4)
except ValueRefused as error:
    print(error.message)
"""
    told = "cannot send 'made', a global of g() (module): the module 'made' exists in this process alone"
    assert run(main, tmp_path) == ["8", told]


def test_guests_of_other_versions_import_the_same_source(tmp_path: Path) -> None:
    from support import skip

    others = [f"3.{minor}" for minor in (10, 11, 12, 13) if minor != sys.version_info[1]]
    import belljar

    found = []
    for version in others:
        try:
            belljar.run("1", python=version).check()
            found.append(version)
        except belljar.BelljarError:
            continue
    if not found:
        skip("interpreters")
    write(tmp_path, SHOP)
    main = f"""
from belljar import sandbox
import shop
from shop.orders import Order
def f(orders):
    return shop.total(orders), isinstance(orders[0], Order)
for version in {found}:
    print(sandbox(python=version)(f)([Order(2)]))
"""
    assert run(main, tmp_path) == ["(6, True)"] * len(found)


def test_a_single_file_that_calls_itself_a_package(tmp_path: Path) -> None:
    """As six does, for modules that it makes."""
    write(tmp_path, {"single.py": "__path__ = []\n__spec__.submodule_search_locations = []\nX = 1\n"})
    main = "from belljar import sandbox\nimport single\n@sandbox\ndef f():\n    return single.X, single.__file__\nprint(f())\n"
    assert run(main, tmp_path) == ["(1, '/own/single.py')"]


def test_a_package_may_ask_for_its_own_version(tmp_path: Path) -> None:
    """Name and version of an editable install go along, and nothing else of what is installed beside it."""
    asks = "from importlib.metadata import version\n__version__ = version('Acme.Shop')\n"
    project = write(tmp_path / "a project", {"src/shop/__init__.py": asks})
    place = tmp_path / "lib" / "site-packages"
    info = "acme_shop-1.5.dist-info"
    write(place, {
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: Acme.Shop\nVersion: 1.5\nAuthor-Email: me@example.org\n",
        f"{info}/direct_url.json": f'{{"dir_info": {{"editable": true}}, "url": "{project.as_uri()}"}}',
        "other-2.0.dist-info/METADATA": "Name: other\nVersion: 2.0\n",
        "other-2.0.dist-info/direct_url.json": '{"url": "file:///elsewhere"}',
    })  # fmt: skip
    main = """
from belljar import sandbox
import shop
@sandbox
def f():
    import importlib.metadata as metadata
    found = [(one.name, one.version) for one in metadata.distributions(path=["/own"])]
    return shop.__version__, found, metadata.metadata("acme-shop")["Author-Email"]
print(f(), f.warm().preloaded.keys())
"""
    told = ["('1.5', [('Acme.Shop', '1.5')], None) dict_keys(['shop'])"]
    assert run(main, tmp_path, path=(project / "src", place)) == told
    # By its name, where it is used from another folder.
    copy = write(tmp_path / "copy", {"acme_shop/__init__.py": asks})
    main = main.replace("shop", "acme_shop").replace("acme-acme_shop", "acme-shop")
    assert run(main, tmp_path, path=(copy, place)) == [told[0].replace("['shop']", "['acme_shop']")]
