"""FCHANNEL FCX215 and the measure behind it; the layout of the report is not public.

What the words of D0R20 are, is concluded from SMF 73 and Linux: seven counters and five characteristics.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from monwrite_made import MINUTE_US, START_US, configuration, interval, record, write
from zlens import _native
from zlens.catalog import layouts, plans
from zlens.inputs.options import Options

MIB = 1024 * 1024
#: A FICON channel: what it can do in a second, and the size of its data units.
CAN = {"MBC": 1_000_000, "MCU": 10_000, "MWU": 50_000, "MRU": 50_000, "US": 4096}


def channel(chpid: int, end_us: int, counters: dict[str, float], group: int = 2) -> bytes:
    """D0R20 of a channel path."""
    (layout,) = (one for one in layouts.layouts("D0R20") if one.release == "5.3")
    entry = {f"SYTEPM_SMF73{name}": round(value) for name, value in counters.items()}
    chars = {"SYTEPM_CHPID": chpid, "SYTEPM_CMG": group} | {f"SYTEPM_SMF73{k}": v for k, v in CAN.items()}
    return plans.encode(
        layout,
        {"SYTEPM_CALCHPID": chpid},
        tod=_native.tod_from_unix_us(end_us - 100),
        entries={"ECMENTRY": [entry], "CMCHARS": [chars]},
    )


#: What a second adds to the counters of a channel path, minute by minute.
BUSY = {"TBC": 300_000, "TUC": 4_000, "PUC": 1_000, "TWU": 2_560, "PWU": 256, "TRU": 25_600, "PRU": 12_800}
QUIET = dict.fromkeys(BUSY, 0)


def made(path: Path, chpids: dict[int, list[dict[str, int]]], group: int = 2) -> Path:
    groups = [configuration(START_US)]
    for n in range(len(next(iter(chpids.values()))) + 1):
        end = START_US + n * MINUTE_US
        records = []
        for chpid, rates in chpids.items():
            total = {name: sum(60 * one[name] for one in rates[:n]) for name in BUSY}
            records.append(channel(chpid, end, total, group))
        groups.append(interval(end, records))
    return write(path, groups)


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.startswith((">>Mean>>", "09:"))]


def test_use_and_speeds_of_a_channel(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a", {0x41: [BUSY, QUIET], 0x0A: [QUIET, QUIET]})]) as session:
        rows = lines(session.report("fcx215"))
    idle = ["0", "0", "0", ".0", ".0", ".0", ".0"]
    busy = ["40", "10", "30", "100.0", "50.0", "10.0", "1.0"]
    assert rows == [
        [">>Mean>>", "0A", *idle],
        [">>Mean>>", "41", "20", "5", "15", "50.0", "25.0", "5.0", ".5"],
        ["09:01:00", "0A", *idle],
        ["09:01:00", "41", *busy],
        ["09:02:00", "0A", *idle],
        ["09:02:00", "41", *idle],
    ]


def test_of_another_measurement_group_nothing_is_said(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a", {0x41: [BUSY]}, group=1)]) as session:
        answer = session.sql("SELECT chpid, measurement_group, util_pct, read_rate FROM channel")
        assert answer.rows == [("41", 1, None, None)]


def test_counters_are_summed_over_longer_intervals(tmp_path: Path) -> None:
    path = made(tmp_path / "a", {0x41: [BUSY, QUIET, QUIET, BUSY]})
    with zlens.open([path], options=Options(every_s=3600)) as session:
        ((util, bus, read),) = session.sql("SELECT util_pct, bus_util_pct, read_rate FROM channel").rows
    assert (util, bus, read / MIB) == pytest.approx((20, 15, 50))


def test_a_system_of_which_only_the_heads_of_records_are_known(tmp_path: Path) -> None:
    """A record without its characteristics does not keep the others from being read."""
    ends = [START_US + n * MINUTE_US for n in range(3)]
    bare = [record("D0R20", end - 200, {"SYTEPM_CALCHPID": 0x10}) for end in ends]
    groups = [configuration(START_US)]
    for n, end in enumerate(ends):
        groups.append(interval(end, [bare[n], channel(0x41, end, {k: 60 * n * v for k, v in BUSY.items()})]))
    with zlens.open([write(tmp_path / "a", groups)]) as session:
        rows = session.sql("SELECT chpid, round(util_pct) FROM channel WHERE chpid = '41'").rows
    assert rows == [("41", 40.0)] * 2


def test_the_layout_fills_the_lengths_it_is_concluded_from() -> None:
    (layout,) = (one for one in layouts.layouts("D0R20") if one.release == "5.3")
    sections: dict[str, Any] = {section.name: section for section in layout.sections}
    for name in ("ECMENTRY", "CMCHARS"):
        assert max(field.end for field in sections[name].fields) == sections[name].length == 32
