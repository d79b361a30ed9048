"""Which function the text of a call gives: by a look at the text where that is enough, otherwise by its syntax tree."""

from __future__ import annotations

import runpy
import unittest
from typing import Any

from harness import GUEST

CALL = runpy.run_path(str(GUEST / "call.py"))

# Texts that end with the function `f`, whose value is 1; and whether a look is enough.
FUNCTIONS = (
    (True, "def f(): return 1"),
    (True, "  \tdef f(): return 1\n"),
    (True, "\n\ndef f():\n    return 1\n\n# end\n   \n"),
    (True, "def g():\n    return 2\n\ndef f():\n\n    return g() - 1"),
    (True, "def f():\n    def f():\n        return 1\n    return f()"),
    (True, "x = '''\ndef g(): pass\n'''\ndef f():\n    return 1"),
    (True, "from __future__ import annotations\ndef f(x: no_such_name = 1):\n\treturn x"),
    (False, "def f():\n    return 2 - \\\n1"),
    (False, "def f():\n    return len('''\n''')"),
    (False, "def f():\r\n    return 1\r\n"),
    (False, "def g(): return 2\rdef f(): return 1"),
    (False, "def f(): return 1\rf = f"),
    (False, "@(lambda g: lambda: g() + 1)\ndef f(): return 0"),
    (False, "def g(): return 2\nasync def h(): pass\nf = lambda: 1"),
    (False, "def g(): return 2\nclass f:\n    def __new__(cls): return 1"),
    (False, "def f(): return 2\nx = '''\ndef f(): ''' and (lambda: 1)"),
    (False, "def g(): return 2\nlambda: 1"),
    (False, "lambda: 1"),
)
# Texts that give none, though there is a `def` in them.
NONE = (
    "def f(): return 1\nx = 2",
    "def f(): return 1\nx = '''\ndef f(): '''",
    "x = '''\ndef f(): '''",
    "def f(): return 1\npass",
)


def found(text: str, look: bool) -> tuple[Any, list[str]]:
    """The function, and how the text was compiled on the way."""
    compiled = []

    def noting(source: Any, file: str, mode: str, *rest: Any) -> Any:
        compiled.append(mode)
        return compile(source, file, mode, *rest)

    scope = dict(CALL, compile=noting)
    if not look:
        scope["last_function"] = lambda text: (None, 0)
    find = type(CALL["find"])(CALL["find"].__code__, scope)
    return find(text, {"main": {"__name__": "__main__"}}), compiled


class Find(unittest.TestCase):
    def test_a_look_and_the_tree_agree(self) -> None:
        for enough, text in FUNCTIONS:
            for look in True, False:
                with self.subTest(text=text, look=look):
                    function, compiled = found(text, look)
                    self.assertEqual(function(), 1)
                    self.assertEqual(compiled == ["exec"], look and enough, compiled)

    def test_what_is_no_function(self) -> None:
        for text in NONE:
            for look in True, False:
                with self.subTest(text=text, look=look), self.assertRaisesRegex(TypeError, "must be a function"):
                    found(text, look)

    def test_faults_are_told_alike(self) -> None:
        for text in ("def f(:\n  pass", "def f():\n  return 1\n return 2", "def f():\n  yield\n  x = await 1"):
            told = []
            for look in True, False:
                with self.subTest(text=text, look=look), self.assertRaises(SyntaxError) as caught:
                    found(text, look)
                told.append((str(caught.exception), caught.exception.lineno, caught.exception.__context__))
            self.assertEqual(*told)


if __name__ == "__main__":
    unittest.main()
