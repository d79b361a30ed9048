"""Drafts: the run changes a copy, and apply() writes it as `belljar run --apply` does."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

import belljar


def test_drafts_and_workdirs(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("old")
    source = "open('kept', 'w').write('new'); open('made', 'w').write('x')"
    outcome = belljar.run(source, workdir=tmp_path, draft=True).check()
    assert (outcome.changes.modified, outcome.changes.created) == (["kept"], ["made"])
    assert not outcome.changes.applied and (tmp_path / "kept").read_text() == "old"
    assert outcome.files["kept"].text() == "new"
    # Somebody has looked at it, and wants it.
    assert outcome.apply() == {} and outcome.changes.applied
    assert (tmp_path / "kept").read_text() == "new" and (tmp_path / "made").read_text() == "x"
    with pytest.raises(belljar.BelljarError, match="already"):
        outcome.apply()
    (tmp_path / "kept").write_text("old")
    # Control: without a draft the same code writes.
    belljar.run(source, workdir=tmp_path).check()
    assert (tmp_path / "kept").read_text() == "new"


def test_a_draft_that_was_not_read_in_full_is_not_applied(tmp_path: Path) -> None:
    source = "open('made', 'w'); open('big', 'wb').truncate((1 << 30) + 1)"
    outcome = belljar.run(source, workdir=tmp_path, draft=True).check()
    with pytest.raises(belljar.BelljarError, match="nothing was written") as caught:
        outcome.apply()
    assert caught.value.hint is not None and "workdir= without draft=" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    # Control: what the hint says is there to be done.
    belljar.run(source, workdir=tmp_path).check()
    assert (tmp_path / "big").stat().st_size == (1 << 30) + 1


def test_a_draft_is_applied_without_surprises(tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    for name in ("gone", "busy", "swapped"):
        (folder / name).write_text("old")
    (folder / "deep").mkdir()
    source = """
import os
os.remove('gone')
for name in ('busy', 'swapped', 'deep/new', 'fresh/deeper/file'):
    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
    open(name, 'w').write('guest')
os.symlink('/etc/passwd', 'link')
"""
    outcome = belljar.run(source, workdir=folder, draft=True).check()
    assert (folder / "gone").exists()
    # Meanwhile on the host: one file is changed, another becomes a link to elsewhere, and a folder too.
    later = time.time() + 10
    (folder / "busy").write_text("host")
    os.utime(folder / "busy", (later, later))
    (folder / "swapped").unlink()
    (folder / "swapped").symlink_to(other / "victim")
    (folder / "deep").rmdir()
    (folder / "deep").symlink_to(other)
    skipped = outcome.apply()
    assert not (folder / "gone").exists()
    assert (folder / "busy").read_text() == "host" and (folder / "fresh/deeper/file").read_text() == "guest"
    assert not (other / "victim").exists() and not (other / "new").exists()
    assert {"busy", "swapped", "deep/new", "link"} <= set(skipped)
    assert not list(folder.glob(".*")), "nothing is left beside"
    with pytest.raises(belljar.BelljarError, match="no draft"):
        belljar.run("1").apply()


KINDS = """
import os
os.makedirs('empty/deep')
os.makedirs('full')
for name in ('full/run', 'plain', 'old'):
    with open(name, 'w') as file: file.write('guest')
