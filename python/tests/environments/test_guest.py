"""A guest cannot change its environment, nor what lies behind it. docs/reference/attacks.md: DP-06, DP-08."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from .desk import Desk, contents, python
from .index import Index
from .packages import Entry, wheel

# Each attempt changes the environment where nothing stops it, and says so; the host looks for itself as well.
ATTEMPTS = """
import ctypes, json, os, shutil, subprocess, sys
env = [path for path in sys.path if path.startswith('/env')][0]
lib = os.path.join(env, 'lib.py')
libc = ctypes.CDLL(None, use_errno=True)

def write(): open(lib, 'w').write('tampered')
def append(): open(lib, 'a').write('tampered')
def make(): open(os.path.join(env, 'made.py'), 'w').write('x')
def cache():
    folder = os.path.join(env, '__pycache__')
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, 'made.pyc'), 'w').write('x')
def remove(): os.remove(lib)
def rename(): os.rename(lib, lib + '.old')
def chmod(): os.chmod(lib, 0o777)
def chown(): os.chown(lib, os.getuid(), os.getgid())
def times(): os.utime(lib, (1, 1))
def truncate(): os.truncate(lib, 0)
def link_in(): os.link(lib, os.path.join(env, 'linked.py'))
def symlink_in(): os.symlink('/jar', os.path.join(env, 'jar'))
def link_out():
    os.link(lib, '/jar/linked.py')
    os.chmod('/jar/linked.py', 0o666)
    open('/jar/linked.py', 'w').write('tampered')
def by_descriptor():
    held = os.open(lib, os.O_RDONLY)
    os.write(os.open('/proc/self/fd/%d' % held, os.O_WRONLY), b'tampered')
def by_map():
    import mmap
    held = os.open(lib, os.O_RDONLY)
    mmap.mmap(held, 0, mmap.MAP_SHARED, mmap.PROT_WRITE)[0] = 0
def by_attribute(): os.setxattr(lib, 'user.x', b'x')
def by_mount():
    if libc.mount(b'none', b'/env', None, 32 | 4096, None): raise OSError(ctypes.get_errno(), 'remount')
    write()
def by_bind():
    if libc.mount(b'/env', b'/jar', None, 4096, None): raise OSError(ctypes.get_errno(), 'bind')
def by_unmount():
    if libc.umount2(b'/env', 2): raise OSError(ctypes.get_errno(), 'unmount')
def by_child(): subprocess.run(['sh', '-c', 'echo tampered > ' + lib], check=True, stderr=subprocess.DEVNULL)

told = {}
for attempt in [write, append, make, cache, remove, rename, chmod, chown, times, truncate, link_in, symlink_in, link_out, by_descriptor,
                by_map, by_attribute, by_mount, by_bind, by_unmount, by_child]:
    try:
        attempt()
        told[attempt.__name__] = 'done'
    except OSError as error:
        told[attempt.__name__] = error.errno
    except subprocess.CalledProcessError:
        told[attempt.__name__] = 'failed'
print(json.dumps(told))
"""
# Operation not permitted, permission denied, read-only file system, cross-device link, not supported.
DENIED = {1, 13, 30, 18, 95, "failed"}


def test_a_guest_changes_nothing(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    each_desk.run("import lib", "--with", "lib")
    before = contents(each_desk.cache / "environments", each_desk.cache / "uv", each_desk.cache / "bytecode")
    told = json.loads(each_desk.run(ATTEMPTS, "--with", "lib"))
    assert len(told) == 20
    assert {name: answer for name, answer in told.items() if answer not in DENIED} == {}
    after = contents(each_desk.cache / "environments", each_desk.cache / "uv", each_desk.cache / "bytecode")
    # When it was last used is noted beside it.
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert not [path for path in changed if "site-packages" in path or "/uv/" in path or "/bytecode/" in path], changed
    assert each_desk.run("import lib; print(lib.version)", "--with", "lib") == "1\n"


def test_the_host_could_change_it(desk: Desk, index: Index, tmp_path: Path) -> None:
    """The control: the same files, in a folder that a user may write, and a hard link that leads to another's content."""
    index.add(wheel("lib"))
    desk.run("import lib", "--with", "lib")
    file = desk.file("lib.py")
    kept = tmp_path / "kept.py"
    shutil.copy(file, kept)
    os.link(kept, tmp_path / "lib.py")
    (tmp_path / "lib.py").chmod(0o644)
    (tmp_path / "lib.py").write_text("tampered")
    assert kept.read_text() == "tampered"
    # In a jar whose folder is writable the attempts do what they try.
    folder = tmp_path / "env"
    folder.mkdir()
    (folder / "lib.py").write_text("version = '1'\n")
    code = ATTEMPTS.replace("[path for path in sys.path if path.startswith('/env')][0]", "'/writable'")
    told = json.loads(desk.run(code, "--mount", f"{folder}:/writable:rw"))
    done = {name for name, answer in told.items() if answer == "done"}
    assert {"write", "append", "make", "cache", "rename", "remove"} & done >= {"write", "append", "make", "cache"}


