"""Small packages of our own in a folder, and environments that are built from nothing else."""

from __future__ import annotations

import os
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from belljar import Sandbox

UV = os.environ.get("BELLJAR_UV") or Path(sys.executable).parent / "uv"
# What a sandbox's first jobs say while its template is on the way.
EARLY = "no worker was ready yet"


def wheel(folder: Path, name: str, files: Mapping[str, str]) -> None:
    """A wheel with these modules."""
    about = f"{name}-1.dist-info"
    members = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{about}/RECORD"])
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1-py3-none-any.whl", "w") as archive:
        for path, text in members.items():
            archive.writestr(path, text)


def settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """From here on dependencies come from the folder that this gives, and are kept in another one beside it."""
    for name in list(os.environ):
        if name.startswith(("UV_", "PIP_")):
            monkeypatch.delenv(name)
    wheels = folder / "wheels"
    wheels.mkdir()
    mine = {"UV_FIND_LINKS": wheels, "PIP_NO_INDEX": "1", "BELLJAR_CACHE_DIR": folder / "cache", "BELLJAR_UV": UV}
    # Neither a pip.conf nor a uv.toml of whoever runs the tests.
    for name, value in {**mine, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}.items():
        monkeypatch.setenv(name, str(value))
    return wheels


def warmed(box: Sandbox) -> str | None:
    """Waits until jobs run warm, or gives the reason why they never will."""
    end = time.monotonic() + 90
    while True:
        cold = box.run("0").cold
        if cold is None or cold != EARLY:
            return cold
        assert time.monotonic() < end, "no worker in 90 s"
        time.sleep(0.02)
