"""What opens an index reaches the build, and nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from . import hostile
from .desk import PYTHON, Desk, everything
from .index import Index
from .packages import wheel

USER, PASSWORD = "aladdin", "opensesame4711"

# Everything that a guest can read: variables, command lines, memory of its own, every file that is not the system's.
LOOK = """
import os, sys
word = sys.argv[1].encode()
found = []
for name, value in os.environb.items():
    if word in value: found.append(name.decode())
for top, folders, files in os.walk('/'):
    if top in ('/sys', '/usr', '/dev'): folders[:] = []; continue
    folders[:] = [name for name in folders if name not in ('task', 'fd', 'map_files')] if top.startswith('/proc') else folders
    for name in files:
        path = os.path.join(top, name)
        if path.startswith('/proc/') and name in ('kmsg', 'mem', 'pagemap', 'clear_refs', 'cmdline') and 'self' in path: continue
        try:
            with open(path, 'rb') as file:
                if os.path.isfile(path) and word in file.read(1 << 20): found.append(path)
        except OSError:
            pass
print(found)
"""


def by_url(desk: Desk, index: Index) -> None:
    desk.settings = {"UV_DEFAULT_INDEX": index.url_with(f"{USER}:{PASSWORD}")}


def by_old_url(desk: Desk, index: Index) -> None:
    desk.settings = {"PIP_INDEX_URL": index.url_with(f"{USER}:{PASSWORD}")}


def by_netrc(desk: Desk, index: Index) -> None:
    (desk.home / ".netrc").write_text(f"machine 127.0.0.1\nlogin {USER}\npassword {PASSWORD}\n")
    (desk.home / ".netrc").chmod(0o600)
    if desk.uid is not None:
        os.chown(desk.home / ".netrc", desk.uid, desk.uid)


def by_variables(desk: Desk, index: Index) -> None:
    desk.settings = {
        "UV_INDEX": f"mine={index.url}", "UV_INDEX_MINE_USERNAME": USER, "UV_INDEX_MINE_PASSWORD": PASSWORD,
        "UV_DEFAULT_INDEX": index.url,
    }  # fmt: skip


def by_uv_toml(desk: Desk, index: Index) -> None:
    desk.settings = {}
    place = desk.home / ".config" / "uv"
    place.mkdir(parents=True)
    (place / "uv.toml").write_text(f'[[index]]\nurl = "{index.url_with(f"{USER}:{PASSWORD}")}"\ndefault = true\n')


def by_pip_conf(desk: Desk, index: Index) -> None:
    desk.settings = {}
    place = desk.home / ".config" / "pip"
    place.mkdir(parents=True)
    (place / "pip.conf").write_text(f"[global]\nindex-url = {index.url_with(f'{USER}:{PASSWORD}')}\n")


WAYS = [by_url, by_old_url, by_netrc, by_variables, by_uv_toml, by_pip_conf]


@pytest.mark.parametrize("way", WAYS)
def test_credentials_reach_the_build_and_no_guest(way: object, desk: Desk, index: Index) -> None:
    assert callable(way)
    index.credentials = f"{USER}:{PASSWORD}"
    index.add(wheel("lib"))
    way(desk, index)
    script = desk.folder / "look.py"
    script.write_text(LOOK)
    words = ["run", "--python", str(PYTHON), "--with", "lib", str(script), PASSWORD[:-4] + "471" + "1"]
    told = desk.call(*words)
    assert told.returncode == 0, told.stderr
    assert index.credentials in {asked.credentials for asked in index.asked}, "the build had them"
    # The word is on the command line of the program itself, and nowhere else.
    assert [path for path in eval(told.stdout) if not path.endswith("/cmdline")] == [], told.stdout
    for words in (["env", "list"], ["env", "list", "--json"], ["plan", "run", "--with", "lib", "-c", "1"]):
        told = desk.call(*words)
        assert PASSWORD not in told.stdout + told.stderr, words
    kept = [path for path in everything(desk.cache) if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert kept == [], "nor are they kept"


def test_what_is_there_is_found(desk: Desk) -> None:
    """The control of the look."""
    script = desk.folder / "look.py"
    script.write_text(LOOK)
    told = desk.call("run", "--python", PYTHON, "--env", f"X={PASSWORD}", script, PASSWORD)
    assert "'X'" in told.stdout and "environ" in told.stdout, told


@pytest.mark.parametrize("way", WAYS)
def test_no_message_tells_them(way: object, desk: Desk, index: Index) -> None:
    assert callable(way)
    way(desk, index)
    told = {}
    index.credentials = f"{USER}:{PASSWORD}"
    told["unknown"] = desk.refused("--with", "nosuchpackage")
    index.credentials = f"{USER}:another"
    told["wrong"] = desk.refused("--with", "lib")
    index.close()
    told["closed"] = desk.refused("--with", "lib", UV_HTTP_RETRIES="0")
    for what, text in told.items():
        assert PASSWORD not in text, (what, text)
        # Where they come from an address, it is shown without them.
        assert text.count("\n") == 1, (what, text)


def test_a_build_of_sources_has_what_it_needs_and_no_more(desk: Desk, index: Index) -> None:
    """A hostile build can read what opens the index that its own package came from: it runs beside uv. It sees no other secret."""
    (desk.folder / "secret").write_text("x")
    index.add(hostile.backend("sourced", desk.folder / "mark", desk.folder / "secret"))
    code = "import sourced; print(sorted(sourced.seen['environ']))"
    told = desk.run(
        code, "--with", "sourced", "--allow-builds", AWS_SECRET_ACCESS_KEY="x", GITHUB_TOKEN="x", UV_PUBLISH_TOKEN="x"
    )
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "UV_PUBLISH_TOKEN"):
        assert name not in told


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1, with its key in the same file; and the certificate alone beside it."""
    path = folder / "key-and-cert.pem"
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(key.read_bytes() + cert.read_bytes())
    return path


def test_certificates_of_the_user(desk: Desk, tmp_path: Path) -> None:
    assert shutil.which("openssl"), "it makes the certificate"
    with Index(certificate=certificate(tmp_path)) as private:
        private.add(wheel("lib"))
        desk.settings = {"UV_DEFAULT_INDEX": private.url}
        told = desk.refused("--with", "lib", UV_HTTP_RETRIES="0")
        assert "certificate" in told and "SSL_CERT_FILE" in told, told
        cert = str(tmp_path / "cert.pem")
        assert desk.run("import lib; print(lib.version)", "--with", "lib", SSL_CERT_FILE=cert) == "1\n"
        other = Desk(tmp_path / "other", private.url)
        assert other.run("import lib; print(lib.version)", "--with", "lib", PIP_CERT=cert) == "1\n"
