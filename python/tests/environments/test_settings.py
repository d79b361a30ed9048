"""Where wishes and index settings come from: files and variables as uv, pip and the standards have them. docs/reference/attacks.md: DP-03, DP-04."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .desk import PYTHON, Desk
from .index import Index
from .packages import wheel

VERSION = "import lib; print(lib.version)"


def uv_default_index(desk: Desk, index: Index) -> dict[str, str]:
    return {"UV_DEFAULT_INDEX": index.url}


def uv_index_url(desk: Desk, index: Index) -> dict[str, str]:
    return {"UV_INDEX_URL": index.url}


def uv_index(desk: Desk, index: Index) -> dict[str, str]:
    return {"UV_INDEX": index.url, "UV_DEFAULT_INDEX": empty(index)}


def pip_index_url(desk: Desk, index: Index) -> dict[str, str]:
    return {"PIP_INDEX_URL": index.url}


def pip_extra_index_url(desk: Desk, index: Index) -> dict[str, str]:
    return {"PIP_EXTRA_INDEX_URL": index.url, "PIP_INDEX_URL": empty(index)}


def pip_conf(desk: Desk, index: Index) -> dict[str, str]:
    place = desk.home / ".config" / "pip"
    place.mkdir(parents=True)
    (place / "pip.conf").write_text(f"[global]\nindex-url = {index.url}\n")
    return {}


def pip_config_file(desk: Desk, index: Index) -> dict[str, str]:
    (desk.folder / "named.conf").write_text(f"[install]\nindex-url = {index.url}\n")
    return {"PIP_CONFIG_FILE": str(desk.folder / "named.conf")}


def uv_toml(desk: Desk, index: Index) -> dict[str, str]:
    place = desk.home / ".config" / "uv"
    place.mkdir(parents=True)
    (place / "uv.toml").write_text(f'[[index]]\nname = "own"\nurl = "{index.url}"\ndefault = true\n')
    return {}


def uv_toml_pip(desk: Desk, index: Index) -> dict[str, str]:
    place = desk.home / ".config" / "uv"
    place.mkdir(parents=True)
    (place / "uv.toml").write_text(f'[pip]\nindex-url = "{index.url}"\n')
    return {}


def uv_config_file(desk: Desk, index: Index) -> dict[str, str]:
    (desk.folder / "named.toml").write_text(f'index-url = "{index.url}"\n')
    return {"UV_CONFIG_FILE": str(desk.folder / "named.toml")}


def folder_of_wheels(desk: Desk) -> Path:
    folder = desk.folder / "links"
    folder.mkdir()
    artifact = wheel("lib")
    (folder / artifact.filename).write_bytes(artifact.data)
    return folder


def uv_find_links(desk: Desk, index: Index) -> dict[str, str]:
    return {"UV_FIND_LINKS": str(folder_of_wheels(desk)), "UV_DEFAULT_INDEX": empty(index)}


def uv_toml_find_links(desk: Desk, index: Index) -> dict[str, str]:
    (desk.folder / "named.toml").write_text(f'no-index = true\nfind-links = ["{folder_of_wheels(desk)}"]\n')
    return {"UV_CONFIG_FILE": str(desk.folder / "named.toml")}


def pip_find_links(desk: Desk, index: Index) -> dict[str, str]:
    return {"PIP_FIND_LINKS": str(folder_of_wheels(desk)), "PIP_NO_INDEX": "1"}


def empty(index: Index) -> str:
    """The address of an index that has nothing."""
    return index.url.replace("/simple/", "/nothing/")


def proxy(desk: Desk, index: Index) -> dict[str, str]:
    """The index itself stands in for the proxy: whoever asks it for an absolute address came by the setting."""
    return {
        "UV_DEFAULT_INDEX": "http://nosuchhost.invalid/simple/",
        "HTTP_PROXY": f"http://127.0.0.1:{index.port}",
        "http_proxy": f"http://127.0.0.1:{index.port}",
    }


WAYS = [
    uv_default_index, uv_index_url, uv_index, pip_index_url, pip_extra_index_url, pip_conf, pip_config_file, uv_toml, uv_toml_pip,
    uv_config_file, uv_find_links, uv_toml_find_links, pip_find_links, proxy,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_index_settings_are_the_users_own(
    way: Callable[[Desk, Index], dict[str, str]], desk: Desk, index: Index
) -> None:
    index.add(wheel("lib"))
    desk.settings = way(desk, index)
    assert desk.run(VERSION, "--with", "lib", UV_HTTP_RETRIES="0") == "1\n"
    assert (index.count("lib-1-py3-none-any.whl") > 0) == ("links" not in way.__name__)


def test_settings_of_the_folder_are_not_the_users(desk: Desk, index: Index) -> None:
    """A checkout that is not trusted must not choose where packages come from."""
    index.add(wheel("lib"))
    with Index() as other:
        other.add(wheel("lib", "2"))
        (desk.folder / "uv.toml").write_text(f'[[index]]\nurl = "{other.url}"\ndefault = true\n')
        (desk.folder / "pyproject.toml").write_text(f'[[tool.uv.index]]\nurl = "{other.url}"\ndefault = true\n')
        (desk.folder / "pip.conf").write_text(f"[global]\nindex-url = {other.url}\n")
        assert desk.run(VERSION, "--with", "lib") == "1\n"
        assert other.asked == []


def test_the_first_index_that_knows_a_name_is_the_one(desk: Desk, index: Index) -> None:
    """Dependency confusion: a public index with a higher version does not win over the private one that comes first."""
    index.add(wheel("lib", "1"))
    with Index() as public:
        public.add(wheel("lib", "99"), wheel("open"))
        desk.settings = {"UV_INDEX": index.url, "UV_DEFAULT_INDEX": public.url}
        assert desk.run(VERSION, "--with", "lib", "--with", "open") == "1\n"


BLOCK = """# /// script
# requires-python = "{python}"
# dependencies = [
#   "lib>=1",  # why
# ]
# ///
import lib
print(lib.version)
"""


def test_a_script_brings_its_wishes(each_desk: Desk, index: Index) -> None:
    index.add(wheel("lib", "1"), wheel("lib", "2"))
    script = each_desk.folder / "script.py"
    script.write_text(BLOCK.format(python=">=3.8"))
    told = each_desk.call("run", "--python", PYTHON, script)
    assert told.stdout == "2\n", told.stderr
    # With more from the command line.
    told = each_desk.call("run", "--python", PYTHON, "--with", "lib<2", script)
    assert told.stdout == "1\n", told.stderr


def test_a_script_for_another_python(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    script = desk.folder / "script.py"
    script.write_text(BLOCK.format(python=">=3.99"))
    told = desk.call("run", "--python", PYTHON, script)
    assert told.returncode == 125 and "3.99" in told.stderr and "--python" in told.stderr, told
    assert index.asked == []


def test_a_block_that_cannot_be_read_is_said(desk: Desk) -> None:
    script = desk.folder / "script.py"
    for text in (
        "# /// script\n# dependencies = [\n# ///\n",
        "# /// script\n# dependencies = ['-r /etc/passwd']\n# ///\n",
    ):
        script.write_text(text + "print('ran')\n")
        told = desk.call("run", "--python", PYTHON, script)
        assert (told.returncode, told.stdout) == (125, "") and told.stderr.count("\n") == 1, told
    # Control: what only looks like one is a comment.
    script.write_text("# /// other\n# x\n# ///\nprint('ran')\n")
    assert desk.call("run", "--python", PYTHON, script).stdout == "ran\n"


def test_requirements_with_hashes(desk: Desk, index: Index) -> None:
    artifact = wheel("lib")
    index.add(artifact)
    wishes = desk.folder / "requirements.txt"
    wishes.write_text(f"lib==1 \\\n    --hash=sha256:{artifact.sha256}\n")
    assert desk.run(VERSION, "-r", wishes) == "1\n"
    wishes.write_text(f"lib==1 --hash=sha256:{'0' * 64}\n")
    told = desk.refused("-r", wishes)
    assert "lib" in told and "hash" in told, told


def test_a_lock_of_the_standard(desk: Desk, index: Index) -> None:
    artifact = wheel("lib")
    index.add(artifact, wheel("lib", "2"))
    lock = desk.folder / "pylock.toml"
    text = """lock-version = "1.0"
