"""The most used packages for data, and a small real task for each.

Every function stands alone: its text is a program for a cold run, and it is called as it is on a warm worker. The
decorator names what is installed; further names are installed beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


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


CASES: list[Case] = []
#: Tried only when they are named, and why.
OPTIONAL = {
    "torch": "Its wheels on the public registry bring libraries for GPUs, several gigabytes of them. With an index of wheels "
    "for CPUs in the settings, `make packages ONLY=torch` tries it; with `INSTALLED=DIR` too, as it is in that virtualenv. "
    "So tried by hand: torch 1.12.1 with numpy 1.26.4 on CPython 3.10, the last that is one wheel. It is preloaded, as one "
    "thread; a worker multiplies and trains after its fork, and its random numbers are its own."
}
#: What must not be the same on two workers, by name.
DRAWS: dict[str, Callable[[], list[float]]] = {}


def package(
    name: str, *beside: str, module: str = "", **limits: str
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Adds a task to the list."""

    def add(task: Callable[[], None]) -> Callable[[], None]:
        CASES.append(Case(name, module or name, task, (name, *beside), limits))
        return task

    return add


def draws(name: str) -> Callable[[Callable[[], list[float]]], Callable[[], list[float]]]:
    """Adds what a package draws by chance."""

    def add(draw: Callable[[], list[float]]) -> Callable[[], list[float]]:
        DRAWS[name] = draw
        return draw

    return add


@package("numpy")
def numpy() -> None:
    import numpy as np

    a = np.arange(90_000.0).reshape(300, 300)
    assert np.allclose(np.linalg.inv(a + np.eye(300)) @ (a + np.eye(300)), np.eye(300), atol=1e-4)
    assert np.abs(np.fft.ifft(np.fft.fft(a[0])) - a[0]).max() < 1e-9
    np.save("a.npy", a)
    assert np.load("a.npy", mmap_mode="r")[299, 299] == 89_999
    assert np.random.default_rng(7).normal(size=1000).std() < 2


@draws("numpy")
def numpy_draws() -> list[float]:
    import random

    import numpy as np

    return [random.random(), np.random.rand(), np.random.default_rng().random()]


@package("pandas")
def pandas() -> None:
    import pandas as pd

    days = pd.date_range("2026-01-01", periods=1000, freq="h", tz="Europe/Paris")
    frame = pd.DataFrame({"day": days, "kind": list("abcd") * 250, "value": range(1000)})
    assert frame.groupby("kind")["value"].sum()["d"] == 125_250
    assert len(frame.set_index("day").resample("D")["value"].mean()) == 42
    frame.to_csv("frame.csv", index=False)
    assert pd.read_csv("frame.csv")["value"].equals(frame["value"])
    assert frame.merge(frame, on="value").shape == (1000, 5)
    assert frame.eval("value * 2").sum() == 999_000


@package("polars")
def polars() -> None:
    import polars as pl

    frame = pl.DataFrame({"kind": list("abcd") * 2500, "value": range(10_000)})
    lazy = frame.lazy().filter(pl.col("value") > 5).group_by("kind").agg(pl.col("value").sum()).sort("kind")
    assert lazy.collect()["value"].to_list() == [12_495_000 - 4, 12_497_500 - 6, 12_500_000 - 2, 12_502_500 - 3]
    frame.write_parquet("frame.parquet")
    assert pl.scan_parquet("frame.parquet").select(pl.col("value").max()).collect().item() == 9999


@package("pyarrow")
def pyarrow() -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.parquet as pq

    table = pa.table({"n": range(100_000), "s": ["x", "y"] * 50_000})
    pq.write_table(table, "t.parquet", compression="zstd")
    assert pq.read_table("t.parquet") == table
    assert pc.sum(table["n"]).as_py() == 4_999_950_000
    pa.csv.write_csv(table, "t.csv")
    found = pa.dataset.dataset("t.csv", format="csv").to_table(filter=pc.field("n") < 10)
    assert found.num_rows == 10


