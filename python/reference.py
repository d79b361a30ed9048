"""docs/reference/python-api.md, from the docstrings of the package: `make docs` writes it, `make check` compares it.

    python python/reference.py [--check]

Reads the source and imports nothing, so any Python will do.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/belljar"
PAGE = ROOT / "docs/reference/python-api.md"
WIDTH = 100

HEAD = """# Python API

Written by `make docs` from the docstrings of `python/belljar`. [The Python package](python.md)
explains how the pieces work together.
"""
# Heading, and the names below it in this order. A public name that is missing here is an error.
GROUPS = {
    "Functions in jars": "sandbox Sandboxed",
    "Code, scripts and programs": "run run_file run_command arun arun_file arun_command",
    "Sandboxes": "Sandbox SandboxExecutor Policy Warmed Statistics statistics",
    "Outcomes": "Outcome File Changes Usage Isolation outcome_of",
    "Values": "keep Kept",
    "Errors": "BelljarError GuestError LimitExceeded TimeoutExceeded MemoryExceeded ValueRefused PolicyError"
    " DependencyError SetupError Refused JobCancelled ParsedError parse_error",
    "The binary": "find",
}
KEYWORDS = "PolicyKeywords SandboxKeywords DecoratorKeywords JobKeywords SandboxRunKeywords RunKeywords"
# What a decorated function has is defined in another class than the one that type checkers see.
ELSEWHERE = {"Sandboxed": ("_decorator", "FunctionCallee")}
RENAMED = {"outcome_of": "outcome"}
HIDDEN = {
    "Sandboxed": ("methods", "amap", "astarmap", "awarm", "aoutcome_of"),
    "Sandbox": ("place", "guest"),
    "Policy": ("merged", "head", "needs", "draft_folder", "module_paths"),
}
BESIDE = {"Changes": "_outcome", "Usage": "_outcome", "Isolation": "_outcome"}


def main() -> int:
    page = written()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
            print(f"{PAGE.relative_to(ROOT)} is not what the docstrings say: run `make docs`", file=sys.stderr)
            return 1
        print(f"{PAGE.relative_to(ROOT)}: as in python/belljar")
        return 0
    PAGE.write_text(page, encoding="utf-8")
    return 0


def written() -> str:
    where = places()
    listed = [name for names in GROUPS.values() for name in names.split()]
    missing = set(where) - set(listed)
    if missing:
        raise SystemExit(f"python/reference.py has no group for {', '.join(sorted(missing))}")
    parts = [HEAD]
    for heading, names in GROUPS.items():
        parts.append(f"## {heading}\n")
        parts += [entry(name, where.get(name) or BESIDE[name]) for name in names.split()]
    parts.append("## Keywords\n")
    parts.append(wrapped("`None` is the default of each keyword. [The policy](policy.md) says what each key does."))
    parts += [keywords(name) for name in KEYWORDS.split()]
    return "\n".join(parts)


def places() -> dict[str, str]:
    """Public names, and the module that each is defined in."""
    module = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    [names] = [node.value for node in module.body if isinstance(node, ast.Assign) and named(node) == "_NAMES"]
    found = {name: at for at, all_ in ast.literal_eval(names).items() for name in all_.split() if name != "VERSION"}
    return {**found, "Sandboxed": "_sandboxed"}


def named(node: ast.Assign) -> str:
    return ast.unparse(node.targets[0])


def source(module: str) -> str:
    path = PACKAGE / module.replace(".", "/")
    return path.with_suffix(".pyi" if module == "_sandboxed" else ".py").read_text(encoding="utf-8")


def definition(name: str, module: str) -> ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef:
    """The last one: overloads come before it."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.parse(source(module)).body if isinstance(node, kinds) and node.name == name][-1]


