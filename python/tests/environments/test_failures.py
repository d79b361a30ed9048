"""What can go wrong with packages and indexes: one message that names the thing and the next step. Kept in messages.txt."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from . import hostile
from .desk import Desk
from .index import Index, Offer
from .packages import sdist, wheel

MESSAGES = Path(__file__).with_name("messages.txt")


def unknown(index: Index) -> list[str]:
    return ["--with", "nosuchpackage"]


def unknown_version(index: Index) -> list[str]:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    return ["--with", "lib>=3"]


def unknown_deep(index: Index) -> list[str]:
    index.add(wheel("top", requires=["nosuchpackage"]))
    return ["--with", "top"]


def conflict(index: Index) -> list[str]:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    return ["--with", "lib==1", "--with", "lib==2"]


def conflict_deep(index: Index) -> list[str]:
    index.add(wheel("lib", "1"), wheel("lib", "2"), wheel("one", requires=["lib<2"]), wheel("two", requires=["lib>=2"]))
    return ["--with", "one", "--with", "two"]


def yanked(index: Index) -> list[str]:
    index.offer(Offer(wheel("lib", "1"), yanked="it eats files"))
    return ["--with", "lib"]


def prerelease(index: Index) -> list[str]:
    index.add(wheel("lib", "2rc1"))
    return ["--with", "lib>=2,<3"]


def wrong_python(index: Index) -> list[str]:
    index.offer(Offer(wheel("lib", "1", requires_python=">=3.99"), requires_python=">=3.99"))
    return ["--with", "lib"]


def wrong_platform(index: Index) -> list[str]:
    index.add(wheel("lib", "1", tag="cp311-cp311-win_amd64"))
    return ["--with", "lib"]


def source_only(index: Index) -> list[str]:
    index.add(hostile.backend("lib", Path("/nowhere"), Path("/nowhere")))
    return ["--with", "lib"]


def wrong_hash(index: Index) -> list[str]:
    index.offer(Offer(wheel("lib"), sha256="0" * 64))
    return ["--with", "lib"]


def wrong_metadata(index: Index) -> list[str]:
    index.add(hostile.odd()["other_name"])
    return ["--with", "thename"]


def not_a_zip(index: Index) -> list[str]:
    index.add(hostile.odd()["not_a_zip"])
    return ["--with", "notazip"]


def duplicate(index: Index) -> list[str]:
    index.add(hostile.odd()["duplicate"])
    return ["--with", "duplicate"]


def escaping_script(index: Index) -> list[str]:
    index.add(hostile.escaping(Path("/outside"), "mark")["entry_point_absolute"])
    return ["--with", "entryabs"]


def slow(index: Index) -> list[str]:
    gate = threading.Event()
    index.offer(Offer(wheel("lib"), gate=gate))
    return ["--with", "lib"]


def dies(index: Index) -> list[str]:
    index.offer(Offer(wheel("lib"), dies=1000))
    return ["--with", "lib"]


def private(index: Index) -> list[str]:
    index.credentials = "user:password"
    index.add(wheel("lib"))
    return ["--with", "lib"]


def no_network(index: Index) -> list[str]:
    index.close()
    return ["--with", "lib"]


def broken_build(index: Index) -> list[str]:
    index.add(sdist("lib", "1", {"setup.py": "raise SystemExit('no compiler here')"}), hostile.setuptools())
    return ["--with", "lib", "--allow-builds"]


FAILURES: dict[str, Callable[[Index], list[str]]] = {
    make.__name__: make
    for make in (
        unknown, unknown_version, unknown_deep, conflict, conflict_deep, yanked, prerelease, wrong_python, wrong_platform, source_only,
        wrong_hash, wrong_metadata, not_a_zip, duplicate, escaping_script, slow, dies, private, no_network, broken_build,
    )
}  # fmt: skip


def known() -> dict[str, str]:
    text = MESSAGES.read_text() if MESSAGES.exists() else ""
    return dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", text, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("name", sorted(FAILURES))
def test_a_failure_is_told_in_one_message(name: str, desk: Desk, index: Index) -> None:
    words = FAILURES[name](index)
    told = desk.refused(*words, UV_HTTP_TIMEOUT="1", UV_HTTP_RETRIES="1")
    assert desk.environments() == [] and desk.staging() == []
    assert told.startswith("belljar: ") and told.count("\n") == 1 and len(told) < 600, told
    assert ";" in told, f"no next step: {told}"
    for private_thing in (str(desk.folder), "/tmp/", "\x1b", "Traceback"):
        assert private_thing not in told, told
    plain = told.replace(str(index.port), "PORT")
    plain = re.sub(r"this is 3\.\d+\.\d+", "this is 3.X.Y", plain)
    # What a wheel is compressed to depends on the library that does it.
    plain = re.sub(r"sha256:(?!0{64})[0-9a-f]{64}", "sha256:HASH", plain)
    messages = known()
    if "BLESS" in os.environ:
        messages[name] = plain
        MESSAGES.write_text("".join(f"== {name}\n{text}" for name, text in sorted(messages.items())))
    assert plain == messages.get(name), "with BLESS=1 and without -n it is written again"


def test_an_address_that_does_not_exist(desk: Desk) -> None:
    told = desk.refused("--with", "lib", UV_DEFAULT_INDEX="http://nosuchhost.invalid/simple/", UV_HTTP_RETRIES="0")
    assert "nosuchhost.invalid" in told and told.count("\n") == 1, told


def test_offline_is_honoured(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    told = desk.refused("--with", "lib", UV_OFFLINE="1")
    assert "UV_OFFLINE" in told and index.asked == [], told


def test_a_server_that_dies_half_way_and_comes_back(desk: Desk, index: Index) -> None:
    offer = index.offer(Offer(wheel("lib"), dies=1000))
    desk.refused("--with", "lib", UV_HTTP_RETRIES="0")
    assert offer.begun.is_set(), "half of it had come"
    offer.dies = 0
    assert desk.run("import lib; print(lib.version)", "--with", "lib") == "1\n"


def test_a_short_trouble_is_got_over(desk: Desk, index: Index) -> None:
    """uv tries again by itself."""
    index.offer(Offer(wheel("lib"), dies=1))
    assert desk.run("import lib; print(lib.version)", "--with", "lib") == "1\n"


def test_a_slow_server_is_waited_for(desk: Desk, index: Index) -> None:
    """The control of `slow` above: within its time it may take its time."""
    offer = index.offer(Offer(wheel("lib"), gate=threading.Event()))
    assert offer.gate is not None
    started = desk.start("run", "--with", "lib", "-c", "import lib; print(lib.version)")
    assert offer.begun.wait(60)
    offer.gate.set()
    out, err = started.communicate(timeout=100)
    assert out == "1\n", err


def test_an_older_release_is_taken_where_the_newest_does_not_fit(desk: Desk, index: Index) -> None:
    """The control of `wrong_python`, `yanked` and `prerelease`: only what does not fit is left out."""
    index.add(wheel("lib", "1"))
    index.offer(Offer(wheel("lib", "2"), yanked=""))
    index.offer(Offer(wheel("lib", "3", requires_python=">=3.99"), requires_python=">=3.99"))
    index.add(wheel("lib", "4rc1"), wheel("lib", "5", tag="cp311-cp311-win_amd64"))
    assert desk.run("import lib; print(lib.version)", "--with", "lib") == "1\n"
    # A yanked one that is asked for by name comes, as pip and uv have it.
    assert desk.run("import lib; print(lib.version)", "--with", "lib==2") == "2\n"
