"""Finds the Python in a text that a language model has written: what stands between Markdown fences."""

ONLY_AST = 0x400
PYTHON = ("python", "python3", "py", "ipython", "ipython3")


def fenced(text):
    """The code, each line at the number that it has in the text; None where there is none.

    Several blocks are one program. Where some are marked as Python, others are output or commands of a shell.
    """
    lines = text.split("\n")
    found = list(blocks(lines))
    if not found or in_string(lines[: found[0][2] - 1]):
        return None
    chosen = [block for block in found if block[0] in PYTHON] or [block for block in found if not block[0]]
    code = [""] * len(lines)
    for _, indent, first, end in chosen:
        for number in range(first, end):
            line = lines[number]
            code[number] = line[indent:] if not line[:indent].strip() else line
    return "\n".join(code) if chosen else None


def blocks(lines):
    """Of each block its tag, its indentation, its first line and the one after its last. The text ends an open one."""
    fence = None
    for number, line in enumerate(lines):
        bare = line.strip()
        mark = bare[: len(bare) - len(bare.lstrip(bare[0]))] if bare[:3] in ("```", "~~~") else ""
        info = bare[len(mark) :].strip()
        if fence is None:
            if mark and "`" not in info:
                fence, indent, first = mark, len(line) - len(line.lstrip()), number + 1
                info = info.lower().lstrip("{.")
                tag = info[: next((at for at, letter in enumerate(info) if not letter.isalnum()), len(info))]
        elif mark.startswith(fence) and not info:
            yield tag, indent, first, number
            fence = None
    if fence is not None:
        yield tag, indent, first, len(lines)


def in_string(lines):
    """Whether a string is open after these lines: then the fence is part of a program, which has a fault of its own."""
    try:
        compile("\n".join(lines), "<text>", "exec", ONLY_AST, True)
    except SyntaxError as error:
        return "triple-quoted" in str(error)
    return False