@package("scipy")
def scipy() -> None:
    import numpy as np
    from scipy import integrate, linalg, optimize, signal, sparse, stats

    assert abs(optimize.minimize(lambda x: ((x - 3) ** 2).sum(), np.zeros(4)).x - 3).max() < 1e-4
    assert abs(integrate.quad(np.sin, 0, np.pi)[0] - 2) < 1e-9
    assert sparse.linalg.norm(sparse.eye(50, format="csr")) ** 2 > 49
    assert stats.ttest_ind(np.arange(50), np.arange(50) + 40).pvalue < 0.01
    assert linalg.svdvals(np.eye(80)).sum() == 80
    assert signal.find_peaks(np.sin(np.linspace(0, 20, 500)))[0].size == 3


@package("scikit-learn", module="sklearn")
def scikit_learn() -> None:
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    data, kinds = load_iris(return_X_y=True)
    # Two jobs: processes and the semaphores of loky.
    scores = cross_val_score(RandomForestClassifier(30, random_state=1), data, kinds, cv=3, n_jobs=2)
    assert scores.mean() > 0.9
    assert len(set(KMeans(3, n_init=2, random_state=1).fit(data).labels_)) == 3


@package("matplotlib")
def matplotlib() -> None:
    from pathlib import Path

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot(range(10), label="a line")
    axes.set_title("Grüße, $x^2$")
    axes.legend()
    figure.savefig("plot.png")
    figure.savefig("plot.pdf")
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG") and Path("plot.pdf").stat().st_size > 5000


@package("pillow", module="PIL")
def pillow() -> None:
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    image = Image.new("RGB", (200, 100), "navy")
    ImageDraw.Draw(image).text((10, 10), "glass", fill="white", font=ImageFont.load_default(24))
    for name in "i.png", "i.jpg", "i.webp", "i.gif", "i.tiff":
        image.filter(ImageFilter.GaussianBlur(1)).save(name)
        with Image.open(name) as again:
            assert again.resize((20, 10)).size == (20, 10)


@package("requests", network="loopback")
def requests() -> None:
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    import requests

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"a": 1}')

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert requests.get(f"http://127.0.0.1:{server.server_port}/", timeout=10).json() == {"a": 1}
    try:
        requests.get("http://192.0.2.1/", timeout=5)
        raise AssertionError("the network can be reached")
    except requests.ConnectionError:
        pass


@package("httpx")
def httpx() -> None:
    import asyncio
    import ssl

    import httpx

    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"path": request.url.path}))

    async def ask() -> dict[str, str]:
        async with httpx.AsyncClient(transport=transport) as client:
            answer: dict[str, str] = (await client.get("https://example.org/x")).json()
            return answer

    assert asyncio.run(ask()) == {"path": "/x"}
    assert ssl.create_default_context().get_ca_certs()
    try:
        httpx.get("http://192.0.2.1/", timeout=5)
        raise AssertionError("the network can be reached")
    except httpx.TransportError:
        pass


@package("aiohttp", network="loopback")
def aiohttp() -> None:
    import asyncio

    from aiohttp import ClientSession, web

    async def both() -> str:
        app = web.Application()

        async def hello(_: web.Request) -> web.Response:
            return web.Response(text="hello")

        app.router.add_get("/", hello)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 8080)
        await site.start()
        async with ClientSession() as session, session.get("http://127.0.0.1:8080/") as answer:
            text: str = await answer.text()
        await runner.cleanup()
        return text

    assert asyncio.run(both()) == "hello"


@package("pydantic")
def pydantic() -> None:
    from datetime import date

    from pydantic import BaseModel, ValidationError

    class Row(BaseModel):
        when: date
        many: list[int]

    assert Row.model_validate_json('{"when": "2026-01-02", "many": ["1", 2]}').many == [1, 2]
    try:
        Row.model_validate({"when": "x", "many": []})
        raise AssertionError("it was accepted")
    except ValidationError as error:
        assert error.error_count() == 1


@package("sqlalchemy")
def sqlalchemy() -> None:
    from sqlalchemy import Column, Integer, MetaData, Table, create_engine, func, insert, select

    engine = create_engine("sqlite:////jar/base.db")
    table = Table("t", metadata := MetaData(), Column("id", Integer, primary_key=True), Column("n", Integer))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"n": n} for n in range(100)])
    with engine.connect() as connection:
        assert connection.execute(select(func.sum(table.c.n))).scalar() == 4950


