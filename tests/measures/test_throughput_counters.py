"""Tests of the cost of a transaction if only counters cover the processors: SMF 113 or Linux."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from msgspec.structs import replace

import fakes
import zlens
from iterations import draws
from smf113_rows import opened, row, values
from zlens import demo
from zlens.inputs.options import Options, parse_zone

FIRST_S = fakes.START_US // 10**6 - 60
CYCLES, INSTRUCTIONS = 4e9, 2e9


def achieved(tmp_path: Path, rows: list[str], heading: str = "start,end,transactions,response") -> Options:
    path = tmp_path / "achieved.csv"
    path.write_text("\n".join([heading, *rows]))
    return Options(throughput=str(path))


def samples(minutes: list[float], *, cpus: int = 2) -> list[tuple[object, ...]]:
    """Return a sample per processor and minute, with cycles times the minute's factor."""
    return [
        row({"B0": CYCLES * n, "B1": INSTRUCTIONS * n}, minute=k, generation="z13", cpu_id=cpu, cpsp=5000)
        for k, n in enumerate(minutes)
        for cpu in range(cpus)
    ]


def test_instructions_per_transaction_without_busy(tmp_path: Path) -> None:
    options = achieved(tmp_path, [f"{FIRST_S},{FIRST_S + 60},4000,0.2"])
    columns = "etr, itr, busy_pct, cpu_s, response_s, instructions, cpi, ghz, counted_cpu_s"
    [found] = values(opened(samples([1.0, 1.0]), options), columns, "per_transaction")
    assert found["etr"] == pytest.approx(4000 / 60)
    assert found["itr"] is found["busy_pct"] is found["cpu_s"] is None
    assert found["response_s"] == pytest.approx(0.2)
    assert found["instructions"] == pytest.approx(2 * INSTRUCTIONS / 4000)
    assert (found["cpi"], found["ghz"]) == (pytest.approx(2), pytest.approx(5))
    # Instructions per transaction x CPI / GHz.
    assert found["counted_cpu_s"] == pytest.approx(2 * CYCLES / 4000 / 5e9)


def test_partly_covered_interval_has_no_cost(tmp_path: Path) -> None:
    rows = [f"{FIRST_S},{FIRST_S + 53},4000,0.2", f"{FIRST_S + 60},{FIRST_S + 120},2000,0.2"]
    found = values(
        opened(samples([1.0, 1.0]), achieved(tmp_path, rows)), "etr, instructions", "per_transaction"
    )
    assert found == [
        {"etr": pytest.approx(2000 / 60), "instructions": pytest.approx(2 * INSTRUCTIONS / 2000)}
    ]


def test_system_with_load_has_one_row(tmp_path: Path) -> None:
    options = achieved(tmp_path, [f"{FIRST_S},{FIRST_S + 60},4000,0.2"])
    beside = fakes.FakeSource(
        [fakes.system(known=fakes.intervals(1))], [fakes.processors("SYSA", [[0.5, 0.5]])]
    )
    session = opened(samples([1.0]), options, [beside])
    [found] = values(session, "source, busy_pct, instructions", "per_transaction")
    assert (found["source"], found["instructions"]) == ("zvm-monitor", pytest.approx(2 * INSTRUCTIONS / 4000))
    assert found["busy_pct"] is not None


@pytest.mark.parametrize(
    ("every_s", "minutes"), [(None, [15, 15, 15, 15]), (900, [15, 15, 15, 15]), (3600, [30, 30]), (300, [])]
)
def test_minute_counters_with_quarter_hour_processors(
    demo_folder: Path, tmp_path: Path, every_s: int | None, minutes: list[int]
) -> None:
    """SMF 113 every minute, SMF 70 every 15: the load has the throughput of its own intervals."""
    start = dt.datetime(2010, 3, 9, 7, 30, tzinfo=dt.UTC)
    counts = [100 + 7 * (minute % 13) for minute in range(60)]
    rows = [
        f"{start + dt.timedelta(minutes=minute)},{start + dt.timedelta(minutes=minute + 1)},{count},0.1"
        for minute, count in enumerate(counts)
    ]
    options = replace(achieved(tmp_path, rows), tz=parse_zone(demo.ZONE), every_s=every_s)
    with zlens.open(demo_folder / demo.SMF_NAME, options=options) as session:
        found = session.sql("SELECT etr, itr, busy_pct FROM load ORDER BY interval_end").rows
        # Without an interval of the load, those of the counters remain.
        costs = session.sql("SELECT etr, instructions FROM per_transaction").rows
    assert len(costs) == (len(minutes) or 12)
    assert all(instructions for _, instructions in costs)
    first = 0
    for length, (etr, itr, busy) in zip(minutes, found, strict=True):
        assert etr == pytest.approx(sum(counts[first : first + length]) / 60 / length)
        assert itr == pytest.approx(100 * etr / busy)
        first += length


@pytest.mark.parametrize("off_s", [0, 120])
def test_clock_offset_from_cycles(tmp_path: Path, off_s: int) -> None:
    chance = draws(4)
    minutes = [0.2 + chance.random() for _ in range(120)]
    starts = [FIRST_S + 60 * k - off_s for k in range(120)]
    rows = [f"{start},{start + 60},{6000 * n:.2f},1" for start, n in zip(starts, minutes, strict=True)]
    session = opened(samples(minutes, cpus=1), achieved(tmp_path, rows))
    [found] = session._core.throughput_offsets()
    assert (found.offset_s, found.sure) == (pytest.approx(off_s, abs=6), "sure")
    assert "rate and cycles of SYSA" in found.describe()


def test_perf_on_linux(tmp_path: Path) -> None:
    """perf stat -I prints the local time of its start; the user sets the zone."""
    lines = ["# started on Wed Mar 26 10:34:00 2025\n\n"]
    for step in (1, 2, 3):
        for event, value in (("CPU_CYCLES", CYCLES), ("INSTRUCTIONS", INSTRUCTIONS)):
            lines.append(f"{60 * step}.000000000,{value * step:.0f},,cpum_cf/{event}/,60000000000,100.00,,\n")
    (tmp_path / "counts.csv").write_text("".join(lines))
    options = achieved(tmp_path, [f"2025-03-26 10:{35 + k},{600 * (k + 1)}" for k in range(3)], "time,count")
    options = Options(throughput=options.throughput, tz=dt.timezone(dt.timedelta(hours=1)))
    with zlens.open(tmp_path / "counts.csv", options=options) as session:
        found = values(session, "etr, instructions, cpi", "per_transaction")
        text = session.report("throughput")
    assert [one["etr"] for one in found] == pytest.approx([10, 20, 30])
    assert [one["instructions"] for one in found] == pytest.approx([INSTRUCTIONS / 600] * 3)
    assert "10:36:00 linux-counters     20.00" in text
