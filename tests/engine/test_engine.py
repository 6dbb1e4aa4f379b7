"""Tests of the engine: columns read, refused statements, and the selection and sums of intervals."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from fakes import TOD_PER_S, FakeSource, FakeTable, intervals, processors, session, system
from zlens.catalog import measures
from zlens.engine.results import unique_names
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_shift, parse_time_spec, parse_zone
from zlens.session import session_tables

SHARES = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.2, 0.3]]


def opened(options: Options | None = None, shares=SHARES, **facts):
    info = system(**facts)
    info.intervals = intervals(len(shares))
    table = processors(info.system, shares)
    return session([FakeSource([info], [table])], options), table


def test_query_reads_only_its_columns():
    queried, table = opened()
    rows = queried.sql("SELECT sytprp_pfxcpuad, sum(sytprp_pfxutime_d) FROM d0r2 GROUP BY 1 ORDER BY 1").rows
    assert [cpu for cpu, _ in rows] == [0, 1]
    assert table.requested == [["sytprp_pfxcpuad", "sytprp_pfxutime_d"]]


def test_filter_columns_are_read():
    queried, table = opened()
    assert queried.sql("SELECT count(*) FROM d0r2 WHERE sytprp_pfxcpuad = 1").rows == [(4,)]
    assert table.requested == [["sytprp_pfxcpuad"]]


def test_star_and_exclude_bind_same_twice():
    queried, _ = opened()
    whole = queried.sql("SELECT * FROM d0r2")
    less = queried.sql("SELECT * EXCLUDE (flag, file) FROM d0r2")
    assert set(whole.columns) - set(less.columns) == {"flag", "file"}
    assert len(less.rows) == 8


def test_measure_reads_raw_data_once():
    queried, table = opened()
    first = queried.sql("SELECT * FROM cpu").rows
    count = len(table.requested)
    assert queried.sql("SELECT * FROM cpu").rows == first
    assert len(table.requested) == count
    assert "sytprp_pfxutime" not in table.requested[0]


def test_busy_is_user_and_system():
    queried, _ = opened()
    rows = queried.sql("SELECT cpu_id, busy_pct, user_pct, system_pct, emulation_pct, wait_pct FROM cpu").rows
    assert rows[0] == pytest.approx((0, 15.0, 10.0, 5.0, 8.0, 80.0))


def test_suspend_is_rest_of_online_time():
    queried, _ = opened()
    assert queried.sql("SELECT suspend_pct FROM cpu LIMIT 1").rows[0][0] == pytest.approx(5.0)


def test_suspend_is_zero_without_rest():
    """Shares that add up to 100 may miss it by 1e-14 in doubles: no time is suspended."""
    shares = [[at / 100, 0.83 - at / 300] for at in range(1, 80)]
    _, recorded = opened(shares=shares)
    idle = round(0.05 * 60 * TOD_PER_S)
    table = FakeTable("d0r2", recorded.columns, [(*row[:-1], row[-1] + idle) for row in recorded.rows])
    info = system()
    info.intervals = intervals(len(shares))
    queried = session([FakeSource([info], [table])])
    rows = queried.sql("SELECT suspend_pct, busy_pct + wait_pct FROM cpu").rows
    assert [suspended for suspended, _ in rows] == [0.0] * len(rows)
    assert any(whole != 100 for _, whole in rows)


def test_core_is_processor_before_6_3():
    old, _ = opened(release="5.3")
    new, _ = opened(release="7.3")
    assert old.sql("SELECT DISTINCT core_id, thread_id FROM cpu ORDER BY 1").rows == [(0, 0), (1, 0)]
    assert new.sql("SELECT DISTINCT core_id, thread_id FROM cpu").rows == [(None, None)]


def test_two_systems_of_different_release():
    a, b = system("SYSA", release="5.3"), system("SYSB", release="7.3")
    a.intervals = b.intervals = intervals(4)
    both = session([FakeSource([a, b], [processors("SYSA", SHARES), processors("SYSB", SHARES)])])
    rows = both.sql("SELECT DISTINCT system, thread_id FROM cpu ORDER BY 1").rows
    assert rows == [("SYSA", 0), ("SYSB", None)]
    chosen = session(both._core.sources, Options(systems=("SYSB",)))
    assert chosen.sql("SELECT DISTINCT system FROM d0r2").rows == [("SYSB",)]
    assert chosen.sql("SELECT DISTINCT system FROM cpu").rows == [("SYSB",)]


def test_load_is_mean_of_processors():
    queried, _ = opened()
    rows = queried.sql(
        "SELECT busy_pct, guest_pct, chargeable_cp_pct, nonchargeable_cp_pct, tv, online FROM load"
    )
    assert rows.rows[0] == pytest.approx((20.0, 12.0, 3.0, 5.0, 1.25, 2.0))


def test_missing_inputs_give_null():
    queried, _ = opened(shares=[[0.0, None]])
    rows = queried.sql("SELECT cpu_id, busy_pct, user_pct FROM cpu ORDER BY 1").rows
    assert rows[0] == pytest.approx((0, 5.0, 0.0))
    assert rows[1] == (1, None, None)
    assert queried.sql("SELECT tv FROM load").rows == [(None,)]


@pytest.fixture(scope="module")
def queried():
    return opened()[0]


@pytest.mark.parametrize("name", measures.measure_names())
def test_every_measure_exists_typed_and_commented(queried, name):
    answer = queried.sql(f"FROM {name}")
    assert list(zip(answer.columns, answer.types, strict=True)) == [
        (column.name, column.type) for column in measures.load_measure(name).columns
    ]
    comments = queried.sql(
        "SELECT column_name, comment FROM duckdb_columns() "
        f"WHERE schema_name = 'main' AND table_name = '{name}'"
    ).rows
    assert [column for column, _ in comments] == answer.columns
    assert all(comment for _, comment in comments)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY cpu TO '/tmp/zlens-test.csv'",
        "ATTACH '/tmp/zlens-test.db'",
        "DROP TABLE cpu",
        "SELECT 1; SELECT 2",
        "SET memory_limit = '1TB'",
        "INSTALL httpfs",
        "selec 1",
        "",
        "SELECT * FROM nosuch",
        "SELECT nosuch FROM cpu",
        "SELECT '/etc/passwd' FROM '/etc/passwd'",
        "CREATE TABLE x (a INT)",
        "PRAGMA database_list",
    ],
)
def test_query_cannot_write(query):
    queried, _ = opened()
    with pytest.raises(QueryError) as caught:
        queried.sql(query)
    assert "\n" not in str(caught.value)


def test_explain_shows_query_plan():
    queried, table = opened()
    for how in ("EXPLAIN", "explain analyze"):
        ((_, plan),) = queried.sql(f"{how} SELECT sum(sytprp_pfxutime_d) FROM d0r2").rows
        assert "sytprp_pfxutime_d" in plan
    assert table.requested == [["sytprp_pfxutime_d"]] * 2


def test_division_by_zero_is_null():
    queried, _ = opened()
    assert queried.sql("SELECT 5 % 0, 5 // 0").rows == [(None, None)]


def test_misspelled_table_has_suggestion():
    queried, _ = opened()
    with pytest.raises(QueryError, match="did you mean partition"):
        queried.sql("SELECT * FROM partitions")


def test_show_tables_describes_tables():
    queried, _ = opened()
    rows = {name: (kind, text) for name, kind, text in queried.sql("show tables").rows}
    assert rows["cpu"][0] == "measure"
    assert rows["cpu"][1]
    assert rows["d0r2"][0] == "raw"
    assert "role.processor" in rows
    assert not any(name.startswith("_") for name in rows)


def test_times_are_aware_and_utc():
    queried, _ = opened()
    (end,) = queried.sql("SELECT min(interval_end) FROM cpu").rows[0]
    assert end == dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)


def test_from_and_to_are_local_times():
    queried, _ = opened(
        Options(start=parse_time_spec("23:15"), end=parse_time_spec("23:16")), utc_offset_s=3600
    )
    ends = queried.sql("SELECT interval_end FROM interval ORDER BY 1").rows
    assert [end.strftime("%H:%M") for (end,) in ends] == ["22:16"]
    assert queried.sql("SELECT count(*) FROM cpu").rows == [(2,)]
    assert queried.sql("SELECT count(*) FROM d0r2").rows == [(2,)]


def test_shift_applies_only_on_its_days():
    tuesday, _ = opened(Options(shift=parse_shift("Tue 22:14-22:16")))
    assert tuesday.sql("SELECT count(*) FROM interval").rows == [(2,)]
    monday, _ = opened(Options(shift=parse_shift("Mon 00:00-23:59")))
    with pytest.raises(QueryError, match="no interval lies in the selected times"):
        monday.sql("SELECT count(*) FROM interval")


def test_peak_selects_busiest_interval():
    queried, _ = opened(Options(peak_minutes=2))
    ends = [end.strftime("%H:%M") for (end,) in queried.sql("SELECT interval_end FROM load ORDER BY 1").rows]
    assert ends == ["22:15", "22:16"]


def test_every_sums_counters_and_divides_again():
    queried, _ = opened(Options(every_s=240), shares=[[0.1], [0.3], [0.5], [None], [0.2]])
    rows = queried.sql("SELECT interval_end, seconds, busy_pct FROM cpu ORDER BY 1").rows
    # 22:14 to 22:16 fall into the bucket that ends at 22:16, 22:17 and 22:18 into the next.
    assert [row[1] for row in rows] == [180.0, 60.0]
    assert [row[2] for row in rows] == pytest.approx([35.0, 25.0])


def test_every_leaves_flagged_rows_out():
    info = system()
    info.intervals = intervals(2)
    table = processors("SYSA", [[0.1], [0.5]], flags={1: "short"})
    queried = session([FakeSource([info], [table])], Options(every_s=240))
    assert queried.sql("SELECT seconds, user_pct FROM cpu").rows == [(60.0, pytest.approx(10.0))]


def test_every_adds_percentiles_of_gauges():
    queried, _ = opened(Options(every_s=240))
    answer = queried.sql("SELECT online, online_p50, online_p95, online_max FROM load LIMIT 1")
    assert answer.rows == [(2.0, 2.0, 2.0, 2.0)]


def test_every_shorter_than_interval_is_rejected():
    queried, _ = opened(Options(every_s=10))
    with pytest.raises(QueryError, match="shorter than the intervals"):
        queried.sql("SELECT * FROM cpu")


def test_arrow_export_copies_no_python_rows():
    queried, _ = opened()
    table = pa.table(queried.sql("SELECT system, busy_pct, interval_end FROM load"))
    assert table.num_rows == 4
    assert str(table.schema.field("interval_end").type) == "timestamp[us, tz=UTC]"


def test_results_are_independent():
    """A result that is read late or in chunks has the rows of its own query."""
    queried, _ = opened()
    first = queried.sql("SELECT sytprp_pfxutime FROM d0r2")
    second = queried.sql("SELECT sytprp_pfxcpuad FROM d0r2")
    reader = pa.RecordBatchReader.from_stream(first)
    assert queried.sql("SELECT max(busy_pct) FROM cpu").rows[0][0] > 0
    assert pa.table(second)["sytprp_pfxcpuad"].to_pylist() == [0, 1] * 4
    assert reader.read_all()["sytprp_pfxutime"].to_pylist() == [1] * 8
    assert first.rows == [(1,)] * 8
    queried.close()
    assert first.rows == [(1,)] * 8
    for late in (lambda: second.rows, lambda: pa.table(second)):
        with pytest.raises(QueryError, match="session is closed"):
            late()


def test_exported_types_are_standard_arrow():
    queried, _ = opened()
    query = (
        "SELECT sum(sytprp_pfxutime_d) AS s, 1.5 AS d, count(*)::UTINYINT AS n, DATE '2026-03-02' AS t, "
        "max(interval_end) AS e, bool_and(flag IS NULL) AS b, [1] AS l FROM d0r2"
    )
    schema = pa.table(queried.sql(query)).schema
    assert {field.name: str(field.type) for field in schema} == {
        "s": "int64", "d": "double", "n": "int64", "t": "string",
        "e": "timestamp[us, tz=UTC]", "b": "bool", "l": "string",
    }  # fmt: skip
    assert pa.table(queried.sql("SHOW TABLES")).column_names == ["table", "kind", "text"]


def test_parquet_is_written_atomically(tmp_path):
    import pyarrow.parquet as pq

    queried, _ = opened()
    queried._core.queries.write_parquet("SELECT * FROM cpu", str(tmp_path / "cpu.parquet"))
    assert pq.read_table(tmp_path / "cpu.parquet").num_rows == 8
    with pytest.raises(QueryError, match=r'Cannot open file ".*/nowhere/cpu\.parquet.*No such file'):
        queried._core.queries.write_parquet("SELECT * FROM cpu", str(tmp_path / "nowhere" / "cpu.parquet"))
    assert [path.name for path in tmp_path.iterdir()] == ["cpu.parquet"]


def test_one_system_represents_machine():
    a, b = system("SYSA"), system("SYSB")
    a.intervals = b.intervals = intervals(2)
    both = session([FakeSource([a, b], [])])
    rows = both.sql("SELECT DISTINCT system FROM _observer").rows
    assert rows == [("SYSA",)]
    b.serial = "0000000000099999"
    apart = session([FakeSource([a, b], [])])
    assert len(apart.sql("SELECT DISTINCT system FROM _observer").rows) == 2


def test_display_is_local_by_default():
    time = dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)
    local, _ = opened(utc_offset_s=3600)
    utc, _ = opened(Options(utc=True), utc_offset_s=3600)
    assert local._core.display(time, "SYSA").hour == 23
    assert utc._core.display(time, "SYSA").hour == 22


def test_zone_by_name_and_offset():
    assert parse_zone("-04:00").utcoffset(None) == dt.timedelta(hours=-4)
    for wrong in ("Mars/Phobos", "../../etc/passwd"):
        with pytest.raises(QueryError, match=f"^'{wrong}' is not a time zone; expected a name such as"):
            parse_zone(wrong)


def test_reset_subject_is_looked_up_once_per_table(monkeypatch):
    """A busy day has ten thousand resets in a dozen tables."""
    queried = []

    def kind(table):
        queried.append(table)
        return "device"

    monkeypatch.setattr(session_tables, "subject_kind", kind)
    info = system()
    info.intervals = intervals(2)
    source = FakeSource([info], [processors(info.system, SHARES[:2])])
    end = info.intervals[0].end_us
    source.resets = lambda: [(info.system, end, "d6r3", str(769 + nth), "VARY") for nth in range(1000)]
    with session([source]) as opened:
        found = opened.sql("SELECT subject FROM event WHERE detail = 'VARY' ORDER BY subject").rows
    assert (len(found), found[0]) == (1000, ("device 0301",))
    assert queried == ["d6r3"]


@pytest.mark.parametrize("time", ["290000-01-01 00:00:00", "0044-03-15 (BC) 00:00:00"])
def test_time_outside_python_range_is_error(time):
    queried, _ = opened()
    answer = queried.sql(f"SELECT '{time}'::TIMESTAMPTZ AS t")
    with pytest.raises(QueryError, match="not in the years 1 to 9999"):
        answer.first(10)
    with pytest.raises(QueryError, match="not in the years 1 to 9999"):
        _ = answer.rows
    assert queried.sql(f"SELECT '{time}'::TIMESTAMP::VARCHAR AS t").rows == [(time,)]


def test_repeated_columns_get_other_names() -> None:
    assert unique_names(["a", "b", "a", "a_1", "a"]) == ["a", "b", "a_2", "a_1", "a_3"]