@package("lxml")
def lxml() -> None:
    from lxml import etree, html

    tree = etree.fromstring(b"<a><b n='1'/><b n='2'/></a>")
    assert tree.xpath("sum(//b/@n)") == 3
    assert html.fromstring("<p>x<p>y").xpath("//p/text()") == ["x", "y"]
    schema = etree.RelaxNG(
        etree.fromstring(b'<element name="a" xmlns="http://relaxng.org/ns/structure/1.0"><text/></element>')
    )
    assert not schema.validate(tree)


@package("openpyxl")
def openpyxl() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", 1, 2.5])
    book.save("book.xlsx")
    assert next(openpyxl.load_workbook("book.xlsx").active.values) == ("a", 1, 2.5)


@package("duckdb")
def duckdb() -> None:
    import duckdb

    base = duckdb.connect("base.duckdb")
    base.execute("create table t as select range as n, range % 7 as k from range(1000000)")
    assert base.execute("select sum(n) from t where k = 3").fetchone() == (71_428_357_143,)
    base.execute("copy t to 't.parquet'")
    assert base.execute("select count(*) from 't.parquet'").fetchone() == (1_000_000,)


@package("xlsxwriter")
def xlsxwriter() -> None:
    import zipfile

    import xlsxwriter

    with xlsxwriter.Workbook("book.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_column("A1", [1, 2, 3])
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": "=Sheet1!$A$1:$A$3"})
        sheet.insert_chart("C1", chart)
    assert "xl/charts/chart1.xml" in zipfile.ZipFile("book.xlsx").namelist()


@package("beautifulsoup4", module="bs4")
def beautifulsoup4() -> None:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup("<ul><li class=x>1<li>2</ul>", "html.parser")
    assert [item.get_text() for item in soup.select("li.x")] == ["12"] or len(soup.find_all("li")) == 2


@package("pyyaml", module="yaml")
def pyyaml() -> None:
    import yaml

    assert yaml.__with_libyaml__
    assert yaml.load(yaml.dump({"a": [1, 2, {"b": None}]}), yaml.CSafeLoader) == {"a": [1, 2, {"b": None}]}


@package("jinja2")
def jinja2() -> None:
    import jinja2

    text = jinja2.Environment(autoescape=True).from_string("{% for x in rows %}{{ x }},{% endfor %}")
    assert text.render(rows=["<", 2]) == "&lt;,2,"


@package("networkx")
def networkx() -> None:
    import networkx as nx

    graph = nx.grid_2d_graph(20, 20)
    assert nx.shortest_path_length(graph, (0, 0), (19, 19)) == 38
    assert nx.is_connected(graph) and len(nx.minimum_spanning_tree(graph).edges) == 399


@package("sympy")
def sympy() -> None:
    from sympy import Symbol, integrate, oo, pi, sin, solve

    x = Symbol("x")
    assert integrate(sin(x) / x, (x, 0, oo)) == pi / 2
    assert solve(x**2 - 2, x)[1] ** 2 == 2


@package("statsmodels")
def statsmodels() -> None:
    import numpy as np
    import statsmodels.api as sm
    import statsmodels.formula.api as smf

    x = np.linspace(0, 10, 200)
    assert abs(sm.OLS(3 * x + 1, sm.add_constant(x)).fit().params - [1, 3]).max() < 1e-8
    assert smf.ols("y ~ x", {"x": x, "y": 2 * x}).fit().rsquared > 0.99


@package("seaborn")
def seaborn() -> None:
    from pathlib import Path

    import pandas as pd
    import seaborn as sns

    frame = pd.DataFrame({"x": range(50), "y": [n * n % 17 for n in range(50)], "k": ["a", "b"] * 25})
    sns.scatterplot(frame, x="x", y="y", hue="k").figure.savefig("plot.svg")
    assert Path("plot.svg").stat().st_size > 5000


@package("plotly")
def plotly() -> None:
    from pathlib import Path

    import plotly.graph_objects as go

    go.Figure(go.Scatter(y=[1, 3, 2])).write_html("plot.html", include_plotlyjs=False)
    assert "scatter" in Path("plot.html").read_text()


@package("tqdm")
def tqdm() -> None:
    import io

    from tqdm import tqdm

    assert sum(tqdm(range(1000), file=(text := io.StringIO()), mininterval=0)) == 499_500
    assert "100%" in text.getvalue()


@package("rich")
def rich() -> None:
    import io

    from rich.console import Console
    from rich.table import Table

    table = Table("name", "value")
    table.add_row("a", "[red]1[/]")
    Console(file=(text := io.StringIO()), force_terminal=True).print(table)
    assert "\x1b[31m1" in text.getvalue()


@package("python-dateutil", module="dateutil")
def python_dateutil() -> None:
    from datetime import datetime

    from dateutil import parser, relativedelta, tz

    assert parser.parse("3 May 2026 4pm") + relativedelta.relativedelta(months=1) == datetime(2026, 6, 3, 16)
    assert datetime(2026, 7, 1, tzinfo=tz.gettz("Europe/Berlin")).utcoffset() is not None


@package("cryptography")
def cryptography() -> None:
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.hashes import SHA256

    box = Fernet(Fernet.generate_key())
    assert box.decrypt(box.encrypt(b"secret")) == b"secret"
    key = ed25519.Ed25519PrivateKey.generate()
    key.public_key().verify(key.sign(b"text"), b"text")
    assert ec.generate_private_key(ec.SECP256R1()).sign(b"text", ec.ECDSA(SHA256()))


@package("nltk")
def nltk() -> None:
    from nltk import FreqDist
    from nltk.stem import PorterStemmer
    from nltk.tokenize import wordpunct_tokenize

    words = [PorterStemmer().stem(word) for word in wordpunct_tokenize("Jars are jarring; a jar is a jar.")]
    assert FreqDist(words)["jar"] == 4


@package("spacy")
def spacy() -> None:
    import spacy

    language = spacy.blank("en")
    language.add_pipe("sentencizer")
    assert len(list(language("Under glass. It's safe.").sents)) == 2


@package("numba")
def numba() -> None:
    import numba
    import numpy as np

    @numba.njit(cache=False)
    def total(values: object) -> float:
        sum_ = 0.0
        for value in values:
            sum_ += value
        return sum_

    @numba.njit(parallel=True)
    def doubled(values: object) -> object:
        out = np.empty_like(values)
        for n in numba.prange(len(values)):
            out[n] = values[n] * 2
        return out

    assert total(np.arange(1000.0)) == 499_500
    assert doubled(np.arange(1000.0)).sum() == 999_000


@package("opencv-python-headless", module="cv2")
def opencv() -> None:
    import cv2
    import numpy as np

    image = np.zeros((100, 100, 3), np.uint8)
    cv2.circle(image, (50, 50), 30, (255, 255, 255), -1)
    found, _ = cv2.findContours(cv2.Canny(image, 50, 150), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    assert len(found) == 1 and cv2.imwrite("i.png", image) and cv2.imread("i.png").shape == (100, 100, 3)


@package("lightgbm", "scikit-learn")
def lightgbm() -> None:
    import lightgbm
    from sklearn.datasets import load_iris

    data, kinds = load_iris(return_X_y=True)
    assert lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(data, kinds).score(data, kinds) > 0.9


@package("xgboost", "scikit-learn")
def xgboost() -> None:
    import xgboost
    from sklearn.datasets import load_iris

    data, kinds = load_iris(return_X_y=True)
    assert xgboost.XGBClassifier(n_estimators=20).fit(data, kinds).score(data, kinds) > 0.9


@package("orjson")
def orjson() -> None:
    import orjson

    assert orjson.loads(orjson.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}


@package("psutil")
def psutil() -> None:
    import psutil

    assert psutil.virtual_memory().total > 0 and psutil.Process().memory_info().rss > 0 and psutil.cpu_count()


@package("torch", memory="3G", timeout="120s")
def torch() -> None:
    import torch

    model = torch.nn.Linear(4, 1)
    step = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.randn(64, 4)
    first = last = float("inf")
    for n in range(50):
        step.zero_grad()
        loss = ((model(data) - data.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        step.step()
        first, last = (loss.item() if n == 0 else first), loss.item()
    assert last < first


@draws("torch")
def torch_draws() -> list[float]:
    import random

    import torch

    return [
        random.random(),
        torch.initial_seed(),
        torch.rand(1).item(),
        torch.randn(1).item(),
        torch.randperm(10**6)[0].item(),
    ]
