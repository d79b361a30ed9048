"""Hints for a Python caller: belljar's own name flags of the command line."""

from __future__ import annotations

LISTS = ("mount",)


def in_python(hint: str | None) -> str | None:
    """The same advice with keywords in the place of flags: `--network host` becomes `network="host"`, and `--with six`
    becomes `dependencies=["six"]`."""
    if not hint or "--" not in hint:
        return hint
    import re

    def keyword(found: re.Match[str]) -> str:
        name, value = found[1].replace("-", "_"), found[2]
        if value is None:
            return f"{name}="
        return f'{name}=["{value}"]' if name in LISTS else f'{name}="{value}"'

    hint = re.sub(r"--with(?: ([\w.-]*\w))?(?![\w-])", lambda found: f'dependencies=["{found[1] or "…"}"]', hint)
    return re.sub(r"--([a-z][a-z-]*)(?: (loopback|host|none|[A-Z][\w:/]*|/[^\s,;]*))?", keyword, hint)
