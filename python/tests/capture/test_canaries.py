"""Only what the code names goes in: canaries all over a host program, and a search of the guest's whole memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capture.project import run, write

# Planted as finished values by a program of its own: a method that named the planter would take everything along.
PLANT = """
import hashlib, json, logging, os, secrets, sys
PREFIX = secrets.token_hex(8)
made = {}
def canary(name):
    made[name] = PREFIX + secrets.token_hex(8)
    return made[name]
"""
# The guest must not hold the prefix itself, so it is given every byte changed.
SEARCH = """
def searched(changed):
    import hashlib, re
    prefix = bytes(byte ^ 85 for byte in changed)
    found = set()
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if rights[0] != "r" or "[v" in line:
                continue
            start, end = (int(number, 16) for number in place.split("-"))
            try:
                memory.seek(start)
                data = memory.read(end - start)
            except OSError:
                continue
            for wide in (False, True):
                text = data.decode("utf-16-le", "replace").encode("ascii", "replace") if wide else data
                for match in re.finditer(re.escape(prefix) + rb"([0-9a-f]{16})", text):
                    found.add(hashlib.sha256(match[1]).hexdigest())
    return sorted(found)
"""
REPORT = """
def told(found):
    known = {hashlib.sha256(value[16:].encode()).hexdigest(): name for name, value in made.items()}
    print(json.dumps(sorted(known[one] for one in found)))
hidden = bytes(byte ^ 85 for byte in PREFIX.encode())
"""


def found(main: str, folder: Path) -> list[str]:
    """The names of the canaries that were in the guest, for each search."""
    lines = run(PLANT + SEARCH + REPORT + main, folder)
    return [",".join(json.loads(line)) for line in lines]


def test_nothing_that_the_code_does_not_name_is_in_the_guest(tmp_path: Path) -> None:
    files = {
        "config.py": "import os\nDEBUG = True\nFROM_ENVIRONMENT = os.environ.get('CANARY')\n",
        "pack/__init__.py": "VALUE = 1\n",
    }
    write(tmp_path, files)
    main = """
os.environ["CANARY"] = canary("environment")
sys.argv.append(canary("argv"))
import config, pack
from belljar import sandbox
config.SECRET = canary("an attribute beside the one that is used")
pack.SECRET = canary("an attribute of a package")
password = canary("a global with the name of an attribute")
unused = canary("a global that nobody names")
logging.getLogger().addHandler(handler := logging.StreamHandler())
handler.token = canary("a handler of a logger")
log = logging.getLogger("x")
log.addHandler(handler)
log.secret = canary("an attribute of a logger")
def enclosing():
    secret = canary("the closure of another function")
    return lambda: secret
other = enclosing()
class Base:
    token = canary("an attribute of a class that nobody names")
class Given:
    password = "mine"
def annotated(x: made.setdefault("an annotation", PREFIX + secrets.token_hex(8)) = 1) -> "text":
    return x
annotated.note = canary("an attribute of a function")
sys.modules["x_" + "secret"] = type(sys)(canary("a module"))
@sandbox
def f(x, changed):
    log.info("x")
    return searched(changed), config.DEBUG, pack.VALUE, x.password, annotated(2)
@sandbox
def plain(changed):
    import hashlib
    x = type("X", (), {"password": 1})
    return x.password, len(changed)
for _ in range(2):
    told(f(Given(), hidden)[0])
plain(hidden)
f.warm()
told(f(Given(), hidden)[0])
"""
    assert found(main, tmp_path) == ["", "", ""]


def test_what_must_travel_does(tmp_path: Path) -> None:
    """The control: whatever docs/reference/python.md lists as travelling is found by the same search."""
    write(tmp_path, {"config.py": "DEBUG = True\n", "pack/__init__.py": "X = 1\n", "pack/data.txt": "DATA"})
    main = """
from pathlib import Path
Path("config.py").write_text(f"DEBUG = True\\nLITERAL = '{canary('a literal in an own module')}'\\n")
Path("pack/data.txt").write_text(canary("data of an own package"))
Path("pack/.env").write_text(canary("a dot file"))
Path("pack/id_rsa").write_text(canary("a key by its name"))
Path("pack/pem.txt").write_text("-----BEGIN PRIVATE KEY-----" + canary("a key by its content"))
os.mkdir("pack/venv"); Path("pack/venv/pyvenv.cfg").write_text(canary("a virtualenv"))
os.symlink("../outside.txt", "pack/link.txt"); Path("outside.txt").write_text(canary("behind a link"))
import config, pack
from belljar import sandbox
named = canary("a global that is named")
table = {"a": 1, "b": canary("another item of a dict")}
class Given:
    pass
given = Given()
given.used, given.other = 1, canary("another attribute of an argument")
def with_default(x=canary("a default")):
    return x
def enclosing():
    secret = canary("a closure")
    return lambda: secret
enclosed = enclosing()
@sandbox
def f(x, changed):
    import os
    texts = [open(os.path.join(folder, name)).read() for folder, _, names in os.walk("/own") for name in names if name[-1] != "c"]
    return searched(changed), named, table["a"], x.used, with_default(), enclosed(), config.DEBUG, pack.X
told(f(given, hidden)[0])
"""
    travels = sorted([
        "a closure", "a default", "a global that is named", "a literal in an own module",
        "another attribute of an argument", "another item of a dict", "data of an own package",
    ])  # fmt: skip
    assert found(main, tmp_path) == [",".join(travels)]


@pytest.mark.parametrize("way", ["Sandbox.call", "run"])
def test_other_ways_in_are_alike(tmp_path: Path, way: str) -> None:
    main = """
from belljar import Sandbox, run
unused, password = canary("unused"), canary("password")
class Given:
    password = "x"
def f(x, changed):
    return searched(changed), x.password
"""
    if way == "run":
        main += "told(run('searched(changed)', inputs={'searched': searched, 'changed': hidden, 'x': Given()}).check().value)\n"
    else:
        main += "with Sandbox() as box:\n    told(box.call(f, Given(), hidden)[0])\n"
    assert found(main, tmp_path) == [""]
