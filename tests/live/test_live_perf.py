"""Tests of `perf stat -I` as a stream, with synthetic output in the formats of the perf-stat manual page."""

from __future__ import annotations

import datetime as dt
import os
import socket
import threading
from pathlib import Path

import pytest
from replay import Pieces, differences, play

import iterations
from zlens import lake
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.live.feeds import ReaderThreadFeed
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.readers.linux.streaming import FORM
from zlens.session.session import CoreSession

FORMS = ("text", "csv", "json")
EVENTS = ("CPU_CYCLES", "INSTRUCTIONS", "L1I_DIR_WRITES", "L1D_DIR_WRITES")
STARTED = "# started on Thu Nov 26 15:00:00 2026\n"
COLUMNS = "#           time             counts unit events\n"


def line(form: str, since: float, cpu: int, event: str, value: int) -> str:
    if form == "text":
        return f"{since:15.9f} CPU{cpu:<4d} {value:18,d}      {event}\n"
    if form == "csv":
        return f"{since:.9f},CPU{cpu},{value},,{event},999000000,100.00,,\n"
    return (
        f'{{"interval" : {since:.9f}, "cpu" : "{cpu}", "counter-value" : "{value}.000000", "unit" : "", '
        f'"event" : "{event}", "event-runtime" : 999000000, "pcnt-running" : 100.00}}\n'
    )


def printed(form: str, intervals: range) -> str:
    """Return lines of two processors, with intervals of just over a second."""
    lines = [COLUMNS] if form == "text" else []
    for number in intervals:
        since = (number + 1) * 1.000123457
        for cpu in (0, 1):
            lines += [
                line(form, since, cpu, event, 1_000_000 * (number + 1) * (at + 1) + cpu)
                for at, event in enumerate(EVENTS)
            ]
    return "".join(lines)


def chunk_ends(path: Path, size: int) -> list[int]:
    end = path.stat().st_size
    return [*range(size, end, size), end]


@pytest.mark.long
@pytest.mark.parametrize("form", iterations.quick_subset(1, FORMS))
def test_live_perf_equals_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text(STARTED + printed(form, range(12)))
    # Chunks end within lines, and every cut point starts a part.
    live = Watcher(
        [Pieces(path, chunk_ends(path, path.stat().st_size // 5))],
        lake=str(tmp_path / "lake"),
        limits=RetentionLimits(part=1e-6),
        findings=False,
    )
    play(live)
    live.finish()
    with (
        CoreSession([str(path)]) as recorded,
        live.session() as shown,
        CoreSession([str(tmp_path / "lake")]) as stored,
    ):
        rows = recorded.sql("SELECT system, seconds, cycles FROM cpumf WHERE cpu_id = 1").rows
        assert len(rows) == 12
        assert {system for system, *_ in rows} == {"unknown-counts"}
        assert {round(seconds, 6) for _, seconds, _ in rows} == {1.000123}
        assert differences(recorded, shown) == []
        assert differences(recorded, stored) == []
    live.close()
    assert len(list(lake.contents(tmp_path / "lake").inputs)) > 1
    assert lake.check(tmp_path / "lake").faults == []


def of_pipe(text: str, folder: Path, options: Options) -> list[tuple[object, ...]]:
    """Pipe this text into a lake and return all its rows."""
    read, write = os.pipe()
    live = Watcher([ReaderThreadFeed("standard input", read)], options, lake=str(folder), findings=False)

    def give() -> None:
        with open(write, "w") as pipe:
            pipe.write(text)

    writer = threading.Thread(target=give)
    writer.start()
    play(live)
    writer.join()
    live.finish()
    live.close()
    with CoreSession([str(folder)]) as stored:
        columns = "system, interval_end, seconds, cpu_id, cycles"
        return stored.sql(f"SELECT {columns} FROM cpumf ORDER BY interval_end, cpu_id").rows


@pytest.mark.parametrize("form", iterations.quick_subset(1, reversed(FORMS)))
def test_perf_pipe_has_local_host_and_current_time(form: str, tmp_path: Path) -> None:
    before = dt.datetime.now(dt.UTC)
    options = Options(tz=dt.UTC)
    rows = of_pipe(printed(form, range(3)), tmp_path / "lake", options)
    assert len(rows) == 6
    assert {system for system, *_ in rows} == {socket.gethostname()}
    first = rows[0][1]
    assert isinstance(first, dt.datetime)
    # The first second has just passed; the start is precise to a second.
    assert dt.timedelta(seconds=-2) < first - before < dt.timedelta(minutes=5)
    assert {round(float(str(seconds)), 6) for _, _, seconds, *_ in rows} == {1.000123}
    # The times of a second run in another pipe count from its own start.
    again = of_pipe(printed(form, range(2)), tmp_path / "lake", options)
    assert len(again) in (8, 10)
    assert {round(float(str(seconds)), 6) for _, _, seconds, *_ in again} == {1.000123}


def test_perf_header_is_added_only_if_missing(tmp_path: Path) -> None:
    path = tmp_path / "tail"
    path.write_text("# host LNX1\n" + STARTED + printed("csv", range(2)))
    assert FORM.missing_header(str(path), 0, "standard input", Options()) == b""
    path.write_text(STARTED + printed("csv", range(2)))
    assert (
        FORM.missing_header(str(path), 0, "standard input", Options())
        == f"# host {socket.gethostname()}\n".encode()
    )
    # A file without its start gets none, because its write time is unknown.
    path.write_text(printed("text", range(2)))
    assert FORM.missing_header(str(path), 0, str(path), Options()) == b"# host unknown-tail\n"


def test_run_totals_are_rejected_as_stream(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("123456,,CPU_CYCLES,999000000,100.00,,\n" * 400)
    live = Watcher([Pieces(path, chunk_ends(path, 4000))], findings=False)
    with pytest.raises(InputError, match="this stream cannot be followed") as error:
        play(live)
    live.close()
    assert "perf stat -I" in str(error.value)


def test_damaged_perf_lines_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(STARTED + printed("csv", range(4)) + "what is this\n" + printed("csv", range(4, 8)))
    live = Watcher([Pieces(path, chunk_ends(path, 700))], findings=False)
    problems = [problem.detail for step in play(live) for problem in step.problems]
    with live.session() as shown:
        assert shown.sql("SELECT count(DISTINCT interval_end) FROM cpumf").rows == [(8,)]
    live.close()
    assert any("'what is this' is not a line of perf stat -x" in str(detail) for detail in problems)
