"""The site has the repository's own documents, too: links to them lead to pages, in both directions."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# Documents at the top of the repository, which the site shows below project/.
PROJECT = ("SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"<code>[^<]*</code>")
FLAG = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def on_files(files: Any, config: Any) -> Any:
    for name in PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"project/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri
    # Where the file is in the repository.
    folder = "" if here.startswith("project/") else posixpath.dirname(f"docs/{here}")

    def led(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        return posixpath.relpath(shown(target), posixpath.dirname(here) or ".") + (match[2] or "")

    parts = markdown.split("```")
    parts[::2] = [LINK.sub(led, part) for part in parts[::2]]
    return "```".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Flags in a line of text are kept whole: browsers break a line after a dash."""
    return CODE.sub(lambda code: FLAG.sub(lambda flag: f'<span class="flag">{flag[0]}</span>', code[0]), html)


def shown(target: str) -> str:
    """Where the site has a file of the repository."""
    if target in PROJECT:
        return f"project/{target}"
    if target == "README.md":
        return "index.md"
    path = target.removeprefix("docs/")
    return f"{path}/index.md" if (ROOT / target).is_dir() else path
