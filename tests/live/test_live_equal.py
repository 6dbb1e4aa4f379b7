"""Tests that a live replay of a recording results in its measures, row by row.

The oracle is the decoded recording, whose numbers other tests compare with publications.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from replay import Pieces, compared_measures, differences, play, split_points

from iterations import draws, iterations
from zlens.inputs.options import Options, parse_time_spec
from zlens.live.watcher import RetentionLimits, Watcher
from zlens.readers import streaming
from zlens.session.session import CoreSession


def check(path: Path, ends: list[int], limits: RetentionLimits | None = None) -> None:
    live = Watcher([Pieces(path, ends)], limits=limits, findings=False)
    try:
        assert [error for step in play(live) for error in step.errors] == []
        with CoreSession([str(path)]) as recorded, live.session() as shown:
            assert differences(recorded, shown) == []
    finally:
        live.close()


@pytest.mark.long
def test_monitor_data_by_many_intervals(demo_folder: Path) -> None:
    path = demo_folder / "zldemo.monwrite"
    check(path, split_points(path, iterations(13, 31)))


@pytest.mark.long
def test_live_equals_file_with_late_events(demo_folder: Path) -> None:
    """The simulator writes events of an interval after its end; frames are never split."""
    path = demo_folder / "sim.monwrite"
    size = path.stat().st_size
    check(path, [*range(997_003, size, 997_003), size])


@pytest.mark.long
def test_smf_records_whose_intervals_have_two_lengths(demo_folder: Path) -> None:
    """RMF's 15-minute records add to the counters of the minutes before them.

    The grace period is long, because a source that a busy machine feeds late would count as silent.
    """
    path = demo_folder / "zlzos.smf"
    form = streaming.stream_format("smf.dump")
    assert form is not None
    moments = form.write_times(str(path))
    check(
        path,
        [*(end for _, end in moments[:: draws("records of a step").randrange(30, 120)]), moments[-1][1]],
        RetentionLimits(grace=60.0),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["zldemo.monwrite", "sim.monwrite"])
def test_monitor_data_interval_by_interval(demo_folder: Path, name: str) -> None:
    path = demo_folder / name
    check(path, split_points(path, 1))


@pytest.mark.long
def test_expired_measures_and_records_are_removed(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watcher, "_names", staticmethod(lambda _: ["load"]))
    path = demo_folder / "zldemo.monwrite"
    limits = RetentionLimits(raw=600.0, measures=1200.0, part=600.0)
    live = Watcher([Pieces(path, split_points(path, iterations(6, 10)))], limits=limits, findings=False)
    try:
        play(live)
        with live.session() as shown:
            ((count,),) = shown.sql("SELECT count(*) FROM interval").rows
            assert count == 20
            ((rows, newest),) = shown.sql("SELECT count(DISTINCT interval_end), max(busy_pct) FROM load").rows
            # Complete hours are removed.
            assert rows == 31
            assert not math.isnan(newest)
            # Raw records of the current part and the one before.
            ((raw,),) = shown.sql("SELECT count(DISTINCT interval_end) FROM d0r2").rows
            assert raw < 30
    finally:
        live.close()


@pytest.mark.long
def test_window_of_retained_data_reads_only_its_hours(demo_folder: Path) -> None:
    """Rows of a window equal those of the recording; much older rows are not read."""
    recording = demo_folder / "zldemo.monwrite"
    window = Options(start=parse_time_spec("2010-03-09T09:25+01:00"))
    live = Watcher([Pieces(recording, split_points(recording, 20))], findings=False)
    try:
        play(live)
        with CoreSession([str(recording)], window) as recorded, live.session() as whole:
            with whole.narrow(window) as shown:
                names = [name for name in compared_measures() if name != "event"]
                assert differences(recorded, shown, names) == []
                # A recording also reports earlier counter resets.
                events = "SELECT time, kind, subject, detail FROM event"
                within = f"{events} WHERE time > '2010-03-09 08:25:00+00' ORDER BY ALL"
                assert shown.sql(f"{events} ORDER BY ALL").rows == recorded.sql(within).rows != []
            load = live.measures.tables(live.step_number)["load"]
            every = whole.sql("SELECT interval_end FROM load").rows
        assert live.measures.names()
        (first,), *_ = every
        # Two hours after the first row, with an hour of margin.
        late = load.since(int(first.timestamp() * 1e6) + 2 * 3_600_000_000)
        with CoreSession.from_sources([], Options(), computed={"load": late}) as few:
            assert 0 < len(few.sql("SELECT * FROM load").rows) < len(every)
    finally:
        live.close()
