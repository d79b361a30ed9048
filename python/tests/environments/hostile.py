"""Hostile packages. Each leaves a mark that only its own harm can leave; the tests look for marks from the host."""

from __future__ import annotations

import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

from .packages import Artifact, Entry, sdist, wheel, with_local_name

# Deep enough for any place where an environment, a cache or a staging folder may lie, and no deeper than the folders of the test.
DEPTHS = range(1, 16)

# What code of a package does when it runs: a mark where the host would see it, and a report of what it could see.
DEED = """
import json, os, sys
def deed(mark, secret):
    seen = {"uid": os.getuid(), "environ": dict(os.environ), "argv": sys.argv, "root": sorted(os.listdir("/"))}
    try:
        with open(mark, "w") as file:
            file.write("harm")
        seen["mark"] = "written"
    except OSError as error:
        seen["mark"] = error.errno
    try:
        with open(secret) as file:
            seen["secret"] = file.read()
    except OSError as error:
        seen["secret"] = error.errno
    return seen
"""

# A build backend in the distribution itself, so that a build needs nothing else from the index.
BACKEND = (
    DEED
    + """
import zipfile
MARK, SECRET, NAME = {mark!r}, {secret!r}, {name!r}
def build_wheel(folder, settings=None, metadata=None):
    seen = deed(MARK, SECRET)
    filename = NAME + "-1-py3-none-any.whl"
    info = NAME + "-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, filename), "w") as file:
        file.writestr(NAME + ".py", "seen = " + repr(seen))
        file.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: %s\\nVersion: 1\\n" % NAME)
        file.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(info + "RECORD", "%s.py,,\\n%sMETADATA,,\\n%sWHEEL,,\\n%sRECORD,,\\n" % (NAME, info, info, info))
    return filename
def build_sdist(folder, settings=None):
    raise SystemExit("not asked for")
"""
)

# What setup.py is run by when nothing else is told. It stands in for the real setuptools, which the index here does not have.
SETUPTOOLS = """
import os, runpy, zipfile
class Legacy:
    def get_requires_for_build_wheel(self, settings=None):
        return []
    def build_wheel(self, folder, settings=None, metadata=None):
        return runpy.run_path("setup.py")["build_wheel"](folder)
__legacy__ = Legacy()
build_wheel = __legacy__.build_wheel
get_requires_for_build_wheel = __legacy__.get_requires_for_build_wheel
"""


def setuptools() -> Artifact:
    """A setuptools that knows only how to run a setup.py of ours."""
    return wheel("setuptools", "80", {"setuptools/__init__.py": "", "setuptools/build_meta.py": SETUPTOOLS})


def backend(name: str, mark: Path, secret: Path) -> Artifact:
    """A source distribution with a backend of its own that does its deed when it is built."""
    project = f'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "{name}"\nversion = "1"\n'
    return sdist(name, "1", {"pyproject.toml": project, "backend.py": _backend(name, mark, secret)})


