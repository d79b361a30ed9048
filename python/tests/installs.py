"""Builds what test_wheel.py installs, in the ways that people install a checkout, from the debug build that is there anyway.

The builds move the binary about, so `make package-test` runs this before tests that use it: `python installs.py FOLDER`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support import ROOT, TARGET

BIN = Path(sys.executable).parent
EDITABLE = "import maturin, sys; maturin.build_editable(sys.argv[1])"


def build(folder: Path) -> None:
    """Into `folder`: the wheel of `pip install .`, in `editable` that of `pip install -e .`, in `uv` what uv installs."""
    environment = {
        **os.environ,
        "MATURIN_PEP517_ARGS": "--profile dev",
        "CARGO_TARGET_DIR": str(TARGET.resolve()),
        "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
    }
    (folder / "editable").mkdir(parents=True)
    quiet = ["--quiet", "--no-deps", "--no-build-isolation"]
    for words in (
        [sys.executable, "-m", "pip", "wheel", *quiet, "--disable-pip-version-check", "--wheel-dir", str(folder), "."],
        [sys.executable, "-c", EDITABLE, str(folder / "editable")],
        # Without its cache: it would not look at anything but pyproject.toml.
        [str(BIN / "uv"), "pip", "install", *quiet, "--no-cache", "--prefix", str(folder / "uv"), "--python", sys.executable, "."],
    ):  # fmt: skip
        subprocess.run(words, cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
