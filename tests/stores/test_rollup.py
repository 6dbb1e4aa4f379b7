"""Tests of rollups by hour and day: their values, recomputation and removal."""

from __future__ import annotations

import datetime as dt
import gc
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import iterations, quick_subset
from lake_builder import START_US, differences, end_us, recording, tables, write
from zlens import cli, demo, lake, stores
from zlens.api import Session
from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import quote
from zlens.errors import InputError, LakeError, QueryError
from zlens.inputs.options import ALL, Options, parse_time_spec
from zlens.inputs.source import without_raw_tables
from zlens.lake import file_names
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.manifest import RULES
from zlens.lake.retention import UNMEASURED
from zlens.lake.rollups import LakeMachine
from zlens.stores import bucket_sql, rollup_builder

DAY_S = 86_400
#: A time long after the data.
LATER_US = START_US + 100 * DAY_S * 1_000_000


def rows(inputs: str | Path, query: str, options: Options | None = None) -> list[tuple[Any, ...]]:
    with zlens.open(inputs, options=options) as session:
        found = session.sql(query).rows
    del session
    # Without readers, replaced files can be removed.
    gc.collect()
    return found


def near(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.fixture(scope="module")
def demo_lake(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake_path = tmp_path_factory.mktemp("rollup") / "lake"
    # z/VM and z/OS of one machine; the second machine's files are the larger half.
    files = [demo_folder / name for name in (demo.MONWRITE_NAME, demo.RMF_NAME, demo.SMF_NAME)]
    lake.add(iterations([demo_folder], files), lake_path)
    stores.rollup(lake_path)
    return lake_path


def averaged() -> Iterator[tuple[str, list[measures.MeasureColumn]]]:
    """Yield the measures with their columns that have a mean."""
    for name in bucket_sql.measures():
        table = measures.load_measure(name)
        own = [column for column in table.columns if column.name not in ("seconds", *table.key)]
        yield name, [column for column in own if aggregation.sum_and_weight_sql(column) is not None]


def has_rows(session: Session, name: str) -> bool:
    return session._core.has_data(name) and bool(session.sql(f"SELECT 1 FROM {name} LIMIT 1").rows)


@pytest.mark.long
def test_means_over_any_buckets_are_those_of_rows(demo_lake: Path) -> None:
    compared = 0
    with zlens.open(demo_lake, options=Options(source=ALL)) as session:
        for name, columns in averaged():
            if not columns or not has_rows(session, name):
                continue
            keys = ["system", "source", *measures.load_measure(name).key]
            by = f"FROM {{}} GROUP BY {', '.join(map(quote, keys))} ORDER BY ALL"
            heads = [f"CAST({quote(key)} AS VARCHAR)" for key in keys]
            direct = [aggregation.mean_sql(column) for column in columns]
            of_sums = [
                f'sum("{column.name}_sum") / nullif(sum("{column.name}_weight"), 0)' for column in columns
            ]
            expected = session.sql(f"SELECT {', '.join([*heads, *direct])} {by.format(name)}").rows
            for level in bucket_sql.LEVELS:
                found = session.sql(
                    f"SELECT {', '.join([*heads, *of_sums])} {by.format(f'{name}_{level}')}"
                ).rows
                assert [[*map(near, row)] for row in found] == [[*map(near, row)] for row in expected], name
            compared += len(expected)
    assert compared > iterations(100, 50)


def test_bucket_has_totals_means_and_last_values(demo_lake: Path) -> None:
    with zlens.open(demo_lake) as session:
        for name, columns in averaged():
            if not has_rows(session, name):
                continue
            keys = ", ".join(map(quote, ["system", "source", *measures.load_measure(name).key]))
            for column in columns:
                value, ratio = quote(column.name), f'"{column.name}_sum" / nullif("{column.name}_weight", 0)'
                if aggregation.default_statistic(column) == "mean":
                    wrong = f"abs({value} - {ratio}) > 1e-9 * abs({value})"
                    wrong += f" OR ({value} IS NULL) <> ({ratio} IS NULL)"
                    assert session.sql(f"SELECT {keys} FROM {name}_hour WHERE {wrong}").rows == [], column
        hours = session.sql("SELECT DISTINCT bucket_end FROM load_hour ORDER BY 1").rows
        assert {hour.minute for (hour,) in hours} == {0}
        # Counters are added; states are the last ones.
        cycles = "FROM cpumf{} GROUP BY system, source, cpu_id HAVING sum(cycles) > 0 ORDER BY ALL"
        found = session.sql(f"SELECT system, cpu_id, sum(cycles) {cycles.format('_day')}").rows
        assert found == session.sql(f"SELECT system, cpu_id, sum(cycles) {cycles.format('')}").rows
        assert found
        kinds = "SELECT DISTINCT device, device_type FROM device{} ORDER BY ALL"
        assert session.sql(kinds.format("_day")).rows == session.sql(kinds.format("")).rows
        largest = "SELECT max({}) FROM {} WHERE {}"
        assert (
            session.sql(largest.format("active_max", "load_day", "true")).rows
            == session.sql(largest.format("active", "load", "flag IS NULL")).rows
        )
        columns = [name for name, *_ in session.sql("DESCRIBE load_day").rows]
        assert not [name for name in columns if str(name).endswith(("_p50", "_p95"))]


def by_hand(
    lake_path: Path, table: str, key: str, mean: str, total: str
) -> dict[tuple[str, dt.datetime], list[float]]:
    """Compute sum, weight and total by hour from intervals; flagged ones count in totals only."""
    sums: dict[tuple[str, dt.datetime], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    query = f"SELECT {key}, interval_end, seconds, flag, {mean}, {total} FROM {table} WHERE system = 'ZLDEMO'"
    for subject, end, seconds, flag, value, amount in rows(lake_path, query):
        middle = end - dt.timedelta(seconds=30)
        hour = middle.replace(minute=0, second=0, microsecond=0) + dt.timedelta(hours=1)
        row = sums[str(subject), hour]
        if flag is None and value is not None:
            row[0] += value * seconds
            row[1] += seconds
        row[2] += amount or 0.0
    return sums


@pytest.mark.parametrize(
    ("table", "key", "mean", "total"),
    quick_subset(
        1, [("guest", "userid", "cpu_pct", "cpu_s"), ("cpu", "cpu_id", "user_pct", "NULL")], several=True
    ),
)
def test_hours_equal_interval_sums(demo_lake: Path, table: str, key: str, mean: str, total: str) -> None:
    """The expected values are computed in this file, not by the SQL of the catalog."""
    expected = by_hand(demo_lake, table, key, mean, total)
    query = (
        f"SELECT {key}, bucket_end, {mean}, {mean}_sum, {mean}_weight, {total} "
        f"FROM {table}_hour WHERE system = 'ZLDEMO'"
    )
    found = {(str(subject), end): values for subject, end, *values in rows(demo_lake, query)}
    assert found.keys() == expected.keys()
    for place, (value, above, below, amount) in found.items():
        assert (above, below) == pytest.approx(tuple(expected[place][:2]), rel=1e-9)
        assert value == pytest.approx(above / below, rel=1e-9)
        assert amount is None if total == "NULL" else amount == pytest.approx(expected[place][2], rel=1e-9)


def test_buckets_are_those_of_every(demo_lake: Path) -> None:
    """Hours and sums equal those of --every 1h."""
    query = "SELECT system, bucket_end, round(busy_pct, 3) FROM load_hour ORDER BY ALL"
    every = "SELECT system, interval_end, round(busy_pct, 3) FROM load ORDER BY ALL"
    assert rows(demo_lake, query) == rows(demo_lake, every, Options(every_s=3600))


def test_time_options_select_buckets(demo_lake: Path) -> None:
    query = "SELECT DISTINCT bucket_end FROM cpu_hour ORDER BY 1"
    both = rows(demo_lake, query)
    options = Options(start=parse_time_spec(f"{both[0][0]:%Y-%m-%d %H:%M}"), utc=True)
    assert rows(demo_lake, query, options) == both[1:]
    assert rows(demo_lake, "SELECT DISTINCT system FROM load_hour", Options(systems=("ZLZ1",))) == [("ZLZ1",)]


# Recomputation and removal ----------------------------------------------------------------------


def days_of(lake_path: Path) -> dict[str, bytes]:
    """Return the files of all measures."""
    return {
        path.relative_to(lake_path).as_posix(): path.read_bytes()
        for path in sorted((lake_path / file_names.MEASURES).rglob("*"))
        if path.is_file()
    }


@pytest.mark.long
def test_machines_of_same_days_share_statements(
    tmp_path: Path, few_measures: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements are planned once; each machine's files equal those of a separate rollup."""
    lake_path = tmp_path / "lake"
    systems = ["FIRST", "SECOND", "THIRD"]
    lake.add(
        [write(tmp_path / f"{name}.data", recording(range(6), system=name)) for name in systems], lake_path
    )
    sessions: list[list[str]] = []
    of_days = rollup_builder.open_days

    def counted(into: LakeFolder, machine: LakeMachine, days: list[int]) -> Any:
        sessions.append(list(machine.systems))
        return of_days(into, machine, days)

    monkeypatch.setattr(rollup_builder, "open_days", counted)
    alone = tmp_path / "alone"
    shutil.copytree(lake_path, alone)
    with monkeypatch.context() as few:
        few.setattr(rollup_builder, "_DAYS", 1)
        apart = stores.rollup(alone)
    assert sessions == [[name] for name in systems]
    sessions.clear()
    together = stores.rollup(lake_path)
    assert sessions == [systems]
    assert [(one.systems, one.days, one.rows, one.bytes) for one in together] == [
        (one.systems, one.days, one.rows, one.bytes) for one in apart
    ]

    def files(folder: Path) -> dict[str, bytes]:
        found = (folder / "_measures").rglob("*.parquet")
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}

    assert files(lake_path) == files(alone) != {}
    assert lake.check(lake_path).faults == []


@pytest.fixture
def parts(tmp_path: Path, few_measures: None) -> list[str]:
    """Three consecutive files of a system from 10:00 UTC; local time is one hour ahead."""
    return [write(tmp_path / f"{at}.data", recording(range(at * 6, at * 6 + 6))) for at in range(3)]


@pytest.mark.long
def test_rollup_recomputes_only_changes(parts: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.add([parts[0], parts[2]], lake_path)
    [rolled] = stores.rollup(lake_path)
    assert (rolled.days, rolled.sealed) == (["2026-03-02"], [])
    before = days_of(lake_path)
    [again] = stores.rollup(lake_path)
    assert again.days == []
    assert days_of(lake_path) == before
    # The file between the two changes the differences of the third.
    lake.add([parts[1]], lake_path)
    assert stores.rollup(lake_path)[0].days == ["2026-03-02"]
    assert not before.keys() & days_of(lake_path).keys()
    assert lake.check(lake_path).faults == []
    whole = tmp_path / "whole"
    lake.add([*parts], whole)
    stores.rollup(whole)
    query = "SELECT * FROM cpu_hour ORDER BY ALL"
    assert rows(lake_path, query) == rows(whole, query)


def test_forget_raw_keeps_measures(parts: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.add(parts[:2], lake_path)
    with pytest.raises(LakeError, match=r"the measures of LAKETEST, 2026-03-02, are not in the lake"):
        lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
    stores.rollup(lake_path)
    hours = rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL")
    files = days_of(lake_path)
    # An age limit within the day.
    assert lake.forget_raw(lake_path, 99 * DAY_S + DAY_S // 2, now_us=LATER_US).gone == []
    version = LakeFolder(lake_path).load()
    tried = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US, dry_run=True)
    assert LakeFolder(lake_path).load() == version
    gone = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
    assert gone == tried
    assert gone.gone == [("LAKETEST", path) for path in parts[:2]]
    assert gone.rows > 0
    assert lake.check(lake_path).faults == []
    assert not [*lake_path.glob("d0r2/**/*.parquet")]
    assert days_of(lake_path) == files
    assert rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL") == hours
    assert rows(lake_path, "SELECT count(*) FROM cpu") == [(0,)]
    assert lake.contents(lake_path).measures_only == 2
    with zlens.open(lake_path) as session:
        assert without_raw_tables(session._core.sources) == {"LAKETEST"}
    # Known bytes are not imported again.
    assert [added.again for added in lake.add(parts[:2], lake_path)[0]] == [True, True]
    [rolled] = stores.rollup(lake_path)
    assert (rolled.days, rolled.sealed) == ([], [])


@pytest.mark.long
def test_outdated_measures_are_recomputed_or_marked(
    parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outdated(lake_path: Path) -> list[tuple[Any, ...]]:
        return rows(lake_path, "SELECT system, detail FROM problem WHERE kind = 'outdated'")

    kept, lake_path = tmp_path / "kept", tmp_path / "lake"
    with monkeypatch.context() as earlier:
        for module in ("lake.rollups", "lake.rollup_reader", "stores.rollup_builder"):
            earlier.setattr(f"zlens.{module}.RULES", RULES - 1)
        for folder in (kept, lake_path):
            lake.add(parts[:2], folder)
            stores.rollup(folder)
        lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
        assert outdated(kept) == []
    hours = rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL")
    for folder, again in ((kept, ["2026-03-02"]), (lake_path, [])):
        [(system, detail)] = outdated(folder)
        assert system == "LAKETEST"
        assert detail.startswith(
            "measures by hour and day of 1 day from 2026-03-02 to 2026-03-02 are by earlier rules"
        )
        [rolled] = stores.rollup(folder)
        assert rolled.days == again
    assert outdated(kept) == []
    # No raw data is left to compute them from.
    assert len(outdated(lake_path)) == 1
    assert rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL") == hours
    assert hours


@pytest.mark.long
def test_data_after_removal_keeps_differences(parts: list[str], tmp_path: Path) -> None:
    kept, lake_path = tmp_path / "kept", tmp_path / "lake"
    for folder in (kept, lake_path):
        lake.add(parts[:2], folder)
        stores.rollup(folder)
    lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
    for folder in (kept, lake_path):
        lake.add(parts[2:], folder)
    after = f"SELECT * EXCLUDE (file) FROM d0r2 WHERE epoch_us(interval_end) > {end_us(11)} ORDER BY ALL"
    assert rows(lake_path, after) == rows(kept, after)
    assert rows(lake_path, after)
    assert lake.check(lake_path).faults == []
    # The day is sealed: it is not computed from part of its data.
    hours = rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL")
    [rolled] = stores.rollup(lake_path)
    assert (rolled.days, rolled.sealed) == ([], ["2026-03-02"])
    assert rows(lake_path, "SELECT * FROM cpu_hour ORDER BY ALL") == hours
    forgotten = lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
    assert (forgotten.gone, forgotten.unmeasured) == ([], [("LAKETEST", parts[2])])


@pytest.mark.long
def test_measures_are_removed_with_data(parts: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.add(parts[:2], lake_path)
    stores.rollup(lake_path)
    gc.collect()
    lake.forget(lake_path, Options(end=parse_time_spec("2026-03-02 10:07"), utc=True))
    assert days_of(lake_path) == {}
    assert lake.check(lake_path).faults == []
    stores.rollup(lake_path)
    alone = tmp_path / "alone"
    lake.add(parts[1:2], alone)
    stores.rollup(alone)
    assert differences(tables(lake_path), tables(alone)) == []
    gc.collect()
    lake.forget_raw(lake_path, DAY_S, even_if_lost=[UNMEASURED], now_us=LATER_US)
    lake.forget(lake_path, Options(systems=("LAKETEST",)))
    assert days_of(lake_path) == {}
    assert lake.check(lake_path).faults == []


@pytest.mark.long
def test_day_ends_in_local_time(tmp_path: Path, few_measures: None) -> None:
    """LAKETEST's clock is one hour ahead of UTC, so its day ends at 23:00 UTC."""
    first = write(tmp_path / "0.data", recording(range(13 * 60 - 3, 13 * 60 + 3)))
    lake_path = tmp_path / "lake"
    lake.add([first], lake_path)
    [rolled] = stores.rollup(lake_path)
    assert rolled.days == ["2026-03-02", "2026-03-03"]
    ends = [
        end.astimezone(dt.UTC).strftime("%d %H:%M")
        for (end,) in rows(lake_path, "SELECT DISTINCT bucket_end FROM cpu_day ORDER BY 1")
    ]
    assert ends == ["02 23:00", "03 23:00"]
    total = "sum(seconds)"
    assert rows(lake_path, f"SELECT {total} FROM cpu_day WHERE cpu_id = 0") == rows(
        lake_path, f"SELECT {total} FROM cpu WHERE cpu_id = 0"
    )


def test_damaged_rollup_is_reported(parts: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.add(parts[:1], lake_path)
    stores.rollup(lake_path)
    path = next((lake_path / file_names.MEASURES / "cpu_hour").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    assert [(fault.kind, fault.path) for fault in lake.check(lake_path).faults] == [("changed", str(path))]
    with pytest.raises(InputError, match="this is not the file that the manifest lists"):
        rows(lake_path, "FROM cpu_hour")
    document = next((lake_path / file_names.MEASURES / "_days").rglob("*.json"))
    document.write_bytes(document.read_bytes() + b" ")
    assert "changed" in {fault.kind for fault in lake.check(lake_path).faults}
    with pytest.raises(InputError, match="this is not the file that the manifest lists"):
        rows(lake_path, "FROM cpu_hour")


def test_names_of_columns_are_unique() -> None:
    for name in measures.measure_names():
        for level in bucket_sql.LEVELS:
            listed = [
                item.column.name for item in bucket_sql.bucket_columns(measures.load_measure(name), level)
            ]
            assert len(listed) == len(set(listed)), name
            assert f"{name}_{level}" not in measures.measure_names()


@pytest.mark.long
def test_rollup_command(parts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake_path = str(tmp_path / "lake")

    def run(*words: str) -> tuple[int, str, str]:
        status = cli.main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    run("import", *parts, "--lake", lake_path)
    status, out, err = run("lake", "forget", lake_path, "--raw", "--older-than", "1d")
    assert (status, out) == (2, "")
    assert f"zlens lake rollup {lake_path} computes them" in err
    status, out, _ = run("lake", "rollup", lake_path)
    assert status == 0
    assert out.startswith("LAKETEST: 2026-03-02: 1 day, ")
    assert run("lake", "rollup", lake_path, "--system", "LAKETEST")[1] == "LAKETEST: up to date\n"
    assert "1 day of measures by hour and day" in run("lake", "show", lake_path)[1]
    status, out, _ = run("lake", "forget", lake_path, "--raw", "--older-than", "1d", "--dry-run")
    assert f"would remove LAKETEST of {parts[0]}\n" in out
    # Three processors in 18 intervals, one of them offline in two; the first interval has no difference.
    assert "kept as measures: LAKETEST, 2026-03-02: d0r2, 52 rows: 17 intervals, in cpu, load\n" in out
    status, out, err = run("lake", "forget", lake_path, "--raw", "--older-than", "1d")
    assert (status, out) == (2, "")
    assert "--even-if-lost unmeasured" in err
    remove = ["--raw", "--older-than", "1d", "--even-if-lost", "unmeasured"]
    status, out, _ = run("lake", "forget", lake_path, *remove)
    assert status == 0
    assert f"\nremoved LAKETEST of {parts[0]}\n" in out
    assert "3 inputs without raw tables" in run("lake", "show", lake_path)[1]
    status, out, _ = run("info", lake_path)
    assert out.count("removed; measures by hour and day remain") == 3
    _, out, _ = run("report", "prclog", lake_path)
    assert "Raw tables of LAKETEST are removed" in " ".join(out.split())
    assert "load_hour" in out
    for words in (["--raw"], ["--older-than", "1d"], ["--raw", "--older-than", "1d", "--to", "2026-01-01"]):
        status, _, err = run("lake", "forget", lake_path, *words)
        assert status == 2
        assert "--raw requires --older-than" in err
    status, _, err = run("lake", "forget", lake_path, "--system", "LAKETEST", "--even-if-lost", "unmeasured")
    assert status == 2
    assert "--even-if-lost belongs to --raw" in err


def test_invalid_rollup_calls(tmp_path: Path, parts: list[str]) -> None:
    with pytest.raises(InputError, match="this is not a lake"):
        stores.rollup(tmp_path)
    lake.add(parts[:1], tmp_path / "lake")
    with pytest.raises(QueryError, match="there is no system X in the lake"):
        stores.rollup(tmp_path / "lake", systems=["X"])
    with pytest.raises(QueryError, match="there is no system X in the lake"):
        lake.forget_raw(tmp_path / "lake", DAY_S, systems=["X"])


@pytest.mark.long
def test_gap_row_belongs_to_day_of_its_middle(tmp_path: Path, few_measures: None) -> None:
    """The use between two recordings counts in the totals, as over intervals."""
    spans = (range(4), range(1300, 1304))
    files = [write(tmp_path / f"{at}.data", recording(span)) for at, span in enumerate(spans)]
    lake_path = tmp_path / "lake"
    lake.add(files[:1], lake_path)
    stores.rollup(lake_path)
    lake.add(files[1:], lake_path)
    assert stores.rollup(lake_path)[0].days == ["2026-03-02", "2026-03-03"]
    query = "SELECT userid, round(sum(cpu_s), 6) FROM {} GROUP BY 1 ORDER BY 1"
    assert rows(lake_path, query.format("guest_day")) == rows(lake_path, query.format("guest"))
    assert rows(lake_path, "SELECT count(*) FROM guest WHERE seconds > 70000") != [(0,)]
