"""Tests of z/VM systems of one name on several machines: a moved one, or two at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import monwrite_builder as monwrite
import zlens
from monwrite_builder import MINUTE_US, START_US
from zlens import _native, lake

COUNT = 4
MACHINES = (("3906", "0000000000012F17"), ("8561", "000000000009ABCD"))


def recorded(path: Path, machine: tuple[str, str], first: int, busy: float = 0.5) -> Path:
    """Write COUNT minutes on a machine."""
    kind, serial = machine
    begun_us = START_US + first * MINUTE_US - MINUTE_US // 2
    # A system that moves needs an IPL on the other machine.
    ipl = _native.tod_from_unix_us(begun_us - MINUTE_US // 4)
    config = {**monwrite.CONFIG, "MTRSYS_SYSMTYPE": kind, "MTRSYS_SYSMSEQC": serial, "MTRSYS_SYSTODST": ipl}
    begun = monwrite.configuration(begun_us, config)
    return monwrite.write(path, [begun, *monwrite.minutes(COUNT, busy, first=first)])


def rows(inputs: list[Path] | Path) -> list[tuple[object, ...]]:
    with zlens.open(inputs) as session:
        return session.sql("SELECT system, count(busy_pct) FROM load GROUP BY 1 ORDER BY 1").rows


@pytest.mark.parametrize("in_lake", [False, True])
def test_moved_system_is_one_system(tmp_path: Path, in_lake: bool) -> None:
    files = [
        recorded(tmp_path / "a.data", MACHINES[0], 0),
        recorded(tmp_path / "b.data", MACHINES[1], COUNT + 1),
    ]
    inputs: list[Path] | Path = files[::-1]
    if in_lake:
        inputs = tmp_path / "lake"
        for path in files:
            lake.add([path], inputs)
    with zlens.open(inputs) as session:
        (info,) = session.systems
        assert (info.machine, info.last_machine) == ("3906-12F17", "8561-9ABCD")
        # The first interval of each recording has no difference.
        differences = session.sql("SELECT count(sytprp_pfxutime_d) FROM d0r2").rows
        assert differences == [(2 * 2 * (COUNT - 1),)]
        events = session.sql("SELECT detail FROM event WHERE kind = 'another machine'").rows
        assert events == [("3906 0000000000012F17 to 8561 000000000009ABCD",)]


def test_systems_on_two_machines_at_once_are_two(tmp_path: Path) -> None:
    files = [
        recorded(tmp_path / "a.data", MACHINES[0], 0),
        recorded(tmp_path / "b.data", MACHINES[1], 1),
        # A file of the second system after the end of the first.
        recorded(tmp_path / "c.data", MACHINES[1], COUNT + 2),
    ]
    (first, alone), (other, both) = rows(files)
    assert alone == COUNT - 1
    assert (first, other) == ("MADETEST", "MADETEST-9ABCD")
    assert both == 2 * (COUNT - 1)
    lake_path = tmp_path / "lake"
    for file in files:
        lake.add([file], lake_path)
    assert rows(lake_path) == rows(files)
    assert lake.check(lake_path).faults == []
