"""Tests of roles of states: a recorded state holds until the next record, whatever times are selected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from monwrite_builder import CONFIG, MINUTE_US, S_US, START_US, configuration, event, interval, record, write
from zlens.inputs.options import Options, parse_time_spec


def write_configuration(path: Path, system: str = "MADETEST") -> Path:
    """Write a device known from the start, and one added in the third and again in the fourth minute."""
    device = record(
        "D1R6",
        START_US - 1_400,
        {"MTRDEV_RDEVDEV": 0x145, "MTRDEV_RDEVDVID": "3390", "MTRDEV_CALMODLN": 10, "MTRDEV_RDEVCLAS": 4},
    )
    groups = [configuration(START_US, {**CONFIG, "MTRSYS_SYSTMID": system}, more=[device])]
    for n in range(6):
        end = START_US + n * MINUTE_US
        if n in (3, 4):
            kind = {3: "3380", 4: "9336"}[n]
            what = {"IODVON_RDEVDEV": 0x2AB, "IODVON_RDEVDVID": kind, "IODVON_RDEVCLAS": 1}
            groups.append(event("D6R1", end - 30 * S_US, what))
        values = {"IODDEV_SCGSSCH": 600 * n, "IODDEV_RDEVLPM": 0b1011_0000, "IODDEV_RDEVSID": 0x1000A}
        groups.append(
            interval(end, [record("D6R3", end - 100, {"IODDEV_RDEVDEV": d} | values) for d in (0x145, 0x2AB)])
        )
    return write(path, groups)


def types(session: zlens.Session) -> list[tuple[str, str, str | None]]:
    rows = session.sql("SELECT interval_end, device, device_type FROM device ORDER BY ALL").rows
    return [(f"{time:%H:%M}", device, kind) for time, device, kind in rows]


def test_state_holds_until_next(tmp_path: Path) -> None:
    with zlens.open([write_configuration(tmp_path / "a")]) as session:
        found = types(session)
    assert [kind for _, device, kind in found if device == "0145"] == ["3390"] * 5
    assert [kind for _, device, kind in found if device == "02AB"] == [None, None, "3380", "9336", "9336"]


@pytest.mark.parametrize("times", [{"start": "09:04"}, {"start": "09:04", "systems": ("MADETEST",)}])
def test_state_holds_in_later_window(tmp_path: Path, times: dict[str, Any]) -> None:
    options = Options(**(times | {"start": parse_time_spec(times["start"])}))
    with zlens.open([write_configuration(tmp_path / "a")], options=options) as session:
        assert types(session) == [("09:05", "0145", "3390"), ("09:05", "02AB", "9336")]
        assert session.sql("SELECT count(*) FROM d1r6").rows == [(0,)], "a record is of its own time"
        assert session.sql("SELECT count(*) FROM role.device_configuration").rows == [(3,)]


def test_state_of_unselected_system_is_not_read(tmp_path: Path) -> None:
    files = [write_configuration(tmp_path / "a"), write_configuration(tmp_path / "b", "OTHER")]
    counted = "SELECT count(*) FROM role.device_configuration"
    with zlens.open(files) as session:
        assert session.sql(counted).rows == [(6,)]
    with zlens.open(files, options=Options(systems=("OTHER",))) as session:
        assert session.sql(counted).rows == [(3,)]


def test_state_holds_with_every(tmp_path: Path) -> None:
    with zlens.open([write_configuration(tmp_path / "a")], options=Options(every_s=3600)) as session:
        assert {(device, kind) for _, device, kind in types(session)} == {("0145", "3390"), ("02AB", "9336")}


def test_bits_are_counted_and_numbers_are_hexadecimal(tmp_path: Path) -> None:
    with zlens.open([write_configuration(tmp_path / "a")]) as session:
        rows = session.sql(
            "SELECT DISTINCT device, paths, path_mask, subchannel, device_class, model FROM device "
            "WHERE device = '0145'"
        ).rows
    assert rows == [("0145", 3, 0b1011_0000, "0001000A", "ECKD", 10)]
