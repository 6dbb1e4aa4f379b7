"""Tests of rows by time in every report: --every, --by-time."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import zlens
from iterations import quick_subset
from zlens.cli import main
from zlens.errors import QueryError
from zlens.inputs.options import Options, TimeSpec

NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
#: Reports that had rows of the window only.
WINDOW = ("device", "dispwait", "user", "ustat", "ctlunit", "pciact")


def tables(text: str) -> list[list[dict[str, str]]]:
    return [list(csv.DictReader(io.StringIO(part))) for part in text.split("\n\n")]


def values(row: dict[str, str]) -> list[float | str]:
    """Return the cells of the columns of the report, numbers as such."""
    cells = [cell for name, cell in row.items() if name not in ("row", "interval_end", "flag")]
    return [float(cell) if NUMBER.fullmatch(cell) else cell for cell in cells]


def near(row: dict[str, str]) -> list[object]:
    return [pytest.approx(value) if isinstance(value, float) else value for value in values(row)]


def spec(time: datetime) -> TimeSpec:
    return TimeSpec(time.date(), time.time(), UTC)


@pytest.mark.parametrize("report", quick_subset(2, WINDOW))
def test_rows_of_bucket_are_those_of_its_window(report: str, sim_file: Path) -> None:
    """The rows of a bucket are those of the report if only the times of the bucket are selected."""
    half = timedelta(minutes=30)
    with zlens.open(sim_file, options=Options(every_s=1800)) as session:
        by_time = tables(session.report(report, "csv"))
    ends = sorted({row["interval_end"] for table in by_time for row in table if row["row"] == "interval"})
    assert len(ends) == 2
    for end in map(datetime.fromisoformat, ends):
        with zlens.open(sim_file, options=Options(start=spec(end - half), end=spec(end))) as session:
            window = tables(session.report(report, "csv"))
        for shown, alone in zip(by_time, window, strict=True):
            bucket = [row for row in shown if row["row"] == "interval"]
            bucket = [row for row in bucket if datetime.fromisoformat(row["interval_end"]) == end]
            # BATCH1 logs off: its dispatch wait after the last sample is unknown, and so is the sum.
            gone = "BATCH1" if report == "dispwait" and end == datetime.fromisoformat(ends[-1]) else None
            expected = [row for row in alone if row["row"] == "row" and row.get("userid", "") != gone]
            assert list(map(values, bucket)) == list(map(near, expected))


def test_hpalias_rows_are_those_of_buckets(sim_file: Path) -> None:
    """Two half-hours, each with two uses of two pools."""
    with zlens.open(sim_file, options=Options(every_s=1800)) as session:
        (rows,) = tables(session.report("hpalias", "csv"))
        means = session.sql(
            "SELECT in_use FROM alias_pool WHERE io_type = 'MDISK' ORDER BY interval_end, pool"
        ).rows
    assert {row["iso_utc"] for row in rows} == {"2024-05-14,08:00:00", "2024-05-14,08:30:00"}
    assert [float(row["in_use"]) for row in rows if row["io_type"] == "MDISK"] == [
        pytest.approx(mean) for (mean,) in means
    ]


@pytest.mark.parametrize(
    ("file", "report", "column"),
    [("sim", "smtmet", "sampled_s"), ("zldemo", "partition", "total_s"), ("smf", "workload", "ended")],
)
def test_means_are_per_bucket_shown(file: str, report: str, column: str, demo_files: list[Path]) -> None:
    """>>Mean>> of seconds and counts is the mean of the rows below it, also with --every."""
    (path,) = [path for path in demo_files if file in path.name and path.suffix != ".xml"]
    for every_s in (None, 1800):
        with zlens.open(path, options=Options(every_s=every_s)) as session:
            found = [table for table in tables(session.report(report, "csv")) if column in table[0]]
        rows = found[0]
        subject = [name for name in rows[0] if name in ("cpu_type", "partition", "class", "period", "kind")]
        assert subject
        means = [row for row in rows if row["row"] == "mean"]
        assert means
        for mean in means:
            own = [row for row in rows if row["row"] == "interval" and not row["flag"]]
            own = [row for row in own if all(row[name] == mean[name] for name in subject)]
            cells = [float(row[column]) for row in own if row[column]]
            assert float(mean[column]) == pytest.approx(sum(cells) / len(cells))


@pytest.mark.parametrize(
    ("report", "reason"),
    [("uconf", "it shows the latest definition"), ("jobs", "its rows are jobs"), ("mondata", "it counts")],
)
def test_report_without_intervals_gives_reason(report: str, reason: str, sim_file: Path) -> None:
    by_quarter = Options(every_s=900)
    wanted = f"{report} has no rows of intervals: {reason}"
    with zlens.open(sim_file, options=by_quarter) as session, pytest.raises(QueryError, match=wanted):
        session.report(report)
    with zlens.open(sim_file) as session:
        with pytest.raises(QueryError, match="leave `by_time`"):
            session.report(report, by_time=["X"])
        session.report(report)


def test_by_time_shows_subject_in_every_interval(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sixty intervals of a guest, each as in the measure, below its row of the window."""
    command = ["report", "user", str(sim_file), "--by-time", "LINUX01", "--format", "csv"]
    assert main(command) == 0
    rows = tables(capsys.readouterr().out)[0]
    assert [row["row"] for row in rows] == ["row", "peak"] + ["interval"] * 60
    assert {row["userid"] for row in rows} == {"LINUX01"}
    with zlens.open(sim_file) as session:
        used = session.sql("SELECT cpu_pct FROM guest WHERE userid = 'LINUX01' ORDER BY interval_end").rows
        pool = tables(session.report("hpalias", "csv", by_time=["0600"]))[0]
        text = session.report("device", by_time=["0F00"])
    assert [float(row["cpu_pct"]) for row in rows[2:]] == [
        pytest.approx(cpu) for (cpu,) in used if cpu is not None
    ]
    assert {row["ssid"] for row in pool} == {"0600"}
    assert "\n09:31:00 " in text
    assert main(["report", "user", str(sim_file), "--by-time", "NOBODY"]) == 2
    assert "user has no rows for 'NOBODY'" in capsys.readouterr().err


