"""What models write around code, and `await` outside functions: evaluated text, cold and on a worker, with every
interpreter."""

from __future__ import annotations

import unittest

from harness import GUEST, Result
from test_invoke import Both, parcel

ONE = "Here's the code:\n\n```python\nprint('ran')\n'val' + 'ue'\n```\n\nThat's it (really."
SEVERAL = """1. Install it:
   ```bash
   pip install numpy
   ```
2. Then:
   ```python
   def double(x):
       return x * 2
   ```
   and
   ~~~ py title="b.py"
   'twice: ' + double('ab')
   ~~~
It prints
```
twice: abab
```
"""
# The fence is in a string of a program, which has a fault of its own.
IN_STRING = 'def f():\n    """Example:\n```python\nprint(\'wrong\')\n```\n    """\n    return (1\n'


def fenced(text: str) -> str | None:
    scope: dict[str, object] = {}
    exec((GUEST / "fences.py").read_text(), scope)
    return scope["fenced"](text)  # type: ignore[operator, no-any-return]


class Fences(unittest.TestCase):
    def test_code_stays_in_its_lines(self) -> None:
        for text, wanted in (
            ("```python\nx\n```", ["", "x", ""]),
            ("```\nx\n```", ["", "x", ""]),
            ("````md\n```\nx\n```\n````\n```py\ny\n```", ["", "", "", "", "", "", "y", ""]),
            ("a\n```{python}\nx\n  y", ["", "", "x", "  y"]),
            ("```PY\r\nx\r\n```\r\n", ["", "x\r", "", ""]),
        ):
            self.assertEqual(fenced(text), "\n".join(wanted), text)
        for text in ("", "x", "```bash\nls\n```", "```python print(1)```", "```c++\nint x;\n```", IN_STRING):
            self.assertIsNone(fenced(text), text)


class Evaluated(Both):
    def test_code_in_fences_runs(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.stdout, result.only.kind), (0, "ran\n", "returned"), result)
            self.assertIn(b"value", result.only.body)

        self.both("evaluate", parcel(ONE.encode()), check)

        def several(result: Result) -> None:
            self.assertEqual((result.code, result.only.kind), (0, "returned"), result)
            self.assertIn(b"twice: abab", result.only.body)

        self.both("evaluate", parcel(SEVERAL.encode()), several)

    def test_lines_are_those_of_the_text(self) -> None:
        def raised(result: Result) -> None:
            frames = result.only.header["frames"]
            told = [(item["line"], item["source"]) for item in frames]
            self.assertEqual(told, [(5, "f()"), (4, "1 / 0")], result)

        self.both("evaluate", parcel(b"So:\n```py\ndef f():\n    1 / 0\nf()\n```"), raised)

        def syntax(result: Result) -> None:
            self.assertEqual((result.only.header["type_name"], result.only.header["line"]), ("SyntaxError", 4), result)

        self.both("evaluate", parcel(b"So:\n```py\nx = 1\ny = = 2\n```"), syntax)
        # Control: where no code can be taken, the fault is that of the text itself.
        self.both("evaluate", parcel(b"x = 1\n\n\ny = = 2\n"), syntax)

        def own_fault(result: Result) -> None:
            told = (result.stdout, result.only.header["type_name"], result.only.header["line"])
            self.assertEqual(told, ("", "SyntaxError", 7), result)

        self.both("evaluate", parcel(IN_STRING.encode()), own_fault)

    def test_programs_with_fences_in_strings_are_left_alone(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.stdout), (0, "```python\nno\n```\n"), result)

        self.both("evaluate", parcel(b"print('''```python\nno\n```''')"), check)

    def test_await_outside_functions(self) -> None:
        def check(result: Result) -> None:
            self.assertEqual((result.code, result.stdout, result.only.kind), (0, "same loop\n", "returned"), result)
            self.assertIn(b"later", result.only.body)

        source = """
import asyncio
async def later():
    await asyncio.sleep(0)
    return 'la' + 'ter'
async def loops():
    yield asyncio.get_running_loop()
async with asyncio.Lock():
    task = asyncio.ensure_future(later())
print('same loop' if [each async for each in loops()] == [task.get_loop()] else 'another')
await task
"""
        self.both("evaluate", parcel(source.encode()), check)
        # Without an await the code may have a loop of its own before the last expression has one.
        source = "import asyncio\nasync def f(): return 'la' + 'ter'\nasyncio.run(f())\nprint('same loop')\nawait f()"
        self.both("evaluate", parcel(source.encode()), check)

    def test_what_is_raised_after_an_await_has_the_users_frames_alone(self) -> None:
        def check(result: Result) -> None:
            told = [(item["file"], item["line"]) for item in result.only.header["frames"]]
            self.assertEqual(told, [("<string>", 4), ("<string>", 3)], result)
            self.assertNotIn("asyncio", result.stderr)

        self.both("evaluate", parcel(b"import asyncio\nasync def f():\n    1 / 0\nawait f()"), check)

        def exits(result: Result) -> None:
            self.assertEqual((result.code, result.only.kind), (3, "exited"), result)

        self.both("evaluate", parcel(b"import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(3)"), exits)


if __name__ == "__main__":
    unittest.main()