def entry(name: str, module: str) -> str:
    node = definition(name, module)
    if not isinstance(node, ast.ClassDef):
        return f"### {name}\n\n```text\n{signature(node, name)}\n```\n\n{text_of(node)}"
    bases = [ast.unparse(base) for base in node.bases if "Generic" not in ast.unparse(base)]
    told = f"### {name}\n\n```text\nclass {name}{'(' + ', '.join(bases) + ')' if bases else ''}\n```\n\n{text_of(node)}"
    fields = dict(attributes(node, source(module).splitlines()))
    if fields:
        told += "\n" + "".join(listed(field, about) for field, about in fields.items())
    at, owner = ELSEWHERE.get(name, (module, name))
    behind = definition(owner, at)
    assert isinstance(behind, ast.ClassDef)
    for method in methods(behind, HIDDEN.get(name, ())):
        shown = RENAMED.get(method.name, method.name)
        told += f"\n```text\n{signature(method, shown, of=name)}\n```\n\n{text_of(method)}"
    return told


def methods(node: ast.ClassDef, hidden: tuple[str, ...]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for item in node.body:
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and not item.name.startswith("_"):
            marks = {ast.unparse(mark) for mark in item.decorator_list}
            if item.name not in hidden and "overload" not in marks:
                yield item


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, of: str | None = None) -> str:
    """As a caller sees it: without self, and without the type of keywords that stand below."""
    arguments = node.args
    owned = of is not None and arguments.posonlyargs + arguments.args
    if owned:
        (arguments.posonlyargs or arguments.args).pop(0)
    given = re.sub(r"\*\*(\w+): Unpack\[(\w+)\]", r"**\1: \2", ast.unparse(arguments))
    given = re.sub(r"(: [^,=]+)=", r"\1 = ", given)
    if name in ("sandbox", "options"):
        given = given.replace("**options: Any", "**options: DecoratorKeywords")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    if any(ast.unparse(mark) == "property" for mark in node.decorator_list):
        return f"{of}.{name}{returns}"
    whole = f"{prefix}{f'{of}.' if of else ''}{name}({given.removeprefix('/, ')}){returns}"
    return whole if len(whole) <= WIDTH else whole.replace(", ", ",\n    ").replace("(", "(\n    ", 1)


def text_of(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node)
    if not text:
        raise SystemExit(f"{node.name} has no docstring")
    return "\n".join(wrapped(paragraph) for paragraph in text.split("\n\n"))


def wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def attributes(node: ast.ClassDef, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Public fields, with the `#:` comment above the first of those that it is about."""
    for item in ast.walk(node):
        if not isinstance(item, ast.Assign | ast.AnnAssign):
            continue
        target = ast.unparse(item.targets[0] if isinstance(item, ast.Assign) else item.target)
        in_class = item in node.body and isinstance(item, ast.AnnAssign)
        for field in target.strip("()").split(", "):
            plain = field.removeprefix("self.")
            if (plain != field or in_class) and plain.isidentifier() and not plain.startswith("_"):
                yield plain, comment(lines, item.lineno)


def comment(lines: list[str], number: int) -> str:
    said: list[str] = []
    while (line := lines[(number := number - 1) - 1].strip()).startswith("#:"):
        said.insert(0, line.removeprefix("#:").strip())
    return " ".join(said)


def listed(field: str, about: str) -> str:
    text = f"- `{field}`: {about}" if about else f"- `{field}`"
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"


def keywords(name: str) -> str:
    node = definition(name, "_keywords")
    assert isinstance(node, ast.ClassDef)
    bases = [ast.unparse(each) for each in node.bases if ast.unparse(each) != "TypedDict"]
    more = f" Also the keywords of {' and '.join(f'`{each}`' for each in bases)}." if bases else ""
    about = wrapped(f"{' '.join((ast.get_docstring(node) or '').split())}{more}")
    items = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    fields = "".join(f"{ast.unparse(item.target)}: {ast.unparse(item.annotation)}\n" for item in items)
    return f"### {name}\n\n{about}" + (f"\n```text\n{fields}```\n" if fields else "")


if __name__ == "__main__":
    sys.exit(main())
