"""Data frames, databases and spreadsheets."""

from __future__ import annotations


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


def polars() -> None:
    import polars as pl

    frame = pl.DataFrame({"kind": list("abcd") * 2500, "value": range(10_000)})
    lazy = frame.lazy().filter(pl.col("value") > 5).group_by("kind").agg(pl.col("value").sum()).sort("kind")
    assert lazy.collect()["value"].to_list() == [12_495_000 - 4, 12_497_500 - 6, 12_500_000 - 2, 12_502_500 - 3]
    frame.write_parquet("frame.parquet")
    assert pl.scan_parquet("frame.parquet").select(pl.col("value").max()).collect().item() == 9999


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


def sqlalchemy() -> None:
    from sqlalchemy import Column, Integer, MetaData, Table, create_engine, func, insert, select

    engine = create_engine("sqlite:////jar/base.db")
    table = Table("t", metadata := MetaData(), Column("id", Integer, primary_key=True), Column("n", Integer))
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(table), [{"n": n} for n in range(100)])
    with engine.connect() as connection:
        assert connection.execute(select(func.sum(table.c.n))).scalar() == 4950


def openpyxl() -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["a", 1, 2.5])
    book.save("book.xlsx")
    assert next(openpyxl.load_workbook("book.xlsx").active.values) == ("a", 1, 2.5)


def duckdb() -> None:
    import duckdb

    base = duckdb.connect("base.duckdb")
    base.execute("create table t as select range as n, range % 7 as k from range(1000000)")
    assert base.execute("select sum(n) from t where k = 3").fetchone() == (71_428_357_143,)
    base.execute("copy t to 't.parquet'")
    assert base.execute("select count(*) from 't.parquet'").fetchone() == (1_000_000,)


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
