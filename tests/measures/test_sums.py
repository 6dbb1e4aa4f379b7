"""Sums over the partitions of a machine do not depend on the order of the rows."""

from __future__ import annotations

import random
import re
from pathlib import Path

import duckdb

import zlens
from zlens.catalog.compile import nodes
from zlens.inputs.options import Options, parse_zone


def test_the_last_digit_of_a_pool_does_not_depend_on_the_order_of_partitions() -> None:
    chance = random.Random(3)
    rows = [(f"P{number}", chance.random() * 10.0 ** chance.randrange(-6, 6)) for number in range(60)]
    sums = set()
    for _ in range(20):
        chance.shuffle(rows)
        connection = duckdb.connect()
        connection.execute("CREATE SCHEMA role")
        connection.execute(
            "CREATE TABLE role.partition AS SELECT 'S' AS system, 'x' AS source, now() AS interval_end, "
            "60.0 AS seconds, NULL AS flag, 'IFL' AS cpu_type, name, time AS effective_time, "
            "time AS dispatch_time, time AS weight, false AS dedicated, 1.0 AS logical_cpus, "
            "false AS incomplete, false AS apart "
            "FROM (SELECT unnest($names) AS name, unnest($times) AS time)",
            {"names": [name for name, _ in rows], "times": [time for _, time in rows]},
        )
        for entity, columns in (
            ("physical", "1.0 AS physical, NULL AS usage"),
            ("management", "1.0 AS management_time"),
            ("pool_usage", "1.0 AS effective, 1.0 AS management, 1.0 AS physical, 1.0 AS total"),
        ):
            connection.execute(
                f"CREATE TABLE role.{entity} AS SELECT system, source, interval_end, cpu_type, {columns} "
                "FROM role.partition LIMIT 1"
            )
        connection.execute(
            "CREATE TABLE role.pool_total AS SELECT * EXCLUDE (dedicated), dispatch_time AS total_weight, "
            "0.0 AS dedicated FROM role.partition WHERE false"
        )
        sums |= set(
            connection.execute(
                f"SELECT effective_time, dispatch_time, total_weight FROM ({nodes.text('_pool')})"
            ).fetchall()
        )
    assert len(sums) == 1


def test_a_damaged_cell_of_a_report_leaves_no_partial_sum(demo_files: list[Path], tmp_path: Path) -> None:
    """Of two partitions of a type one is unreadable: what both used is unknown, and not what one used."""
    text = demo_files[1].read_text(encoding="utf-8")
    row = re.search(r"<row[^>]*><col>ZLDEMO</col>.*?</row>", text)
    assert row is not None
    damaged = re.sub(r"(\d\d\.\d\d\.\d)\d(\.\d{3})", r"\1X\2", row[0])
    path = tmp_path / "rmf.xml"
    path.write_text(text.replace(row[0], damaged, 1), encoding="utf-8")
    query = "SELECT effective_s, total_s, total_pct FROM cec WHERE cpu_type = 'IFL' ORDER BY interval_end"
    options = Options(tz=parse_zone("+01:00"))
    with zlens.open(demo_files[1], options=options) as session:
        whole = session.sql(query).rows
    with zlens.open(path, options=options) as session:
        assert session.sql(query).rows == [(None, None, None), *whole[1:]]
        assert any("is not a duration" in problem.detail for problem in session.problems)