def test_report_without_interval_rows_gets_them(sim_file: Path) -> None:
    """FCX100 has the rows of FCX304, whose processors are the same."""
    with zlens.open(sim_file) as session:
        (cpu, _), (log,) = (tables(session.report(name, "csv", by_time=["0"])) for name in ("cpu", "prclog"))
    busy = [(row["interval_end"], row["busy_pct"]) for row in cpu if row["row"] == "interval"]
    assert busy == [(row["interval_end"], row["busy_pct"]) for row in log if row["row"] == "interval"]
    assert len(busy) == 60


@pytest.mark.parametrize(
    ("report", "column"), [("prclog", "busy_pct"), ("user", "cpu_pct"), ("smtmet", "core_busy_pct")]
)
def test_peak_is_the_interval_with_the_highest_value(report: str, column: str, sim_file: Path) -> None:
    """>>Peak>> of each subject is one of its rows, with its time; no other row is higher."""
    with zlens.open(sim_file) as session:
        by_time = ["*"] if report == "user" else []
        text = session.report(report, "csv", by_time=by_time)
    rows = next(table for table in tables(text) if column in table[0])
    subject = [name for name in rows[0] if name in ("cpu_id", "core_id", "userid")]
    peaks = [row for row in rows if row["row"] == "peak"]
    assert len(peaks) > 4
    for peak in peaks:
        own = [row for row in rows if row["row"] == "interval" and row[subject[0]] == peak[subject[0]]]
        usable = [float(row[column]) for row in own if row[column] and not row["flag"]]
        assert float(peak[column]) == max(usable)
        assert {**peak, "row": "interval"} in own


def test_time_of_peak_is_at_the_end_of_its_row(sim_file: Path) -> None:
    """The text has the local time of the peak, also on a folded report."""
    with zlens.open(sim_file, options=Options(every_s=1800)) as session:
        wide, narrow = session.report("prclog", width=None), session.report("prclog", width=80)
        csv_rows = tables(session.report("prclog", "csv"))[0]
    peaks = [line for line in wide.splitlines() if line.startswith(">>Peak>>")]
    assert len(peaks) == len([row for row in csv_rows if row["row"] == "peak"]) == 12
    assert {line[-9:] for line in peaks} == {" 10:30:00"}
    folded = [line for line in narrow.splitlines() if line.startswith(">>Peak>>")]
    assert folded
    assert {line[-9:] for line in folded} == {" 10:30:00"}
    assert max(map(len, folded)) <= 80


def test_named_rows_are_of_whole_window(demo_folder: Path) -> None:
    """The name of the row stands once, below the names of guests."""
    with zlens.open(demo_folder / "zldemo.monwrite", options=Options(every_s=1800)) as session:
        lines = session.report("user").splitlines()
        page = session.report("user", "html")
    [heading] = [line for line in lines if line.startswith("End Time Userid")]
    for name in (">System<", "not attributed"):
        [row] = [line for line in lines if name in line and not line.startswith("*")]
        assert row.startswith(f">>Whole> {name} ")
        assert row.index(name) == heading.index("Userid")
        assert len(row) == len(next(line for line in lines if line.startswith(">>Whole> LNXBAT01")))
    assert "<td>not attributed</td>" not in page.replace('<td class="m"></td><td>not attributed</td>', "", 1)
