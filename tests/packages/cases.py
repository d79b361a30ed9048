"""The most used packages for data, in the order of docs/reference/packages.md, and the task of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tasks import learning, numbers, pictures, tables, text, tools, web


@dataclass(frozen=True)
class Case:
    """A package and its task."""

    name: str
    #: What it is imported by.
    module: str
    task: Callable[[], None]
    #: As in `dependencies=`.
    requirements: tuple[str, ...]
    #: What differs from the default policy, as its keywords.
    limits: dict[str, str] = field(default_factory=dict)


def case(name: str, task: Callable[[], None], *beside: str, module: str = "", **limits: str) -> Case:
    """A line of the table; what is named beside it is installed with it."""
    return Case(name, module or name, task, (name, *beside), limits)


CASES = [
    case("numpy", numbers.numpy),
    case("pandas", tables.pandas),
    case("polars", tables.polars),
    case("pyarrow", tables.pyarrow),
    case("scipy", numbers.scipy),
    case("scikit-learn", learning.scikit_learn, module="sklearn"),
    case("matplotlib", pictures.matplotlib),
    case("pillow", pictures.pillow, module="PIL"),
    case("requests", web.requests, network="loopback"),
    case("httpx", web.httpx),
    case("aiohttp", web.aiohttp, network="loopback"),
    case("pydantic", tools.pydantic),
    case("sqlalchemy", tables.sqlalchemy),
    case("lxml", web.lxml),
    case("openpyxl", tables.openpyxl),
    case("duckdb", tables.duckdb),
    case("xlsxwriter", tables.xlsxwriter),
    case("beautifulsoup4", web.beautifulsoup4, module="bs4"),
    case("pyyaml", text.pyyaml, module="yaml"),
    case("jinja2", text.jinja2),
    case("networkx", numbers.networkx),
    case("sympy", numbers.sympy),
    case("statsmodels", numbers.statsmodels),
    case("seaborn", pictures.seaborn),
    case("plotly", pictures.plotly),
    case("tqdm", tools.tqdm),
    case("rich", text.rich),
    case("python-dateutil", tools.python_dateutil, module="dateutil"),
    case("cryptography", tools.cryptography),
    case("nltk", text.nltk),
    case("spacy", text.spacy),
    case("numba", numbers.numba),
    case("opencv-python-headless", pictures.opencv, module="cv2"),
    case("lightgbm", learning.lightgbm, "scikit-learn"),
    case("xgboost", learning.xgboost, "scikit-learn"),
    case("orjson", text.orjson),
    case("psutil", tools.psutil),
    case("torch", learning.torch, memory="3G", timeout="120s"),
]
#: Tried only when they are named, and why.
OPTIONAL = {
    "torch": "Its wheels on the public registry bring libraries for GPUs, several gigabytes of them. With an index of wheels "
    "for CPUs in the settings, `make packages ONLY=torch` tries it; with `INSTALLED=DIR` too, as it is in that virtualenv. "
    "So tried by hand: torch 1.12.1 with numpy 1.26.4 on CPython 3.10, the last that is one wheel. It is preloaded, as one "
    "thread; a worker multiplies and trains after its fork, and its random numbers are its own."
}
#: What must not be the same on two workers, by name.
DRAWS: dict[str, Callable[[], list[float]]] = {"numpy": numbers.numpy_draws, "torch": learning.torch_draws}
