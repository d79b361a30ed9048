"""A language model writes Python until its task is done. The model here is canned, so it runs anywhere."""

from __future__ import annotations

from collections.abc import Generator

from belljar import Sandbox

TASK = "How many of the sales in sales.csv were above average?"
SALES = "month,amount\n" + "\n".join(f"{month},{amount}" for month, amount in enumerate([10, 40, 25, 90, 5], 1))


def model(task: str) -> Generator[str, str, None]:
    """Stands for a call of your model's interface: gets what happened, answers with code."""
    seen = yield "rows = open('sales.csv').read().split()\nsum(int(row.split(',')[1]) for row in rows)"
    assert "ValueError" in seen and "At line 2" in seen, seen
    yield (
        "import csv\n"
        "amounts = [int(row['amount']) for row in csv.DictReader(open('sales.csv'))]\n"
        "average = sum(amounts) / len(amounts)\n"
        "print('average', average)\n"
        "sum(amount > average for amount in amounts)"
    )


def main() -> None:
    print("task:", TASK)
    with Sandbox(timeout=10, memory="256M") as box:
        answers = model(TASK)
        code = next(answers)
        for attempt in range(1, 6):
            outcome = box.run(code, files={"sales.csv": SALES})
            if outcome.ok:
                print(f"attempt {attempt}: {outcome.stdout.strip()}")
                print("answer:", outcome.value)
                return
            # What the model needs to do better, in a few lines: what happened, where, and a hint.
            report = outcome.for_model()
            print(f"attempt {attempt}: {report.splitlines()[0]}")
            code = answers.send(report)


if __name__ == "__main__":
    main()