# A backend that changes, while it is built, the environment that is being made: it is there to be written to.
MEDDLER = """
import os, shutil, sys, zipfile
OUTSIDE, HOW = {outside!r}, {how!r}
INFO = "meddler-1.dist-info/"
ABOUT = "Metadata-Version: 2.1\\nName: meddler\\nVersion: 1\\n"
def prepare_metadata_for_build_wheel(folder, settings=None):
    # Without code of ours: what runs is then run while the environment is installed, not while versions are chosen.
    os.mkdir(os.path.join(folder, INFO))
    open(os.path.join(folder, INFO, "METADATA"), "w").write(ABOUT)
    open(os.path.join(folder, INFO, "WHEEL"), "w").write("Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    return INFO[:-1]
def build_wheel(folder, settings=None, metadata=None):
    name = "meddler-1-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as file:
        file.writestr("meddler.py", "version = 1")
        file.writestr(INFO + "METADATA", ABOUT)
        file.writestr(INFO + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(INFO + "RECORD", "meddler.py,,\\n%sMETADATA,,\\n%sWHEEL,,\\n%sRECORD,,\\n" % (INFO, INFO, INFO))
    # A path that the jar has of its own, and that is a folder of the host's outside.
    os.makedirs(OUTSIDE, exist_ok=True)
    lib = "/env/lib/python%d.%d" % sys.version_info[:2]
    site = lib + "/site-packages"
    def link(path, target):
        shutil.rmtree(path)
        os.symlink(target, path)
    if HOW == "site":
        link(site, OUTSIDE)
    elif HOW == "lib":
        link(lib, os.path.dirname(OUTSIDE))
        os.makedirs(os.path.dirname(OUTSIDE) + "/site-packages", exist_ok=True)
    elif HOW == "files":
        os.symlink(OUTSIDE, site + "/folder")
        os.symlink(OUTSIDE, site + "/__pycache__")
        os.symlink(OUTSIDE, site + "/meddled-1.dist-info")
        os.symlink(OUTSIDE + "/victim.py", site + "/victim.py")
        os.mkfifo(site + "/pipe.py")
    elif HOW == "odd":
        os.makedirs(site + "/locked/inside")
        open(site + "/locked/inside/file", "w").write("x")
        os.chmod(site + "/locked/inside", 0)
        os.chmod(site + "/locked", 0)
        open(site + "/setuid", "w").write("x")
        os.chmod(site + "/setuid", 0o6777)
        open(site + "/hidden", "w").write("x")
        os.chmod(site + "/hidden", 0)
    elif HOW in ("share", "cache"):
        # A list of fonts is made by whatever calls itself so, and kept by belljar below /env/share.
        os.mkdir(site + "/matplotlib")
        open(site + "/matplotlib/__init__.py", "w").close()
        open(site + "/matplotlib/font_manager.py", "w").write("open('/made/fontlist-v1.json', 'w').write('harm')")
        if HOW == "share":
            os.symlink(OUTSIDE, "/env/share")
        else:
            os.makedirs("/env/share/belljar/matplotlib")
            os.symlink(OUTSIDE + "/victim.py", "/env/share/belljar/matplotlib/fontlist-v1.json")
    elif HOW == "config":
        open("/env/pyvenv.cfg", "w").write("home = %s\\ninclude-system-site-packages = true\\n" % OUTSIDE)
    elif HOW == "deep":
        here = os.open(site, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
    open(OUTSIDE + "/ran", "w").write("x")
    return name
"""


def meddler(outside: Path, how: str) -> Artifact:
    """A source distribution that meddles with the environment in which it will be installed."""
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "meddler"\ndynamic = ["version"]\n'
    source = MEDDLER.replace("{outside!r}", repr(str(outside))).replace("{how!r}", repr(how))
    return sdist("meddler", "1", {"pyproject.toml": project, "backend.py": source})


def setup_py(name: str, mark: Path, secret: Path) -> Artifact:
    """A source distribution with nothing but a setup.py that does its deed."""
    return sdist(name, "1", {"setup.py": _backend(name, mark, secret)})


def _backend(name: str, mark: Path, secret: Path) -> str:
    return (
        BACKEND.replace("{mark!r}", repr(str(mark)))
        .replace("{secret!r}", repr(str(secret)))
        .replace("{name!r}", repr(name))
    )


def at_start(mark: Path) -> dict[str, Artifact]:
    """Wheels whose code runs when an interpreter starts with them, or when their commands are called."""
    write = f"open({str(mark)!r}, 'w').write('harm')"
    guarded = f"import sys\nsys.started = True\ntry:\n    {write}\nexcept OSError:\n    pass\n"
    line = f"import sys; sys.started = True; exec({f'try: {write}{chr(10)}except OSError: pass'!r})\n"
    shell = f"#!/bin/sh\necho harm 2>/dev/null >{mark}\nexit 1\n".encode()
    plain = {"harmless.py": ""}
    return {
        "pth": wheel("pth", "1", {**plain, "pth.pth": line}),
        "sitecustomize": wheel("sitecustom", "1", {**plain, "sitecustomize.py": guarded}),
        "usercustomize": wheel("usercustom", "1", {**plain, "usercustomize.py": guarded}),
        "stdlib": wheel("shadow", "1", {**plain, "json/__init__.py": guarded, "encodings/utf_8.py": guarded, "os.py": guarded}),
        "script": wheel(
            "scripted", "1", plain,
            entries=[Entry(f"scripted-1.data/scripts/{name}", shell, mode=0o755) for name in ("python", "python3", "uv", "pip")],
        ),
        "command": wheel(
            "command", "1", {"command.py": f"def main():\n    {write}\n"},
            entry_points="[console_scripts]\npython = command:main\npython3 = command:main\nuv = command:main\n",
        ),
    }  # fmt: skip


