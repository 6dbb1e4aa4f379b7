"""CTLUNIT FCX176: what control units counted for their disks.

The layout of the report is not public; the z/VM Performance Report "Eighty Logical Processors" (IBM, 2019)
names read hits of 96 % in its smallest run and 58 % in its largest, which are the hits fed here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zlens
from monwrite_made import MINUTE_US, SIM_CONFIG, START_US, configuration, interval, sim_record, write
from zlens.inputs.options import Options


def disk(
    subchannel: int, ssid: int, minutes: float, reads: float, hits: float, writes: float
) -> dict[str, Any]:
    """D6R4 after so many minutes of this many reads and writes a second."""

    def count(rate: float) -> int:
        return round(rate * 60 * minutes)

    return {
        "IODCAD_RDEVSID": 0x10000 + subchannel,
        "IODCAD_NR_SSID": ssid,
        "IODCAD_NR_UNIT_ADDRESS": subchannel,
        # Two thirds of the reads are sequential.
        "IODCAD_NR_READ_NORMAL": count(reads / 3),
        "IODCAD_NR_READ_NORMAL_HITS": count(reads * hits / 3),
        "IODCAD_NR_READ_SEQ": count(reads * 2 / 3),
        "IODCAD_NR_READ_SEQ_HITS": count(reads * hits * 2 / 3),
        "IODCAD_NR_WRITE_NORMAL": count(writes),
        "IODCAD_NR_WRITE_FAST_NORMAL_HITS": count(writes / 2),
        "IODCAD_NR_DASD_TO_CACHE": count(reads * (1 - hits)),
    }


def made(path: Path, rows: list[list[tuple[int, int, float, float, float]]]) -> Path:
    """Disks (subchannel, SSID, reads, share of hits, writes) interval by interval."""
    groups = [configuration(START_US, SIM_CONFIG)]
    totals: dict[int, dict[str, Any]] = {}
    for n in range(len(rows) + 1):
        end = START_US + n * MINUTE_US
        records = []
        for subchannel, ssid, reads, hits, writes in rows[n - 1] if n else rows[0]:
            now = disk(subchannel, ssid, 1 if n else 0, reads, hits, writes)
            total = totals.setdefault(subchannel, dict(now))
            for name, value in now.items():
                if n and name not in ("IODCAD_RDEVSID", "IODCAD_NR_SSID", "IODCAD_NR_UNIT_ADDRESS"):
                    total[name] += value
            records.append(sim_record("D6R4", end - 100, total))
            device = {"IODDEV_RDEVDEV": 0x200 + subchannel, "IODDEV_RDEVSER": f"VOL{subchannel:03}"}
            records.append(sim_record("D6R3", end - 50, device | {"IODDEV_RDEVSID": 0x10000 + subchannel}))
        groups.append(interval(end, records))
    return write(path, groups)


RUNS = [[(1, 0x0600, 300.0, 0.96, 10.0), (2, 0x0600, 0.0, 0.0, 0.0), (3, 0x0700, 150.0, 0.58, 50.0)]] * 2


def printed(text: str, table: str) -> list[list[str]]:
    lines = text.split("\n")
    body = lines[lines.index(table) + 4 :]
    return [line.split() for line in body[: body.index("")]]


def test_units_are_the_sums_of_their_disks(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a", RUNS)]) as session:
        text = session.report("fcx176")
    assert printed(text, "Control Units") == [
        ["0600", "2", "310.0", "97", "96", "50", "12.0", ".0", ".0", ".0", ".0"],
        ["0700", "1", "200.0", "75", "58", "50", "63.0", ".0", ".0", ".0", ".0"],
    ]


def test_disks_are_named_by_the_device_record(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a", RUNS)]) as session:
        text = session.report("ctlunit")
        only = session.report("ctlunit", only=["0201"])
    rows = printed(text, "Disks")
    assert [row[:4] for row in rows] == [
        ["0600", "01", "0201", "VOL001"],
        ["0600", "02", "0202", "VOL002"],
        ["0700", "03", "0203", "VOL003"],
    ]
    assert rows[1][4:8] == [".0", ".....", "......", "......"]
    assert [row[2] for row in printed(only, "Disks")] == ["0201"]


def test_hits_of_several_intervals_are_those_of_all_their_reads(tmp_path: Path) -> None:
    rows = [[(1, 0x0600, 300.0, 0.9, 0.0)], [(1, 0x0600, 100.0, 0.5, 0.0)]]
    path = made(tmp_path / "a", rows)
    with zlens.open([path]) as session:
        assert printed(session.report("ctlunit"), "Control Units")[0][4] == "80"
        assert session.sql("SELECT round(read_hit_pct) FROM cache ORDER BY interval_end").rows == [
            (90.0,),
            (50.0,),
        ]
        assert session.sql("SELECT round(read_hit_pct) FROM device ORDER BY interval_end").rows == [
            (90.0,),
            (50.0,),
        ]
    with zlens.open([path], options=Options(every_s=600)) as session:
        assert session.sql("SELECT round(read_hit_pct), round(io_rate) FROM cache").rows == [(80.0, 200.0)]
