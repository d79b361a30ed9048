"""Hints for a Python caller, and for a model whose code ran: belljar's own name flags of the command line."""

from __future__ import annotations

LISTS = ("mount",)
# What stands between advice about the code and advice about the policy, which comes last.
JOINTS = ("; ", ", or ", ", and ", " If not: ")


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

    def dependencies(found: re.Match[str]) -> str:
        names = [name.strip() for name in found[0].split("--with")[1:]]
        quoted = ", ".join('"' + (name or "…") + '"' for name in names)
        return f"dependencies=[{quoted}]"

    hint = re.sub(r"--with(?: [\w.-]*\w(?: --with [\w.-]*\w)*)?(?![\w-])", dependencies, hint)
    return re.sub(r"--([a-z][a-z-]*)(?: (loopback|host|none|[A-Z][\w:/]*|/[^\s,;]*))?", keyword, hint)


def for_code(hint: str | None) -> str | None:
    """What of a hint is about the code: whoever wrote that cannot change the policy. None where all is about that."""
    import re

    flag = re.search(r"--[a-z]", hint or "")
    if not hint or flag is None:
        return hint or None
    before = hint[: flag.start()]
    end = max(before.rfind(joint) for joint in JOINTS)
    return before[:end] if end > 0 else None
