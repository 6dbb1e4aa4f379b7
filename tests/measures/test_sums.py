"""Tests of sums over partitions and processors: independent of the row order, and never partial."""

from __future__ import annotations

import re
from datetime import UTC, date, time
from pathlib import Path

import duckdb

import zlens
from iterations import draws
from zlens.api import Session
from zlens.compiler import nodes
from zlens.inputs.options import Options, TimeSpec, parse_zone


def test_pool_sum_is_independent_of_partition_order() -> None:
    chance = draws(3)
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
                f"SELECT effective_time, dispatch_time, total_weight FROM ({nodes.node_sql('_pool')})"
            ).fetchall()
        )
    assert len(sums) == 1


def test_damaged_cell_makes_sum_null(demo_files: list[Path], tmp_path: Path) -> None:
    """One of two partitions of a type is unreadable: their sum is unknown, not the value of the other."""
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


#: Sums over processors of system-wide counts in CP, and values computed from them.
SUMMED = """SELECT load.interval_end, page_rate, ssch_rate, cp_io_s, page_read_rate, page_write_rate,
    spool_read_rate, spool_write_rate
FROM load JOIN storage AS s USING (system, source, interval_end) WHERE s.zone = 'all' ORDER BY 1"""

#: Only CP time per I/O is unknown.
NO_QUOTIENT = (False, False, True, False, False, False, False)


def unknown(session: Session) -> dict[str, tuple[bool, ...]]:
    """Return which values are unknown by interval end in UTC, without intervals in which all are known."""
    found = {
        f"{end:%H:%M}": tuple(value is None for value in values) for end, *values in session.sql(SUMMED).rows
    }
    return {end: missing for end, missing in found.items() if any(missing)}


def test_counts_before_vary_off_are_null(demo_files: list[Path]) -> None:
    """CPU 3 is varied off at 08:07:20 and on at 08:13:40: the sums of these minutes are missing its part."""
    every = (True,) * 7
    path = demo_files[0]
    with zlens.open(path) as session:
        assert unknown(session) == {"08:08": every, "08:14": every}
        [(reads,)] = session.sql(
            "SELECT count(block_size) FROM paging WHERE interval_end::VARCHAR LIKE '%08:08:%'"
        ).rows
        assert reads == 0
    # A longer interval has the rates of the rest, but no quotient of two of them; a window may start at it.
    with zlens.open(path, options=Options(every_s=300)) as session:
        assert unknown(session) == {"08:10": NO_QUOTIENT, "08:15": NO_QUOTIENT}
    first = TimeSpec(date(2010, 3, 9), time(8, 7), UTC)
    with zlens.open(path, options=Options(start=first)) as session:
        assert set(unknown(session)) == {"08:08", "08:14"}


def test_missing_processor_is_detected_without_events(demo_files: list[Path], tmp_path: Path) -> None:
    """MONITOR EVENT without PROCESSOR: the next sample of the others shows that one is missing."""
    path = tmp_path / "no_events.monwrite"
    data, renamed = re.subn(
        rb"(\0.\0\0\x05\0\0)\x02(?=\xc5)", rb"\g<1>c", demo_files[0].read_bytes(), flags=re.DOTALL
    )
    assert renamed == 1
    path.write_bytes(data)
    every = (True,) * 7
    with zlens.open(path) as session:
        assert session.sql("SELECT count(*) FROM event WHERE kind = 'vary off processor'").rows == [(0,)]
        assert unknown(session) == {"08:08": every, "08:14": every}
    with zlens.open(path, options=Options(every_s=300)) as session:
        assert unknown(session) == {"08:10": NO_QUOTIENT, "08:15": NO_QUOTIENT}
