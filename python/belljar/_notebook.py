"""An outcome as a notebook shows it. What a guest chose is escaped, in a `pre`, where no formula is typeset either."""

from __future__ import annotations

from html import escape
from itertools import islice

from ._model import members, plain, quoted, trimmed, where, without_traceback
from ._model import shown as shown_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._outcome import Outcome

ROOM, FILES = 4000, 20


def shown(outcome: Outcome) -> str:
    """The HTML: how it ended and where, the value, what was printed, and the files that it left."""
    colour = "green" if outcome.ok else "firebrick"
    parts = [f'<b style="color: {colour}">{escape(outcome.status)}</b> in {outcome.usage.wall:.3g} s']
    for name, text in sections(outcome):
        inert = escape(trimmed(plain(text.rstrip()), ROOM))
        parts.append(f'{name}<pre style="white-space: pre-wrap; margin: 0 0 0 1em">{inert}</pre>')
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def sections(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Titles of ours, and text that may be a guest's."""
    if outcome.exception is not None:
        yield "", "\n".join(failure(outcome))
    if outcome.refused:
        yield "value", f"could not be returned: {outcome.refused}"
    elif outcome.value is not None:
        yield "value", shown_value(outcome.value)
    if outcome.stdout.strip():
        yield "stdout", outcome.stdout
    if without_traceback(outcome).strip():
        yield "stderr", without_traceback(outcome)
    if outcome.files:
        more = [f"and {len(outcome.files) - FILES} more"] if len(outcome.files) > FILES else []
        files = [f"{quoted(path)}, {len(file):,} bytes" for path, file in islice(outcome.files.items(), FILES)]
        yield "files", "\n".join(files + more)


def failure(outcome: Outcome) -> Iterator[str]:
    error, told = outcome.exception, outcome._exception
    assert error is not None, "a failure has one"
    yield f"{quoted(error.type_name or type(error).__name__)}: {trimmed(str(error.message), ROOM // 2)}"
    if told is not None:
        yield from where(told, outcome._source)
        yield from members(told)
    if error.hint:
        yield f"hint: {error.hint}"
