"""Finding the `belljar` binary that the wheel brought."""

from __future__ import annotations

import os
import sys

from ._errors import SetupError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "belljar"


def find() -> str:
    """Returns the path of the binary: `BELLJAR_BIN` if it is set, otherwise where the installer put it."""
    if not sys.platform.startswith("linux"):
        raise SetupError(*elsewhere(sys.platform))
    named = os.environ.get("BELLJAR_BIN")
    if named:
        if usable(named):
            return os.path.abspath(named)
        raise SetupError(f"BELLJAR_BIN names {named!r}, which is no program", "unset it, or name the belljar binary")
    looked: list[str] = []
    for path in places():
        if usable(path):
            return path
        if path not in looked:
            looked.append(path)
    listing = "".join(f"\n  {path}" for path in looked)
    raise SetupError(
        f"the belljar binary is missing; looked at{listing}",
        "install belljar again from its wheel or its folder, or set BELLJAR_BIN to the binary",
    )


def usable(path: str) -> bool:
    """Whether it is a file that can be started."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def places() -> Iterator[str]:
    """Where installers put a program, the likely places first; looking further costs an import."""
    yield os.path.join(sys.prefix, "bin", NAME)
    package = os.path.dirname(os.path.abspath(__file__))
    site = os.path.dirname(package)
    # `pip install --target DIR`: DIR/belljar and DIR/bin.
    yield os.path.join(site, "bin", NAME)
    # `--prefix` and `--user`: PREFIX/lib/pythonX.Y/site-packages, or PREFIX/local/lib/… and …/dist-packages.
    above = site
    for _ in range(3):
        above = os.path.dirname(above)
    yield os.path.join(above, "bin", NAME)
    import sysconfig

    yield os.path.join(sysconfig.get_path("scripts"), NAME)
    user = sysconfig.get_preferred_scheme("user")
    yield os.path.join(sysconfig.get_path("scripts", user), NAME)
    # A checkout whose `python` folder is on the path.
    for build in ("release", "debug"):
        yield os.path.join(os.path.dirname(site), "target", build, NAME)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder):
            yield os.path.join(folder, NAME)


def elsewhere(platform: str) -> tuple[str, str]:
    """What to say where there is no Linux kernel."""
    message = f"belljar needs a Linux kernel, and this is {platform}"
    if platform == "darwin":
        return (
            message,
            "run the program in a Linux virtual machine (`limactl start`) or in a container of Docker Desktop",
        )
    if platform in ("win32", "cygwin"):
        return message, "run the program in WSL 2: `wsl --install`, then install belljar there"
    return message, "run the program on Linux 5.12 or later"
