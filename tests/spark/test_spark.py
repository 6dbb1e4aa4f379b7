"""Tests of the data source for Spark and Sail; `make spark` runs them in a separate environment."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens import lake

pyspark = pytest.importorskip("pyspark")
os.environ["PYSPARK_PYTHON"] = sys.executable
# Executors import zlens from the same path as this process.
os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)

from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

from zlens.spark import ZlensDataSource  # noqa: E402

TABLES = ("load", "cpu", "partition", "cec", "guest", "device", "cpumf", "event", "problem", "d0r2")
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def sail() -> Iterator[Any]:
    server = pytest.importorskip("pysail.spark").SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    yield session
    session.stop()
    server.stop()


def jvm() -> Iterator[Any]:
    if shutil.which("java") is None:
        pytest.skip("java is missing")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module", params=[sail, jvm], ids=["sail", "spark"])
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    # A process can have only one kind of session.
    if os.environ.get("ZLENS_SPARK", request.param.__name__) != request.param.__name__:
        pytest.skip("the other engine")
    for session in request.param():
        session.dataSource.register(ZlensDataSource)
        yield session


@pytest.fixture(scope="module")
def spark_lake(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("spark") / "lake"
    lake.add([demo_folder], into)
    return into


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, dt.datetime):
        # Collected timestamps have no zone and are in the session's zone, UTC.
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).replace(tzinfo=None)
    return value


def rows(found: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(map(plain, row)) for row in found), key=str)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_of_one_process(spark: Any, spark_lake: Path, table: str) -> None:
    found = spark.read.format("zlens").option("table", table).load(str(spark_lake))
    with zlens.open(spark_lake) as session:
        answer = session.sql(f"SELECT * FROM {table}")
        assert found.columns == answer.columns
        assert rows(found.collect()) == rows(answer.rows)


def test_spark_reads_files(spark: Any, demo_folder: Path) -> None:
    reader = spark.read.format("zlens").option("table", "load").option("system", "ZLSIM")
    found = reader.option("from", "2024-05-14 10:00").load(str(demo_folder))
    assert found.count() == 30


def test_columns_and_schemas_narrow(spark: Any, spark_lake: Path) -> None:
    reader = spark.read.format("zlens").option("table", "cpu")
    assert reader.option("columns", "system, busy_pct").load(str(spark_lake)).columns == [
        "system",
        "busy_pct",
    ]
    narrowed = spark.read.format("zlens").schema("busy_pct double, system string").option("table", "cpu")
    found = narrowed.load(str(spark_lake))
    with zlens.open(spark_lake) as session:
        assert rows(found.collect()) == rows(session.sql("SELECT busy_pct, system FROM cpu").rows)


@pytest.mark.parametrize("pushed", ["false", "true"])
def test_spark_pushes_conditions_down(
    spark: Any, spark_lake: Path, pushed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows are the same with and without pushdown of conditions."""
    if "connect" not in type(spark).__module__:
        spark.conf.set(PUSHDOWN, pushed)
    found = (
        spark.read.format("zlens")
        .option("table", "load")
        .load(str(spark_lake))
        .where("system = 'ZLSIM' AND interval_end > timestamp'2024-05-14 08:00:00' AND busy_pct > 20")
    )
    with zlens.open(spark_lake) as session:
        condition = "interval_end > TIMESTAMPTZ '2024-05-14 08:00:00+00' AND busy_pct > 20"
        expected = session.sql(f"SELECT * FROM load WHERE system = 'ZLSIM' AND {condition}").rows
    assert rows(found.collect()) == rows(expected)
    assert expected
    found.explain()
    plan = capsys.readouterr().out
    if "connect" not in type(spark).__module__:
        assert ("= ZLSIM" in plan) == (pushed == "false")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "the option table is missing"),
        ({"table": "load", "colums": "system"}, "there is no option colums"),
        ({"table": "nothing_like_it"}, "nothing_like_it"),
    ],
)
def test_wrong_options(spark: Any, spark_lake: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(PySparkException, match=says):
        spark.read.format("zlens").options(**options).load(str(spark_lake)).collect()