created-by = "tests"
[[packages]]
name = "lib"
version = "1"
[[packages.wheels]]
name = "{file}"
url = "http://127.0.0.1:9/{file}"
hashes = {{ sha256 = "{hash}" }}
"""
    lock.write_text(text.format(file=artifact.filename, hash=artifact.sha256))
    assert desk.run(VERSION, "-r", lock) == "1\n"
    lock.write_text(text.format(file=artifact.filename, hash="0" * 64))
    assert "hash" in desk.refused("-r", lock)


def test_a_project_brings_its_wishes(desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    project = desk.folder / "pyproject.toml"
    project.write_text('[project]\nname = "mine"\nversion = "1"\ndependencies = ["lib"]\n')
    assert desk.run(VERSION, "-r", project) == "1\n"


WISHES = [
    "-r /etc/passwd", "--index-url=http://127.0.0.1:9/", "-e .", ".", "./lib", "/etc", "git+https://127.0.0.1/x", "lib @ git+https://127.0.0.1/x",
    "file:///etc/passwd", "lib @ file:///etc/passwd", "lib @ http://169.254.169.254/lib-1-py3-none-any.whl", "https://127.0.0.1/lib-1-py3-none-any.whl",
    "lib\n--index-url http://127.0.0.1:9/", "lib --config-settings=x=y", "lib; rm -rf /", "lib$(id)", "lib`id`", "lib==1 || id", "lib\x00",
    "libé", "", " ", "lib[", "lib>=", "lib=1", "lib 1", "lib; python_version > ", "lib-1-py3-none-any.whl",
]  # fmt: skip


@pytest.mark.parametrize("wish", [wish for wish in WISHES if "\x00" not in wish])
def test_what_is_no_requirement_is_refused_before_anything_is_asked(wish: str, desk: Desk, index: Index) -> None:
    index.add(wheel("lib"))
    told = desk.refused(f"--with={wish}")
    assert told.count("\n") == 1 and index.asked == [] and desk.environments() == [], told
    if "/" in wish and "127.0.0.1/" in wish:
        assert "--allow-urls" in told


def test_an_address_where_it_is_allowed(desk: Desk, index: Index) -> None:
    artifact = wheel("lib")
    index.add(artifact)
    wish = f"lib @ {index.file_url(artifact)}"
    assert "--allow-urls" in desk.refused("--with", wish)
    assert desk.run(VERSION, "--with", wish, "--allow-urls") == "1\n"


def test_uv_is_missing(desk: Desk, tmp_path: Path) -> None:
    told = desk.refused("--with", "lib", BELLJAR_UV=str(tmp_path / "nothing"))
    assert "uv" in told and str(tmp_path / "nothing") in told, told
    told = desk.refused("--with", "lib", BELLJAR_UV="", PATH="/nowhere")
    assert "pip install uv" in told or "127.0.0.1" in told, told


def test_a_build_is_told_in_a_line_and_not_again(desk: Desk, index: Index) -> None:
    """What reads standard error of a program finds no drawing in it, and with --quiet nothing at all."""
    index.add(wheel("lib"), wheel("other"))

    def said(*words: str) -> str:
        return desk.call("run", "--python", PYTHON, *words, "-c", "import sys; print('own', file=sys.stderr)").stderr

    first = said("--with", "lib")
    assert first.startswith("belljar: building an environment for lib\nbelljar: environment for lib built: 1 package, ")
    assert first.count("\n") == 3 and first.endswith("\nown\n")
    assert said("--with", "lib") == "own\n"
    assert said("--quiet", "--with", "other") == "own\n"
