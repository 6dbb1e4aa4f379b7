"""Tests of states in a lake: a state recorded on an earlier day is found for a later day."""

from __future__ import annotations

from pathlib import Path

import monwrite_builder as monwrite
import zlens
from zlens import lake
from zlens.inputs.options import Options, parse_time_spec


def recording(path: Path) -> Path:
    """Write a disk's configuration at the start, and samples every four hours for two days."""
    device = {"MTRDEV_RDEVDEV": 0x145, "MTRDEV_RDEVDVID": "3390", "MTRDEV_RDEVCLAS": 4}
    groups = [
        monwrite.configuration(
            monwrite.START_US,
            interval_s=14_400,
            more=[monwrite.record("D1R6", monwrite.START_US - 1_400, device)],
        )
    ]
    for n in range(12):
        end = monwrite.START_US + n * 240 * monwrite.MINUTE_US
        values = {"IODDEV_RDEVDEV": 0x145, "IODDEV_SCGSSCH": 14_400 * n}
        groups.append(monwrite.interval(end, [monwrite.record("D6R3", end - 100, values)]))
    return monwrite.write(path, groups)


def test_device_type_of_previous_day_is_used(tmp_path: Path) -> None:
    lake.add([recording(tmp_path / "a")], tmp_path / "lake")
    options = Options(start=parse_time_spec("2026-03-03 12:00Z"), end=parse_time_spec("2026-03-04 12:00Z"))
    with zlens.open(tmp_path / "lake", options=options) as session:
        rows = session.sql("SELECT device, device_type, round(rate, 3) FROM device").rows
        assert rows == [("0145", "3390", 1.0)] * 5
        assert session.sql("SELECT count(*) FROM d1r6").rows == [(0,)]
        # Of other tables, only files of the selected days are opened.
        tables = session._core.sources[0].tables["d6r3"]
        days = {path.rpartition("day=")[2][:10] for table in tables for path in table.paths}
        assert days <= {"2026-03-03", "2026-03-04"}
