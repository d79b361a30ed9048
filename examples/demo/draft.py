"""A folder that code may change, if somebody agrees afterwards."""

from __future__ import annotations

from pathlib import Path

from screen import bold, code, dim, say, title

import belljar

CODE = """
from pathlib import Path
Path("settings.toml").write_text("version = 2")
Path("notes.md").write_text("new")
"""


def show(folder: Path) -> None:
    title(3, "A draft: the code changes a folder, and you decide")
    project = folder / "project"
    project.mkdir()
    settings = project / "settings.toml"
    settings.write_text("version = 1")
    code(f"outcome = run(code, workdir={project.name!r}, draft=True)")
    try:
        outcome = belljar.run(CODE, workdir=project, draft=True)
    except belljar.BelljarError as error:
        say(f"   this machine has no drafts: {error}")
        return
    changes = outcome.changes
    say(f"   modified {bold(', '.join(changes.modified))}, created {bold(', '.join(changes.created))}")
    say(f"   settings.toml on disk: {settings.read_text()}   {dim('nothing has changed yet')}")
    code("outcome.apply()")
    outcome.apply()
    say(f"   settings.toml on disk: {settings.read_text()}")
