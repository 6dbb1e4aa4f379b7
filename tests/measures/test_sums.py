"""Sums over the partitions of a machine do not depend on the order of the rows."""

from __future__ import annotations

import random

import duckdb

from zlens.catalog.compile import nodes


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
            "false AS incomplete FROM (SELECT unnest($names) AS name, unnest($times) AS time)",
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
        sums |= set(
            connection.execute(
                f"SELECT effective_time, dispatch_time, total_weight FROM ({nodes.text('_pool')})"
            ).fetchall()
        )
    assert len(sums) == 1