def escaping(absolute: Path, mark: str) -> dict[str, Artifact]:
    """Wheels that write outside: to the file `absolute`, or to files called `mark` somewhere above."""
    up = ["../" * depth + mark for depth in DEPTHS]
    harm = b"harm"

    def entries(*names: str) -> list[Entry]:
        return [Entry(name, harm) for name in names]

    twin = wheel("twoname", "1", entries=entries("x" * len(up[7])))
    return {
        "climbs": wheel("climbs", "1", entries=entries(*up)),
        "climbs_inside": wheel("climbsin", "1", entries=entries(*("climbsin/a/" + name for name in up))),
        "backslash": wheel("backslash", "1", entries=entries(*(name.replace("/", "\\") for name in up))),
        "absolute": wheel("absolute", "1", entries=entries(str(absolute), "/" + str(absolute))),
        "symlink": wheel("symlink", "1", entries=[
            Entry("symlink/out", str(absolute.parent).encode(), link=True), Entry(f"symlink/out/{absolute.name}", harm)]),
        "symlink_file": wheel("symfile", "1", entries=[
            Entry("symfile/out", str(absolute).encode(), link=True), Entry("symfile/out", harm)]),
        "data": wheel("datadir", "1", entries=entries(*("datadir-1.data/" + name for name in up))),
        "data_data": wheel("datadata", "1", entries=entries(*("datadata-1.data/data/" + name for name in up))),
        "data_scripts": wheel("datascript", "1", entries=entries(*("datascript-1.data/scripts/" + name for name in up))),
        "data_absolute": wheel("dataabs", "1", entries=entries(f"dataabs-1.data/data/{absolute}")),
        "entry_point": wheel("entrypoint", "1", entry_points="[console_scripts]\n" + "".join(f"{name} = entrypoint:version\n" for name in up)),
        "entry_point_absolute": wheel("entryabs", "1", entry_points=f"[console_scripts]\n{absolute} = entryabs:version\n"),
        "gui_entry_point": wheel("entrygui", "1", entry_points="[gui_scripts]\n" + "".join(f"{name} = entrygui:version\n" for name in up)),
        "dist_info": replace(
            wheel("distinfo", "1", entries=entries(*("distinfo-1.dist-info/" + name for name in up))), filename="distinfo-1-py3-none-any.whl"),
        "two_names": replace(twin, data=with_local_name(twin.data, "x" * len(up[7]), up[7])),
    }  # fmt: skip


def odd() -> dict[str, Artifact]:
    """Wheels that readers disagree about. None of them climbs; what is installed must be one thing, or nothing."""
    return {
        "duplicate": wheel("duplicate", "1", entries=[Entry("duplicate.py", b"version = 'second'\n")]),
        "case_twins": wheel("casetwins", "1", entries=[Entry("CaseTwins.py", b"version = 'twin'\n")]),
        "no_record": _without(wheel("norecord", "1"), "RECORD"),
        "no_metadata": _without(wheel("nometadata", "1"), "METADATA"),
        "not_a_zip": replace(wheel("notazip", "1"), data=b"this is no zip"),
        "cut": (lambda whole: replace(whole, data=whole.data[:-30]))(wheel("cut", "1")),
        "other_name": replace(wheel("othername", "1"), name="thename", filename="thename-1-py3-none-any.whl"),
        "junk_before": (lambda whole: replace(whole, data=b"junk" * 9 + whole.data))(wheel("junkbefore", "1")),
    }


def pigeons(count: int) -> list[Artifact]:
    """Pigeons, and one hole too few: versions that fit in pairs and not all together, which no resolver sees at a glance.

    The version of a pigeon is the hole that it is in, and the version of a hole is the pigeon that is in it.
    """
    holes = range(1, count)
    placed = [
        wheel(f"pigeon{one}", str(hole), requires=[f"hole{hole}=={one}"]) for one in range(count) for hole in holes
    ]
    return [*placed, *(wheel(f"hole{hole}", str(one)) for hole in holes for one in range(count))]


def climbing_sdist(name: str, absolute: Path, mark: str, secret: Path) -> Artifact:
    """A source distribution whose archive climbs, and links, out of the folder that it is unpacked in."""
    entries = []
    for path in [*("../" * depth + mark for depth in DEPTHS), str(absolute), f"{name}-1/link/{absolute.name}"]:
        info = tarfile.TarInfo(path)
        info.size = 4
        entries.append(info)
    link = tarfile.TarInfo(f"{name}-1/link")
    link.type, link.linkname = tarfile.SYMTYPE, str(absolute.parent)
    whole = backend(name, absolute, secret)
    with tarfile.open(fileobj=io.BytesIO(whole.data)) as file:
        texts = {
            member.name.partition("/")[2]: handle.read().decode()
            for member in file
            if (handle := file.extractfile(member)) and not member.name.endswith("PKG-INFO")
        }
    return sdist(name, "1", texts, [link, *entries])


def _without(whole: Artifact, what: str) -> Artifact:
    store = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole.data)) as old, zipfile.ZipFile(store, "w") as new:
        for name in old.namelist():
            if not name.endswith("/" + what):
                new.writestr(name, old.read(name))
    return replace(whole, data=store.getvalue())