os.chmod('full/run', 0o755)
os.symlink('../plain', 'full/inside')
os.symlink('plain', 'beside')
os.symlink('/etc/passwd', 'absolute')
os.symlink('../other', 'above')
os.symlink('full/../../other', 'around')
os.mkfifo('pipe')
with open(b'odd\\n\\xff', 'w') as file: file.write('odd')
os.rmdir('gone')
os.remove('target'); os.symlink('plain', 'target')
"""


def test_everything_that_may_be_applied_is(tmp_path: Path) -> None:
    """Exec bits, empty folders, links that stay inside, names that are no text; and what may not is told of."""
    folder = tmp_path / "folder"
    for name in ("gone", ""):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "old").write_text("host")
    (folder / "old").chmod(0o664)
    (folder / "target").write_text("host")
    outcome = belljar.run(KINDS, workdir=folder, draft=True).check()
    assert sorted(path.name for path in folder.iterdir()) == ["gone", "old", "target"], "nothing before it is applied"
    skipped = outcome.apply()
    assert (folder / "empty" / "deep").is_dir() and not (folder / "gone").exists()
    assert os.access(folder / "full" / "run", os.X_OK) and not (folder / "plain").stat().st_mode & 0o111
    assert os.readlink(folder / "full" / "inside") == "../plain" and (folder / "full" / "inside").read_text() == "guest"
    assert os.readlink(folder / "beside") == "plain" and os.readlink(folder / "target") == "plain"
    # An old file keeps its mode, whatever the umask is.
    assert (folder / "old").read_text() == "guest" and stat.S_IMODE((folder / "old").stat().st_mode) == 0o664
    assert Path(os.fsdecode(os.fsencode(folder) + b"/odd\n\xff")).read_text() == "odd"
    assert skipped.keys() == {"absolute", "above", "around", "pipe"}, skipped
    assert all("may lead out of the folder" in skipped[name] for name in ("absolute", "above", "around"))
    for name in skipped:
        assert not os.path.lexists(folder / name)
    assert outcome.changes.skipped == skipped and outcome.changes.applied


def test_what_tools_obey_is_applied_only_by_name(tmp_path: Path) -> None:
    """A guest must not plant what the host runs by itself: hooks of git, settings of a shell."""
    source = (
        "import os\nos.makedirs('.git/hooks'); os.makedirs('sub/.vscode')\n"
        "for name in ('.git/hooks/pre-commit', '.envrc', 'sub/.vscode/tasks.json', 'sub/code.py', 'Makefile'):\n"
        "    with open(name, 'w') as file: file.write('guest')"
    )
    outcome = belljar.run(source, workdir=tmp_path, draft=True).check()
    skipped = outcome.apply()
    assert (tmp_path / "sub" / "code.py").exists() and (tmp_path / "Makefile").exists()
    assert not (tmp_path / ".git").exists() and not (tmp_path / ".envrc").exists()
    assert not (tmp_path / "sub" / ".vscode").exists()
    assert {".git/hooks/pre-commit", ".envrc", "sub/.vscode/tasks.json"} <= skipped.keys()
    assert skipped[".envrc"].startswith("protected: ") and "Makefile" in outcome.changes.notable
    # The next step is one that Python has.
    assert (
        skipped[".envrc"].endswith("; apply(allow=['.envrc']) of a draft writes it") and "--" not in skipped[".envrc"]
    )
    # The same by the command line's own apply: both leave out the same paths.
    other = tmp_path / "other"
    other.mkdir()
    theirs = belljar.run(source, workdir=other, apply=True).check()
    assert theirs.changes.applied and theirs.changes.skipped == skipped
    # Somebody wants it, and says so.
    again = belljar.run(source, workdir=other, draft=True).check()
    assert ".envrc" not in again.apply(allow=[".envrc", ".git"])
    assert (other / ".envrc").exists() and (other / ".git/hooks/pre-commit").exists()
    assert not (other / "sub" / ".vscode").exists()


def test_what_leads_to_what_tools_obey_is_applied_only_by_name(tmp_path: Path) -> None:
    """A link's end is as dangerous as the link; a link that nobody obeys is the control."""
    for name in (".envrc", "plain"):
        (tmp_path / f"{name}-end").write_text("host")
        (tmp_path / name).symlink_to(f"{name}-end")
    source = "for name in ('.envrc-end', 'plain-end'):\n    with open(name, 'w') as file: file.write('guest')"
    outcome = belljar.run(source, workdir=tmp_path, draft=True).check()
    skipped = outcome.apply()
    assert skipped == {".envrc-end": "protected: .envrc leads to it; apply(allow=['.envrc-end']) of a draft writes it"}
    assert (tmp_path / ".envrc-end").read_text() == "host" and (tmp_path / "plain-end").read_text() == "guest"
    again = belljar.run(source, workdir=tmp_path, draft=True).check()
    assert again.apply(allow=[".envrc-end"]) == {} and (tmp_path / ".envrc-end").read_text() == "guest"


def test_a_file_with_old_times_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    """As `cp -p` and `mv` leave it: the inode and the time of its change tell."""
    for name in ("moved", "copied", "untouched", "made"):
        (tmp_path / name).write_text("old")
    (tmp_path / "made").unlink()
    old = (tmp_path / "moved").stat()
    source = (
        "for name in ('moved', 'copied', 'untouched', 'made'):\n    with open(name, 'w') as file: file.write('guest')"
    )
    outcome = belljar.run(source, workdir=tmp_path, draft=True).check()
    (tmp_path / "other").write_text("hos")
    (tmp_path / "other").rename(tmp_path / "moved")
    (tmp_path / "copied").write_text("hos")
    (tmp_path / "made").write_text("hos")
    for name in ("moved", "copied", "made"):
        os.utime(tmp_path / name, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert outcome.apply().keys() == {"moved", "copied", "made"}
    assert [(tmp_path / name).read_text() for name in ("moved", "copied", "made")] == ["hos"] * 3
    assert (tmp_path / "untouched").read_text() == "guest", "control"
