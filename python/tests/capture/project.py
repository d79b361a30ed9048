"""A small application as people write them, and ways to make it importable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Modules that import each other, with data, locks, loggers and classes.
SHOP = {
    "shop/__init__.py": "from .prices import total\n",
    "shop/prices.py": """
import logging
import threading
from . import config
from .orders import Order

LOCK = threading.Lock()
log = logging.getLogger(__name__)


def total(orders):
    with LOCK:
        log.info("counting")
        return sum(order.price for order in orders) * config.FACTOR


def fail():
    raise ValueError("no price")  # a line of its own
""",
    "shop/orders.py": """
from dataclasses import dataclass
import shop.prices  # circular


@dataclass
class Order:
    price: int

    def doubled(self):
        return shop.prices.total([self]) * 2
""",
    "shop/config.py": """
from importlib.resources import files
from pathlib import Path

FACTOR = int((Path(__file__).parent / "data" / "factor.txt").read_text())
NAME = files("shop").joinpath("data/name.txt").read_text()
""",
    "shop/data/factor.txt": "3",
    "shop/data/name.txt": "Müller",
    "shop/deep/__init__.py": "",
    "shop/deep/er.py": "from ..config import NAME\nfrom ..orders import Order\n",
}
#: Calls it in every way, cold and warm, and prints what comes of it.
MAIN = """
import traceback
from belljar import sandbox
import shop
import shop.deep.er
from shop.orders import Order
from shop import prices

@sandbox
def counted(orders):
    return prices.total(orders), isinstance(orders[0], Order), orders[0].doubled(), shop.deep.er.NAME

@sandbox
def places():
    return shop.__file__, prices.log.name, type(prices.LOCK).__name__, shop.deep.er.Order is Order

@sandbox
def fails():
    prices.fail()

for _ in range(3):
    print(counted([Order(1), Order(2)]), places(), counted.warm().ready > 0)
try:
    fails()
except ValueError as error:
    print("in the guest:" in error.__notes__[0] if hasattr(error, "__notes__") else True)
    print("# a line of its own" in error.traceback, "/own/shop/prices.py" in error.traceback)
"""
TOLD = "((9, True, 6, 'Müller'), ('/own/shop/__init__.py', 'shop.prices', 'lock', True), True)"


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes files into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def run(
    main: str, folder: Path, *, path: tuple[Path, ...] = (), python: str = sys.executable, words: tuple[str, ...] = ()
) -> list[str]:
    """Runs a program from a file in a folder, and gives the lines that it printed."""
    script = folder / "main.py"
    script.write_text(main, encoding="utf-8")
    # Bytecode of one test must not be there for another.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    env["PYTHONPATH"] = os.pathsep.join([*map(str, path), env["PYTHONPATH"]])
    told = subprocess.run(
        words or (python, str(script)), capture_output=True, text=True, timeout=120, check=False, env=env, cwd=folder
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout.splitlines()
