"""How a notebook shows an outcome: nothing of a guest's is an element."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from belljar import Outcome, run

BAD = "</pre></div><script>alert(1)</script><img src=x onerror='alert(2)'>\"'><b id=guest>&lt;$\\href{javascript:1}{x}$"


class Read(HTMLParser):
    """All elements and their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str | None, ...]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(f"{name}={value}" for name, value in attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def page(outcome: Outcome) -> Read:
    found = Read(outcome._repr_html_())
    assert not found.open
    return found


OURS = {
    ("div", ("class=tex2jax_ignore mathjax_ignore",)),
    ("div", ()),
    ("b", ("style=color: green",)),
    ("b", ("style=color: firebrick",)),
    ("pre", ("style=white-space: pre-wrap; margin: 0 0 0 1em",)),
}


@pytest.mark.parametrize(
    "source",
    [
        f"print({BAD!r})",
        f"import sys; sys.stderr.write({BAD!r})",
        BAD.__repr__(),
        f"{{{BAD!r}: [{BAD!r}]}}",
        f"raise ValueError({BAD!r})",
        f"class E(Exception): pass\nE.__qualname__ = {BAD!r}\nraise E({BAD!r}) # {BAD}",
        f"open({BAD!r}.replace('/', ''), 'w').write({BAD!r})",
        f"open({BAD!r})",
        f"{{}}[{BAD!r}]",
        f"import sys; sys.exit({BAD!r})",
        f"type({BAD!r}, (), {{}})()",
        f"x = ({BAD}",
    ],
)
def test_what_a_guest_chose_is_text(source: str) -> None:
    found = page(run(source))
    assert set(found.elements) <= OURS, found.elements
    # Control: it is there, as text.
    assert "alert(1)" in found.text


def test_the_reader_sees_elements() -> None:
    with pytest.raises(AssertionError):
        Read(f"<div><pre>{BAD}</pre></div>")
    assert ("script", ()) in Read("<script>1</script>").elements


def test_what_is_shown() -> None:
    good = page(
        run("print('out')\nimport sys; print('err', file=sys.stderr)\nopen('f.txt', 'w').write('abc')\n{'a': 1}")
    )
    for wanted in ("returned in ", "value{'a': 1}", "stdoutout", "stderrerr", "filesf.txt, 3 bytes"):
        assert wanted in good.text, good.text
    bad = page(run("def f():\n    1 / 0\nf()"))
    for wanted in ("raised in ", "ZeroDivisionError: division by zero", "At line 2: 1 / 0", "hint: the divisor"):
        assert wanted in bad.text, bad.text
    assert "Traceback" not in bad.text
    # The developer is the one who looks at a notebook.
    assert 'mount=["/home/me/x"]' in page(run("open('/home/me/x')")).text
    late = page(run("while True: pass", timeout=0.3))
    assert "TimeoutExceeded: " in late.text and "At line 1: while True: pass" in late.text


def test_it_is_bounded_and_plain() -> None:
    long = run("print('a' * 900_000)\nimport sys; sys.stderr.write('b' * 900_000)\n'c' * 900_000")._repr_html_()
    assert len(long) < 20_000 and "characters left out" in long
    odd = run("print('\\x1b[31m\\u202e')")._repr_html_()
    assert "\x1b" not in odd and "\u202e" not in odd and "\\x1b[31m" in odd