def test_a_warm_guest_changes_nothing_either(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    program = f"""
import belljar, json
with belljar.Sandbox(dependencies=["lib"]) as box:
    first = box.run({ATTEMPTS!r}).check().stdout
    second = box.run("import lib; print(lib.version)").check().stdout
    print(first + second)
"""
    told = python(desk, program).split("\n")
    assert {name: answer for name, answer in json.loads(told[0]).items() if answer not in DENIED} == {}
    assert told[1] == "1"


def test_caches_of_libraries_are_per_run(desk: Desk, index: Index) -> None:
    """What one guest puts where libraries keep their caches, and later believe them, no other finds."""
    index.add(wheel("lib"))
    code = """
import os, pathlib
places = [os.environ[name] for name in ('HOME', 'XDG_CACHE_HOME', 'MPLCONFIGDIR', 'HF_HOME', 'NUMBA_CACHE_DIR') if name in os.environ]
found = [place for place in places if os.path.exists(place + '/planted')]
for place in places:
    os.makedirs(place, exist_ok=True)
    pathlib.Path(place, 'planted').write_text('x')
print(len(places) >= 3, found, all(os.path.exists(place + '/planted') for place in places))
"""
    for _ in range(2):
        assert desk.run(code, "--with", "lib") == "True [] True\n"
    told = python(
        desk,
        f"import belljar\nwith belljar.Sandbox(dependencies=['lib']) as box:\n    for _ in range(2): print(box.run({code!r}).check().stdout, end='')",
    )
    assert told == "True [] True\n" * 2


def test_only_the_environment_is_shown(desk: Desk, index: Index) -> None:
    """Neither the cache around it, nor other environments, nor uv."""
    index.add(wheel("lib"), wheel("other"))
    desk.run("import other", "--with", "other")
    code = f"""
import os, sys
print(sorted(os.listdir('/')), os.path.exists({str(desk.cache)!r}), os.path.exists({str(desk.folder)!r}))
try:
    import other
    print('other')
except ImportError:
    print('none')
print([word for line in open('/proc/self/mountinfo') for word in line.split() if {desk.cache.name!r} in word.split('/')])
"""
    told = desk.run(code, "--with", "lib").splitlines()
    assert told[0].endswith("False False") and "'env'" in told[0]
    assert told[1] == "none"


def test_scripts_of_packages_can_be_called(desk: Desk, index: Index) -> None:
    """Their first line names an interpreter that is there in the jar."""
    index.add(
        wheel(
            "tool", files={"tool.py": "def main():\n    print('called')\n"}, entry_points="[console_scripts]\ntool = tool:main\n",
            entries=[Entry("tool-1.data/scripts/oldtool", b"#!python\nimport tool\ntool.main()\n", mode=0o755)],
        )
    )  # fmt: skip
    code = "import subprocess; print(subprocess.run(['{}'], capture_output=True, text=True))"
    for name in ("tool", "oldtool"):
        assert "stdout='called\\n'" in desk.run(code.format(name), "--with", "tool"), name


def test_data_files_and_namespaces(desk: Desk, index: Index) -> None:
    index.add(
        wheel("space-a".replace("-", "_"), files={"space/a.py": "x = 1\n"}),
        wheel(
            "space_b",
            files={"space/b.py": "y = 2\n"},
            entries=[Entry("space_b-1.data/data/share/space/file.txt", b"data")],
        ),
    )
    code = (
        "import sys, space.a, space.b; print(space.a.x, space.b.y, open(sys.prefix + '/share/space/file.txt').read())"
    )
    assert desk.run(code, "--with", "space-a", "--with", "space-b") == "1 2 data\n"
    code = "from importlib import metadata; print(metadata.version('space-a'), sorted(d.name for d in metadata.distributions()))"
    assert desk.run(code, "--with", "space-a", "--with", "space-b") == "1 ['space_a', 'space_b']\n"


def test_packages_of_the_interpreter_are_not_there(each_desk: Desk, index: Index) -> None:
    """Neither in the environment, nor where the interpreter below it has them."""
    index.add(wheel("lib"))
    code = """
import glob, importlib.util, lib, sys
below = [sys.base_prefix, "/usr", "/usr/local"]
print(any(path for prefix in below for path in glob.glob(f"{prefix}/lib/python3*/[ds]i[st][te]-packages/*")))
print(importlib.util.find_spec("pip"))
"""
    assert each_desk.run(code, "--with", "lib") == "False\nNone\n"
    # The control: they can be seen, and are still none of the environment's.
    assert each_desk.run(code, "--with", "lib", "--site-packages") == "True\nNone\n"
