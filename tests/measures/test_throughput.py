"""Tests of the user's throughput: joined with a system by time overlap, summed, moved by a clock offset."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest

import fakes
import monwrite_builder as monwrite
import zlens
from iterations import draws, quick_subset
from zlens.api import Session
from zlens.errors import InputError
from zlens.inputs.options import Options

FIRST_S = fakes.START_US // 10**6 - 60


def written(tmp_path: Path, rows: list[str], heading: str = "start,end,transactions,response (ms)") -> str:
    path = tmp_path / "achieved.csv"
    path.write_text("\n".join([heading, *rows]))
    return str(path)


def opened(path: str, shares: list[float], *, facts: dict[str, Any] | None = None, **options: Any) -> Session:
    info = fakes.system(known=fakes.intervals(len(shares)), **(facts or {}))
    table = fakes.processors("SYSA", [[share, share] for share in shares])
    return fakes.session([fakes.FakeSource([info], [table])], Options(throughput=path, **options))


def column(session: Session, name: str, table: str = "load") -> list[Any]:
    return [value for (value,) in session.sql(f"SELECT {name} FROM {table} ORDER BY interval_end").rows]


def test_throughput_rows_are_divided_by_overlap(tmp_path: Path) -> None:
    # One row over minutes 0 to 2.5, one from there to the end of minute 5.
    rows = [f"{FIRST_S},{FIRST_S + 150},1500,100", f"{FIRST_S + 150},{FIRST_S + 360},420,400"]
    with opened(written(tmp_path, rows), [0.3] * 7) as session:
        assert column(session, "transactions", "throughput") == pytest.approx([600, 600, 360, 120, 120, 120])
        assert column(session, "etr", "throughput") == pytest.approx([10, 10, 6, 2, 2, 2])
        # Response times are weighted by their transactions.
        assert column(session, "response_s", "throughput")[2] == pytest.approx((300 * 0.1 + 60 * 0.4) / 360)
        etr = column(session, "etr")
        assert etr[:6] == pytest.approx([10, 10, 6, 2, 2, 2])
        assert etr[6] is None
        assert column(session, "itr")[0] == pytest.approx(10 / 0.35)
        assert sum(column(session, "transactions", "throughput")) == pytest.approx(1920)


def test_many_rows_in_one_interval_are_added(tmp_path: Path) -> None:
    rows = [f"{FIRST_S + 10 * k},{FIRST_S + 10 * k + 10},{k},{k}" for k in range(12)]
    with opened(written(tmp_path, rows), [0.3, 0.3]) as session:
        assert column(session, "transactions", "throughput") == pytest.approx([15, 51])
        squares = sum(k * k for k in range(6)) / 15 / 1000
        assert column(session, "response_s", "throughput")[0] == pytest.approx(squares)


def test_partly_covered_interval_has_no_itr(tmp_path: Path) -> None:
    rows = [f"{FIRST_S},{FIRST_S + 53},530,1", f"{FIRST_S + 60},{FIRST_S + 115},550,1"]
    with opened(written(tmp_path, rows), [0.3, 0.3]) as session:
        assert column(session, "covered_pct", "throughput") == pytest.approx([100 * 53 / 60, 100 * 55 / 60])
        assert column(session, "etr", "throughput") == pytest.approx([10, 10])
        assert column(session, "etr") == [None, pytest.approx(10)]
        assert column(session, "etr", "per_transaction") == [None, pytest.approx(10)]


def test_empty_throughput_cells_are_null(tmp_path: Path) -> None:
    rows = [f"{FIRST_S},{FIRST_S + 60},,5", f"{FIRST_S + 60},{FIRST_S + 120},60,-"]
    with opened(written(tmp_path, rows), [0.3, 0.3]) as session:
        assert column(session, "etr") == [None, 1.0]
        assert column(session, "response_s", "throughput") == [None]


def test_buckets_of_every_sum_transactions_and_time(tmp_path: Path) -> None:
    # START_US is 22:14: the first bucket of five minutes ends at 22:15 and is short, the second is complete.
    rows = [f"{FIRST_S + 60 * k},{FIRST_S + 60 * k + 60},{60 * (k + 1)},{k}" for k in range(12)]
    shares = [0.1 + 0.05 * k for k in range(12)]
    with opened(written(tmp_path, rows), shares, every_s=300) as session:
        found = session.sql("SELECT interval_end, seconds, etr, busy_pct, itr FROM load ORDER BY 1").rows
        whole = next(row for row in found if row[0] == dt.datetime(2023, 11, 14, 22, 20, tzinfo=dt.UTC))
        assert whole[1:4] == (300.0, pytest.approx(5.0), pytest.approx(100 * (sum(shares[2:7]) / 5 + 0.05)))
        assert whole[4] == pytest.approx(100 * whole[2] / whole[3])
        tx = session.sql("SELECT interval_end, transactions, response_s FROM throughput ORDER BY 1").rows
        bucket = next(row for row in tx if row[0] == whole[0])
        assert bucket[1] == pytest.approx(sum(60 * (k + 1) for k in range(2, 7)))
        weighted = sum(60 * (k + 1) * k for k in range(2, 7)) / bucket[1] / 1000
        assert bucket[2] == pytest.approx(weighted)
        assert len(column(session, "cpu_s", "per_transaction")) == len(found)


def test_workloads_are_rows_and_added_in_load(tmp_path: Path) -> None:
    rows = [f"{FIRST_S},{FIRST_S + 60},{w},{n}" for w, n in (("web", 600), ("batch", 60))]
    rows.append(f"{FIRST_S + 60},{FIRST_S + 120},web,120")
    path = written(tmp_path, rows, "start,end,workload,transactions")
    with opened(path, [0.3, 0.3]) as session:
        found = session.sql("SELECT workload, etr FROM throughput ORDER BY interval_end, workload").rows
        assert found == [("batch", 1.0), ("web", 10.0), ("web", 2.0)]
        assert column(session, "etr") == pytest.approx([11, 2])
        printed = session.report("throughput").partition("By Workload")[2].splitlines()
    lines = [line.split()[1:] for line in printed if line[2:3] == ":"]
    assert [each[1:3] for each in lines] == [["batch", "1.00"], ["web", "10.00"], ["web", "2.00"]]


def test_throughput_times_default_to_system_zone(tmp_path: Path) -> None:
    local = dt.datetime(2023, 11, 14, 17, 13)  # 22:13 UTC
    rows = [f"{local + dt.timedelta(minutes=k + 1)},{60 * k}" for k in range(3)]
    path = written(tmp_path, rows, "time,count")
    with opened(path, [0.3] * 3, facts={"utc_offset_s": -5 * 3600}) as session:
        assert column(session, "etr") == pytest.approx([0, 1, 2])
        assert "local time of SYSA (UTC-05:00)" in " ".join(session._core.throughput_notes())
    zone = dt.timezone(dt.timedelta(hours=-5))
    with opened(path, [0.3] * 3, tz=zone) as session:
        assert column(session, "etr") == pytest.approx([0, 1, 2])
    with opened(path, [0.3] * 3, throughput_offset_s=5 * 3600.0) as session:
        assert column(session, "etr") == pytest.approx([0, 1, 2])
        assert set(column(session, "clock_offset_s", "throughput")) == {18000.0}


def test_unknown_zone_prevents_throughput_join(tmp_path: Path) -> None:
    path = written(tmp_path, [f"{FIRST_S},{FIRST_S + 60},5,1"])
    with opened(path, [0.3], facts={"local_time": True}) as session:
        assert column(session, "etr") == [None]
        assert "unknown zone" in " ".join(session._core.throughput_notes())


@pytest.mark.parametrize(
    ("system", "said"),
    [("", "line 2 does not name its system, and the input has 2"), ("OTHER", "contains OTHER")],
)
def test_throughput_needs_one_system(tmp_path: Path, system: str, said: str) -> None:
    files = []
    for name in ("ONE", "TWO"):
        config = monwrite.configuration(monwrite.START_US, {**monwrite.CONFIG, "MTRSYS_SYSTMID": name})
        files.append(monwrite.write(tmp_path / f"{name}.data", [config, *monwrite.minutes(3)]))
    path = written(tmp_path, [f"{FIRST_S},{FIRST_S + 60},{system},5"], "start,end,system,count")
    with pytest.raises(InputError) as raised:
        zlens.open(files, options=Options(throughput=path))
    assert said in str(raised.value)
    # If one system is selected, the file needs no system name.
    unnamed = written(tmp_path, [f"{FIRST_S},{FIRST_S + 60},5"], "start,end,count")
    with zlens.open(files, options=Options(throughput=unnamed, systems=("ONE",))) as session:
        assert session._core.throughput is not None


# The clock ----------------------------------------------------------------------------------------


def drifting(tmp_path: Path, minutes: int, off_s: int, noise: float) -> tuple[str, list[float]]:
    """Write rates that follow a varying utilization by a clock `off_s` slow."""
    chance = draws(11)
    shares = [0.1 + 0.6 * chance.random() for _ in range(minutes)]
    rows = []
    for k, share in enumerate(shares):
        start = FIRST_S + 60 * k - off_s
        rows.append(f"{start},{start + 60},{6000 * share * (1 + noise * (chance.random() - 0.5)):.3f},1")
    return written(tmp_path, rows), shares


@pytest.mark.parametrize("off_s", quick_subset(2, [0, -180, 60, 3600, 90]))
def test_clock_offset_maximizes_correlation(tmp_path: Path, off_s: int) -> None:
    path, shares = drifting(tmp_path, 240, off_s, 0.2)
    with opened(path, shares) as session:
        [found] = session._core.throughput_offsets()
        assert found.offset_s == pytest.approx(off_s, abs=6)
        assert found.sure == "sure"
        assert found.correlation > 0.9
        said = session._core.throughput_notes(suggested=True)[-1]
    assert ("clocks surely agree" in said) == (off_s == 0)
    assert (f"throughput offset {found.offset_s:g}" in said) == (off_s != 0)
    with opened(path, shares, throughput_offset_s=found.offset_s) as session:
        assert "clocks surely agree" in session._core.throughput_notes(suggested=True)[-1]


def test_periodic_or_noisy_throughput_has_no_offset(tmp_path: Path) -> None:
    shares = [0.1 + 0.1 * (k % 5) for k in range(120)]
    rows = [f"{FIRST_S + 60 * k},{FIRST_S + 60 * k + 60},{600 * s},1" for k, s in enumerate(shares)]
    with opened(written(tmp_path, rows), shares) as session:
        assert [one.sure for one in session._core.throughput_offsets()] == ["unknown"]
        assert "cannot be determined" in session._core.throughput_notes(suggested=True)[-1]
    # Some noise correlates by chance.
    chance = random.Random(3)
    rows = [f"{FIRST_S + 60 * k},{FIRST_S + 60 * k + 60},{chance.random()},1" for k in range(120)]
    wandering = [0.1 + 0.5 * chance.random() for _ in range(120)]
    with opened(written(tmp_path, rows), wandering) as session:
        assert [one.sure for one in session._core.throughput_offsets()] == ["unknown"]


def test_short_or_steady_throughput_has_no_offset(tmp_path: Path) -> None:
    path, shares = drifting(tmp_path, 5, 0, 0.0)
    with opened(path, shares) as session:
        assert session._core.throughput_offsets() == []
    steady = written(tmp_path, [f"{FIRST_S + 60 * k},{FIRST_S + 60 * k + 60},60,1" for k in range(60)])
    with opened(steady, [0.3] * 60) as session:
        assert session._core.throughput_offsets() == []
