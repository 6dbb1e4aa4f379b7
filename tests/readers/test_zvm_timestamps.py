"""Tests of impossible timestamps: each is a problem, and never an interval."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import zlens
from iterations import draws
from zlens import _native

_TOD_S = 4096_000_000
_AWAY_S = 40 * 86_400


def _marks(path: Path) -> list[tuple[int, int, int]]:
    return _native.MonwriteFile.open(str(path)).interval_ends()


def _shifted(path: Path, folder: Path, offset: int, seconds: int) -> Path:
    data = bytearray(path.read_bytes())
    place = slice(offset + 8, offset + 16)
    data[place] = (int.from_bytes(data[place]) + seconds * _TOD_S).to_bytes(8)
    result = folder / "stamped.monwrite"
    result.write_bytes(data)
    return result


def _span(path: Path) -> tuple[int, int]:
    with zlens.open([path]) as session:
        (info,) = session.systems
        assert info.first_us is not None
        assert info.last_us is not None
        return info.first_us, info.last_us


@pytest.mark.parametrize("seconds", [_AWAY_S, -_AWAY_S])
@pytest.mark.parametrize("place", [0, 1, 20, -1])
def test_unordered_interval_end_is_problem(sim_file: Path, tmp_path: Path, place: int, seconds: int) -> None:
    mark = _marks(sim_file)[place]
    stray = _shifted(sim_file, tmp_path, mark[2], seconds)
    with zlens.open([stray]) as session:
        times = [problem for problem in session.problems if problem.kind == "time"]
        assert [problem.offset for problem in times] == [mark[2]]
        # Samples before and after an end say when it was, but not for the first, and for a late last one.
        is_known = place not in (0, -1) or (place == -1 and seconds < 0)
        assert ("the time of the last sample counts" if is_known else "out of order") in times[0].detail
        ends = [row[0] for row in session.sql("SELECT interval_end FROM load ORDER BY ALL").rows]
    with zlens.open([sim_file]) as session:
        intact = [row[0] for row in session.sql("SELECT interval_end FROM load ORDER BY ALL").rows]
    if is_known:
        # The last sample is some milliseconds before the end.
        assert len(ends) == len(intact)
        assert max(abs((a - b).total_seconds()) for a, b in zip(ends, intact, strict=True)) < 0.1
    else:
        assert set(ends) <= set(intact)
    first, last = _span(stray)
    whole = _span(sim_file)
    minute = 60_000_000
    assert abs(first - whole[0]) <= minute
    assert abs(last - whole[1]) <= minute


def test_outlying_timestamp_does_not_extend_recording(sim_file: Path, tmp_path: Path) -> None:
    (offset, _) = _native.MonwriteFile.open(str(sim_file)).records(5, 11, 100)[50]
    stray = _shifted(sim_file, tmp_path, offset, _AWAY_S)
    assert _span(stray) == _span(sim_file)
    with zlens.open([stray]) as session:
        (problem,) = [problem for problem in session.problems if problem.kind == "time"]
        assert (problem.record, problem.offset) == ("D5R11", offset)
        assert "outside the intervals" in problem.detail


def test_unordered_recordings_in_one_file_are_read(
    sim_file: Path, demo_files: list[Path], tmp_path: Path
) -> None:
    """A block of earlier intervals is out of order, but its timestamps are consistent."""
    later = bytearray(sim_file.read_bytes())
    file = _native.MonwriteFile.open(str(sim_file))
    types = {(row["domain"], row["record"]) for row in file.inventory()}
    for offset in [offset for key in types for offset, _ in file.records(*key, 1_000_000)]:
        place = slice(offset + 8, offset + 16)
        later[place] = (int.from_bytes(later[place]) + _AWAY_S * _TOD_S).to_bytes(8)
    both = tmp_path / "both.monwrite"
    both.write_bytes(bytes(later) + sim_file.read_bytes())
    with zlens.open([both]) as session:
        assert not [p for p in session.problems if "out of order by more" in p.detail]


def test_damaged_timestamps_keep_intervals_in_hour(sim_file: Path, tmp_path: Path) -> None:
    """With 400 random bytes and 20 kB of zeros, the recording stays an hour; nothing impossible is shown."""
    data = bytearray(sim_file.read_bytes())
    chance = random.Random(8)
    for _ in range(400):
        data[chance.randrange(len(data))] = chance.randrange(256)
    half = len(data) // 2
    data[half : half + 20_000] = bytes(20_000)
    damaged = tmp_path / "damaged.monwrite"
    damaged.write_bytes(data)
    first, last = _span(damaged)
    assert last - first < 2 * 3600 * 1_000_000
    with zlens.open([damaged]) as session:
        (busy,) = session.sql("SELECT max(busy_pct) FROM cpu").rows[0]
        assert busy <= 102
        (total, physical) = session.sql("SELECT max(total_pct), max(physical) FROM cec").rows[0]
        assert total <= 102 * physical
        (cpu,) = session.sql("SELECT max(cpu_s / seconds) FROM guest_cpu").rows[0]
        assert cpu <= 1.02
        details = [problem.detail for problem in session._core.all_problems() if problem.kind == "impossible"]
        for entity in ("processor", "management", "guest"):
            assert any(f" of {entity} ha" in detail for detail in details), entity


def test_problems_do_not_depend_on_earlier_queries(sim_file: Path, tmp_path: Path) -> None:
    data = bytearray(sim_file.read_bytes())
    chance = draws(7)
    for _ in range(400):
        data[chance.randrange(len(data))] = chance.randrange(256)
    damaged = tmp_path / "damaged.monwrite"
    damaged.write_bytes(data)
    with zlens.open([damaged]) as session:
        complete = session._core.all_problems()
    with zlens.open([damaged]) as session:
        for table in ("guest", "load", "d5r13", "d6r3"):
            session.sql(f"SELECT * FROM {table}").first(1)
        assert len(session._core.all_problems()) == len(complete)
        assert session.sql("SELECT count(*) FROM problem").rows == [(len(complete),)]
