"""Grades what students hand in: each in a jar of its own, with little time and memory, and a reason for each mark."""

from __future__ import annotations

from belljar import Sandbox

TESTS = [(0, 0), (1, 1), (10, 55), (20, 6765)]
SUBMISSIONS = {
    "ada": "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n",
    "bob": "def fib(n):\n    return 1 if n < 2 else fib(n - 1) + fib(n - 2)\n",
    "cyd": "def fib(n):\n    while True:\n        pass\n",
    "dan": "def fib(n)\n    return 0\n",
    "eve": "print(open('/etc/shadow').read())\n",
}
CHECK = "[fib(number) for number, _ in tests]"


def mark(box: Sandbox, code: str) -> str:
    outcome = box.run(f"{code}\n{CHECK}", inputs={"tests": TESTS})
    if outcome.status == "timed_out":
        return "0: it does not end"
    error = outcome.exception
    if error is not None:
        where = f" at line {error.line}" if error.line else ""
        return f"0: {error.type_name}{where}"
    # What comes back is data: a list of anything that the student chose, never an object of theirs.
    right = sum(answer == wanted for answer, (_, wanted) in zip(outcome.value, TESTS, strict=True))
    return f"{right} of {len(TESTS)}"


def main() -> None:
    with Sandbox(profile="strict", timeout=2) as box:
        for student, code in SUBMISSIONS.items():
            print(f"{student}: {mark(box, code)}")


if __name__ == "__main__":
    main()
