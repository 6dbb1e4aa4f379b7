"""Tests of the declared aggregation of every measure column, and of its use in all interfaces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

import zlens
from zlens import demo
from zlens.api import Session
from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError, QueryError
from zlens.inputs.options import Options, parse_zone

#: Longer than any demo file, so that one bucket contains all rows.
WHOLE = 40 * 86_400
ZONE = parse_zone(demo.ZONE)
CONNECTION = duckdb.connect(":memory:", config={"threads": 1})
# Interval lengths are known only from the rows.
CONNECTION.execute(
    "CREATE TABLE interval (system VARCHAR, source VARCHAR, interval_end TIMESTAMPTZ, seconds DOUBLE)"
)
KINDS = ("counter", "time", "ratio", "gauge")
#: Note of integer columns, which differ only by rounding.
ROUNDED = "its mean is rounded because the column is an integer"
ISO = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture(scope="module")
def demo_files(demo_folder: Path) -> dict[str, Path]:
    return {path.name: path for path in demo_folder.iterdir()}


def measured(table: Measure) -> list[MeasureColumn]:
    """Return the columns that aggregate several rows to one number."""
    return [column for column in table.columns if column.aggregate in KINDS and column.name != "seconds"]


def compared(session: Session) -> Iterator[Measure]:
    for name in measures.measure_names():
        table = measures.load_measure(name)
        if not table.plain and not table.no_reader and measured(table) and session._core.has_data(name):
            yield table


Row = tuple[object, ...]


def whole(session: Session, table: Measure, flagged: bool) -> dict[Row, list[float | None]]:
    """Return each column over all rows by subject; `flagged` includes flagged rows, as of short buckets."""
    keys = ", ".join(map(quote, ("system", "source", *table.key)))
    rows = f"(SELECT * REPLACE (NULL AS flag) FROM {table.name})" if flagged else table.name
    shown = ", ".join(
        aggregation.statistic_sql(table, one, aggregation.default_statistic(one)) for one in measured(table)
    )
    width = 2 + len(table.key)
    found = session.sql(f"SELECT {keys}, {shown} FROM {rows} GROUP BY {keys}").rows
    return {row[:width]: list(row[width:]) for row in found}


def complete(session: Session, table: Measure) -> dict[Row, list[bool]]:
    """Return by subject and column whether all or no rows have a value, and no flag."""
    keys = ", ".join(map(quote, ("system", "source", *table.key)))
    shown = ", ".join(
        f"count({quote(one.name)}) IN (0, count(*)) AND count(flag) = 0" for one in measured(table)
    )
    width = 2 + len(table.key)
    found = session.sql(f"SELECT {keys}, {shown} FROM {table.name} GROUP BY {keys}").rows
    return {row[:width]: list(row[width:]) for row in found}


def load_file(files: dict[str, Path], name: str, folder: Path) -> Path:
    """Write a file with varying transactions per interval."""
    with zlens.open(files[name], options=Options(tz=ZONE)) as session:
        spans = session.sql(
            "SELECT interval_start, interval_end FROM interval WHERE flag IS NULL ORDER BY interval_end"
        ).rows
    lines = ["start,end,transactions,response (ms)"]
    until = None
    for number, (start, end) in enumerate(spans):
        # Intervals of several sources in a file may overlap.
        if until is None or start >= until:
            lines.append(f"{start:{ISO}},{end:{ISO}},{500 + 37 * (number % 11)},{3 + number % 7}")
            until = end
    path = folder / "load.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def held(files: dict[str, Path], name: str, every_s: int, folder: Path | None) -> dict[tuple[str, str], int]:
    """Compare each column over all rows of a file with the buckets of --every; return the counts of values.

    With a folder, the session also reads a throughput file.
    """
    load = str(load_file(files, name, folder)) if folder else None
    plain = Options(tz=ZONE, throughput=load)
    counts: dict[tuple[str, str], int] = {}
    wrong = []
    with (
        zlens.open(files[name], options=plain) as rows,
        zlens.open(files[name], options=replace(plain, every_s=every_s)) as sums,
    ):
        for table in compared(rows):
            one, other, known = whole(rows, table, False), whole(sums, table, True), complete(rows, table)
            if all(column.every_note for column in measured(table)):
                continue
            assert set(one) == set(other), table.name
            for subject, values in one.items():
                # What is left of large numbers is as exact as they are.
                most = 1e-12 * max(1.0, *(abs(value) for value in values if value is not None))
                for column, value, expected, full in zip(
                    measured(table), values, other[subject], known[subject], strict=True
                ):
                    rounded = column.every_note == ROUNDED
                    if (column.every_note and not rounded) or column.unweighted or not full:
                        continue
                    place = table.name, column.name
                    counts[place] = counts.get(place, 0) + (value is not None)
                    if not same(value, expected, 0.5 if rounded else most):
                        wrong.append((*place, subject, value, expected))
    assert wrong == []
    return counts


@pytest.mark.parametrize(
    ("name", "least", "every_s", "loaded"),
    [
        pytest.param("sim.monwrite", 3500, WHOLE, False, marks=pytest.mark.long),
        pytest.param("zlzos.smf", 900, WHOLE, True, marks=pytest.mark.long),
        ("zldemo.monwrite", 350, WHOLE, True),
        pytest.param("sim.monwrite", 3500, 15 * 60, True, marks=pytest.mark.long),
        pytest.param("sim.monwrite", 3500, 7 * 60, False, marks=pytest.mark.long),
        pytest.param("zlzos.smf", 900, 60 * 60, False, marks=pytest.mark.long),
        pytest.param("zldemo.monwrite", 350, 15 * 60, False, marks=pytest.mark.long),
        pytest.param("zlzos-rmf-cpu.xml", 80, WHOLE, False, marks=pytest.mark.long),
        pytest.param("zlzos-rmf-cpu.xml", 80, 30 * 60, False, marks=pytest.mark.long),
    ],
)
def test_window_value_equals_rows(
    demo_files: dict[str, Path], tmp_path: Path, name: str, least: int, every_s: int, loaded: bool
) -> None:
    """The mean over a window does not depend on --every."""
    # Most columns with data are compared.
    assert sum(held(demo_files, name, every_s, tmp_path if loaded else None).values()) >= least


#: Columns of the measures of the demo files that have no value in them, except of subjects with gaps.
NOT_IN_DEMO = {
    "alias_pool": """
        borrow_fails_rate borrow_rate in_use_at_need lend_rate most_borrowed most_lent
        none_at_home_ratio queued_at_need used_ratio
    """,
    "cache": """
        cache_fast_read_hit_pct cache_fast_write_hit_pct physical_read_bytes_rate physical_read_rate
        physical_read_s physical_read_size physical_write_bytes_rate physical_write_rate
        physical_write_s physical_write_size read_bytes_rate sequential_write_hit_pct write_bytes_rate
    """,
    "cec": "defective_cpus saps spare_cpus",
    "channel": "adapter_util_pct dpu_util_pct",
    "core": "capacity_factor_pct max_capacity_factor_pct",
    "coupling_structure": """
        augmented_most augmented_used augmented_used_pct memory_elements memory_entries memory_most
        memory_prefetch_rate memory_read_bytes_rate memory_read_rate memory_read_s memory_used
        memory_used_pct memory_write_bytes_rate memory_write_rate memory_write_s suspended_rate
        suspended_s synchronized_rate
    """,
    "decision": "absolute_cap",
    "device": """
        sync_read_bytes_rate sync_read_rate sync_read_s sync_request_rate sync_success_pct
        sync_write_bytes_rate sync_write_rate sync_write_s
    """,
    "guest": "response_s share_limit",
    "image_storage": """
        csa_pct ecsa_pct esqa_pct large_pageable_bytes pages_per_block scm_1m_in_rate scm_1m_out_rate
        scm_bytes scm_in_rate scm_out_rate scm_used_bytes sqa_pct
    """,
    "io_processor": "compression_pct storage_class_pct",
    "job": "ziip_mips",
    "lcu": "managed_defined managed_least managed_most",
    "lcu_path": "ready_enabled_pct transport_write_rate",
    "partition": "absolute_cap group_cap",
    # The demo attaches its functions: their first intervals have no rates.
    "pci": """
        dma_read_rate dma_write_rate load_rate received_packets_rate received_rate refresh_rate
        sent_packets_rate sent_rate store_block_rate store_rate util_pct work_rate
    """,
    "storage": "standby_bytes",
}


@pytest.mark.long
def test_every_measure_column_has_aggregation(demo_files: dict[str, Path], tmp_path: Path) -> None:
    """Every column is compared above, except those with a reason why --every may differ."""
    reached: set[tuple[str, str]] = set()
    tables: set[str] = set()
    for name in demo_files:
        counts = held(demo_files, name, WHOLE, tmp_path)
        reached |= {place for place, count in counts.items() if count}
        tables |= {table for table, _ in counts}
    expected = {
        (table.name, column.name)
        for table in map(measures.load_measure, tables)
        for column in measured(table)
        if column.every_note in ("", ROUNDED) and not column.unweighted
    }
    absent = {(table, column) for table, columns in NOT_IN_DEMO.items() for column in columns.split()}
    assert expected - reached == absent


def same(value: float | None, expected: float | None, most: float) -> bool:
    if value is None or expected is None:
        return value is expected
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=most)


def sample(table: str, rows: Sequence[dict[str, object]]) -> str:
    """Return rows of a measure as SQL; columns without a value are NULL."""
    columns = measures.load_measure(table).columns
    selects = (
        "SELECT "
        + ", ".join(
            f"CAST({literal(row.get(c.name))} AS {SQL_TYPES[c.type]}) AS {quote(c.name)}" for c in columns
        )
        for row in rows
    )
    return f"({' UNION ALL '.join(selects)})"


def literal(value: object) -> str:
    return "NULL" if value is None else repr(value)


def row(minute: int, seconds: float | None = 60.0, **values: object) -> dict[str, object]:
    head = {
        "system": "S",
        "source": "m",
        "interval_end": f"2026-03-02 09:{minute:02}:00+00",
        "seconds": seconds,
    }
    return head | values


def aggregated(
    table: str, rows: Sequence[dict[str, object]], *columns: str, by: Sequence[str] = (), statistic: str = ""
) -> list[tuple[object, ...]]:
    measure = measures.load_measure(table)
    wanted = [
        (column(table, name), (statistic or aggregation.default_statistic(column(table, name)),))
        for name in columns
    ]
    question = MeasureQuery(measure, wanted, sample(table, rows), by)
    skipped = len(question.keys())
    return [tuple(one[skipped:]) for one in CONNECTION.execute(question.sql()).fetchall()]


def column(table: str, name: str) -> MeasureColumn:
    found = measures.load_measure(table).column(name)
    assert found is not None
    return found


def test_response_times_weigh_by_all_operations() -> None:
    rows = [
        row(1, device="1000", rate=10.0, measured_rate=10.0, resp_s=0.001, serv_s=0.001),
        row(2, 120.0, device="1000", rate=30.0, measured_rate=5.0, resp_s=0.003, serv_s=0.002),
    ]
    [(response, service)] = aggregated("device", rows, "resp_s", "serv_s", by=["device"])
    assert response == pytest.approx((600 * 0.001 + 3600 * 0.003) / 4200)
    assert service == pytest.approx((600 * 0.001 + 600 * 0.002) / 1200)


def test_speed_is_cycles_over_time() -> None:
    rows = [row(1, cpu_type="CP", cycles=10**10, ghz=5.0), row(2, cpu_type="CP", cycles=10**10, ghz=2.0)]
    [(speed,)] = aggregated("cpumf_type", rows, "ghz", by=["cpu_type"])
    assert speed == pytest.approx(20 / 7)


def test_flagged_intervals_count_only_in_totals() -> None:
    rows = [
        row(1, userid="A", cpu_s=6.0, cpu_pct=10.0),
        row(2, 300.0, userid="A", cpu_s=150.0, cpu_pct=50.0, flag="gap"),
        row(3, 10.0, userid="A", cpu_s=9.0, cpu_pct=90.0, flag="short"),
    ]
    assert aggregated("guest", rows, "cpu_s", "cpu_pct", by=["userid"]) == [(165.0, 10.0)]
    for statistic in ("max", "min", "p50", "p95"):
        assert aggregated("guest", rows, "cpu_pct", by=["userid"], statistic=statistic) == [(10.0,)]


def test_sum_with_null_part_is_null() -> None:
    first = row(1, userid="A")
    known = row(2, userid="A", cpu_s=6.0, virtual_s=5.0)
    assert aggregated("guest", [first, known], "cpu_s", by=["userid"]) == [(6.0,)]
    broken = row(3, userid="A", virtual_s=5.0)
    assert aggregated("guest", [first, known, broken], "cpu_s", "virtual_s", by=["userid"]) == [(None, 10.0)]


def test_subjects_are_aggregated_before_time() -> None:
    """The rate of two devices is their sum in each interval, even if one is missing in some."""
    rows = [row(m, device="1000", rate=10.0, read_pct=50.0) for m in (1, 2)]
    rows += [row(1, device="1001", rate=30.0, read_pct=90.0)]
    [(rate, read)] = aggregated("device", rows, "rate", "read_pct")
    assert rate == pytest.approx((40 + 10) / 2)
    assert read == pytest.approx((10 * 50 + 30 * 90 + 10 * 50) / 50)
    assert aggregated("device", rows, "rate", statistic="max") == [(40.0,)]


def test_subjects_are_weighted_by_their_time() -> None:
    """A device may be present for half of the interval, and a difference may span three intervals."""
    CONNECTION.execute("INSERT INTO interval VALUES ('S', 'm', '2026-03-02 09:01:00+00', 60)")
    try:
        rows = [
            row(1, device="1000", rate=10.0),
            row(1, 30.0, device="1001", rate=20.0),
            row(1, 180.0, device="1002", rate=1.0),
        ]
        assert aggregated("device", rows, "rate", "seconds") == [(pytest.approx(10 + 10 + 3), 60)]
        # The longest presence is the entire interval; a row without a length counts fully.
        assert aggregated("device", rows[1:2], "rate") == [(20.0,)]
        assert aggregated("device", [row(1, None, device="1003", rate=2.0), rows[1]], "rate") == [(22.0,)]
        # If all rows are longer, they are those of records with longer intervals.
        longer = [row(1, 900.0, device=f"100{n}", rate=10.0 + n) for n in range(3)]
        assert aggregated("device", longer, "rate", "seconds") == [(pytest.approx(33), 900)]
    finally:
        CONNECTION.execute("DELETE FROM interval")


@pytest.mark.parametrize("name", ["zlzos.smf", pytest.param("zldemo.monwrite", marks=pytest.mark.long)])
def test_sums_over_subjects_are_those_of_rows(demo_files: dict[str, Path], name: str) -> None:
    """Of records with longer intervals than others, too: rows of one length add up to their sum."""
    compared_columns = 0
    with zlens.open(demo_files[name], options=Options(tz=ZONE)) as session:
        lengths = quote("interval")
        for table in compared(session):
            columns = [
                column
                for column in measured(table)
                if aggregation.subject_rule(column) == "sum"
                and column.aggregate in ("ratio", "gauge")
                and (column.weight or "seconds") == "seconds"
                and not column.subject_filter
            ]
            if not columns or not table.key:
                continue
            values = ", ".join(
                f"{aggregation.aggregate_subjects(column).value}, sum({quote(column.name)}), "
                f"count({quote(column.name)}) = count(*)"
                for column in columns
            )
            found = session.sql(
                f"SELECT interval_end, {values} FROM {table.name}, (SELECT 1 FROM {lengths} LIMIT 1) "
                "GROUP BY system, source, interval_end HAVING min(seconds) = max(seconds)"
            ).rows
            for end, *numbers in found:
                for column, nth in zip(columns, range(0, len(numbers), 3), strict=True):
                    together, added, full = numbers[nth : nth + 3]
                    if full:
                        assert same(together, added, 1e-12), (table.name, column.name, end, together, added)
                        compared_columns += 1
    assert compared_columns >= 100


def test_weight_over_subjects_may_differ_from_weight_over_time() -> None:
    rows = [
        row(1, volume="A", area="PAGE", read_rate=10.0, write_rate=0.0, mload_s=0.001),
        row(1, volume="B", area="PAGE", read_rate=20.0, write_rate=10.0, mload_s=0.005),
        row(2, volume="A", area="PAGE", read_rate=5.0, write_rate=0.0, mload_s=0.002),
    ]
    [(load,)] = aggregated("paging", rows, "mload_s")
    assert load == pytest.approx((0.004 + 0.002) / 2)


def test_device_without_queue_keeps_queue_of_others() -> None:
    rows = [row(1, device="1000", rate=10.0, queued=0.5), row(1, device="0F00", rate=0.0)]
    assert aggregated("device", rows, "queued") == [(0.5,)]
    rows.append(row(1, device="1001", rate=5.0))
    assert aggregated("device", rows, "queued") == [(None,)]


def test_never_merged_columns_are_not_merged() -> None:
    rows = [row(1, zone="all", available=10), row(1, zone="below 2 GB", available=4)]
    with pytest.raises(QueryError, match="different zone are never merged"):
        aggregated("storage", rows, "available")
    assert aggregated("storage", rows, "available", by=["zone"]) == [(10.0,), (4.0,)]


def test_pinned_columns_follow_filter() -> None:
    job = measures.load_measure("job")
    assert aggregation.pinned_columns(job, {"kind": ["interval", "last interval"], "job": ["A", "B"]}) == [
        "kind"
    ]
    assert aggregation.pinned_columns(job, {"kind": ["interval", "job"], "job": ["A"]}) == ["job"]
    assert aggregation.pinned_columns(job, {"kind": [], "job": "A"}) == ["job"]
    for name in measures.measure_names():
        table = measures.load_measure(name)
        assert set(table.parts) <= set(table.never_merged), name


def test_share_is_of_whole_system() -> None:
    guests = [
        row(1, userid="A", cpu_s=1.0, cpu_pct=1.0),
        row(1, userid="B", cpu_s=3.0, cpu_pct=3.0),
        # A subject without a difference has no share.
        row(1, userid="C", vcpus=1.0),
    ]

    def shares(busy_s: list[float | None]) -> list[tuple[object, ...]]:
        wanted = [(column("guest", "cpu_s"), ("share",))]
        question = MeasureQuery(measures.load_measure("guest"), wanted, sample("guest", guests), ["userid"])
        [(share, whole)] = question.wholes().items()
        assert (share, whole.table.name) == ("cpu_s_share", "load")
        load = sample("load", [row(at, busy_s=value, page_rate=1.0) for at, value in enumerate(busy_s, 1)])
        sql = question.shares_sql(question.sql(), {share: replace(whole, rows=load).sql()})
        return [tuple(one[2:]) for one in CONNECTION.execute(f"{sql} ORDER BY userid").fetchall()]

    assert shares([4.0, 4.0]) == [("A", 12.5), ("B", 37.5), ("C", None)]
    # Nothing is a share of what is unknown.
    assert shares([4.0, None]) == [("A", None), ("B", None), ("C", None)]


def test_rate_counts_absent_subject_as_zero() -> None:
    """A uses 6 s in one of two minutes, B 12 s in each: 0.05 and 0.2 processors over both."""
    guests = [
        row(1, userid="A", cpu_s=6.0, cpu_pct=10.0),
        row(1, userid="B", cpu_s=12.0, cpu_pct=20.0),
        row(2, userid="B", cpu_s=12.0, cpu_pct=20.0),
    ]
    wanted = [(column("guest", "cpu_s"), ("rate", "share"))]
    question = MeasureQuery(measures.load_measure("guest"), wanted, sample("guest", guests), ["userid"])
    wholes = question.wholes()
    load = sample("load", [row(at, seconds=60.0, busy_s=30.0, page_rate=1.0) for at in (1, 2)])
    rows = {name: replace(whole, rows=load).sql() for name, whole in wholes.items()}
    sql = question.shares_sql(question.sql(), rows)
    result = [tuple(one[2:]) for one in CONNECTION.execute(f"{sql} ORDER BY userid").fetchall()]
    assert result == [("A", 0.05, 10.0), ("B", 0.2, 40.0)]


def test_sources_of_one_system_have_separate_rows() -> None:
    rows = [row(1, busy_pct=50.0, online=2.0), {**row(1, busy_pct=40.0, online=2.0), "source": "rmf-xml"}]
    assert sorted(aggregated("load", rows, "busy_pct")) == [(40.0,), (50.0,)]


def test_mean_without_weight_is_null() -> None:
    rows = [row(1, userid="A", transaction_rate=2.0, cpu_s=1.0), row(2, userid="A", cpu_s=1.0)]
    assert aggregated("guest", rows, "transaction_rate", by=["userid"]) == [(None,)]
    assert aggregated("guest", rows, "transaction_rate") == [(None,)]


@pytest.mark.long
def test_every_statistic_of_every_column_runs() -> None:
    """Statistics run by subject and over all subjects."""
    for name in measures.measure_names():
        table = measures.load_measure(name)
        if table.plain:
            continue
        empty = f"(SELECT * FROM {sample(name, [row(1)])} WHERE false)"
        wanted = [
            (one, aggregation.available_statistics(one))
            for one in table.columns
            if one.name not in ("interval_end",)
        ]
        for by in (table.key, table.never_merged):
            assert CONNECTION.execute(MeasureQuery(table, wanted, empty, by).sql()).fetchall() == []


def test_weights_are_declared_only_with_columns() -> None:
    """Reports, comparisons and rules declare no weights."""
    package = Path(zlens.__file__).parent
    for folder in ("facts/reports", "facts/compare", "facts/rules"):
        for path in (package / folder).rglob("*.toml"):
            assert "weighted_mean" not in path.read_text(encoding="utf-8"), path.name
    assert not [
        path for path in (package / "facts/compare").glob("[!_]*.toml") if "weight = " in path.read_text()
    ]


def test_report_means_are_expanded() -> None:
    written = aggregation.expand_references(
        "SELECT {mean device.resp_s of d}, {across device.rate} FROM device AS d"
    )
    assert 'd."rate"' in written
    assert 'sum("rate" * "seconds")' in written
    with pytest.raises(CatalogError, match=r"device\.volume has no mean"):
        aggregation.expand_references("{mean device.volume}")
