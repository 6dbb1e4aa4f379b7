"""DEVICE FCX110 against IBM's published example.

Publication: z/VM 7.3 documentation, Performance Toolkit, FCX110 I/O Device Details Screen: device 0145.
Counters are fed that give its numbers; what nobody knows the fields of is left out, and the report says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_made import activity, configured, devices

import zlens
from monwrite_made import MINUTE_US, SIM_CONFIG, START_US, configuration, event, interval, sim_record, write
from rounds import rounds
from store_made import Minute, alike
from zlens import reports
from zlens.explain.reports import explain_report
from zlens.inputs.options import Options

PUBLISHED = [
    "Device type :  3380-A      Function pend.:    4.8ms      Device busy   :   23%",
    "VOLSER      :  VMPG1C      Disconnected  :   38.5ms",
    "Nr. of LINKs:      41      Connected     :    7.3ms",
    "Last SEEK   :     524      Service time  :   50.6ms",
    "SSCH rate/s :     4.6      Response time :   54.1ms",
    "Avoided/s   :      .0      CU queue time :     .0ms      Throttle del/s:",
]
HOURS = 3


def made(path: Path) -> Path:
    """The device of the example over three hours, another one beside it, and the seeks of two users."""
    ours = {"rate": 4.6, "pend": 4.8, "disc": 38.5, "conn": 7.3, "queued": 0.0161, "read_pct": 54}
    more = {
        "IODDEV_RDEVSER": "VMPG1C",
        "IODDEV_RDEVLCNT": 41,
        "IODDEV_RDEVLPM": 0xC0,
        "IODDEV_RDEVSID": 0x10011,
    }
    what = {"MTRDEV_RDEVDVID": "3380", "MTRDEV_CALMODLN": 10, "MTRDEV_RDEVCHPS": "0141000000000000"}
    groups = [configuration(START_US, SIM_CONFIG, 60 * 60, configured({0x145: what, 0x146: {}}))]
    for n in range(HOURS + 1):
        end = START_US + n * 60 * MINUTE_US
        operations = round(5.5 * 3600 * n)
        cache = {
            "IODCAD_RDEVSID": 0x10011,
            "IODCAD_NR_SSID": 0x8A,
            "IODCAD_NR_READ_NORMAL": round(operations * 0.54),
            "IODCAD_NR_WRITE_NORMAL": round(operations * 0.46),
        }
        records = [activity(0x145, end, 60 * n, ours | more), activity(0x146, end, 60 * n, {"rate": 1.0})]
        records.append(sim_record("D6R4", end - 50, cache))
        if n:
            groups += [seek(end - 3000 + i, *one) for i, one in enumerate(SEEKS)]
        groups.append(interval(end, records))
    return write(path, groups)


SEEKS = [
    (0x145, "MAINT", 0x190, 100, 120),
    (0x145, "MAINT", 0x190, 120, 90),
    (0x145, "CHVSCS", 0x193, 400, 524),
]


def seek(time_us: int, device: int, user: str, virtual: int, start: int, end: int) -> tuple[bool, Any]:
    values = {"SEKSEK_RDEVDEV": device, "SEKSEK_VMDUSER": user, "SEKSEK_VDEVDEV": virtual}
    return event("D7R1", time_us, values | {"SEKSEK_CALCURCY": start, "SEKSEK_CALSKCYL": end})


def part(text: str, title: str) -> list[list[str]]:
    lines = text.split("\n")
    begin = lines.index(title)
    while lines[begin].strip() != "" or not lines[begin + 1].startswith(("Addr", "    ", "Interval")):
        begin += 1
    while lines[begin + 1].startswith(("Addr", "    ", "Interval", "End")):
        begin += 1
    return [line.split() for line in lines[begin + 1 : lines.index("", begin + 1)]]


def test_what_is_published_of_the_device_is_printed(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("fcx110", only=["0145"])
    details = part(text, "Detailed Analysis for Device")
    assert len(details) == len(PUBLISHED)
    for fields, line in zip(details, PUBLISHED, strict=True):
        assert fields[: len(line.split()) + 1] == ["0145", *line.split()]
    assert details[1][-4:] == ["Used", "for", ":", "minidisk"]
    assert part(text, "Path(s) to Device") == [["0145", "01", "41"]]
    assert part(text, "Overall CU-Cache Performance") == [
        ["0145", "VMPG1C", "5.5", "54", "0", "0", ".0", ".0"]
    ]
    assert "0146" not in text


def test_seeks_are_told_by_user(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("device110", only=["0145"])
    assert part(text, "Seeks by User") == [
        ["0145", "CHVSCS", "0193", "3", "124.0", "524", "524"],
        ["0145", "MAINT", "0190", "6", "25.0", "90", "120"],
    ]


def test_paging_volumes_tell_what_was_paged_and_spooled(tmp_path: Path) -> None:
    minute: Minute = [
        ("D3R4", {"RDEVDEV": 0x2000, "CALVSER": "PAG000", "CALPAGE": 250_000, "EXPCTPRD": 60_000,
                  "EXPCTPWR": 30_000, "EXPCURQC": 3, "ZLMLOAD": 1_500}),
        ("D3R4", {"RDEVDEV": 0x2001, "CALVSER": "PAG001", "CALPAGE": 450_000, "CALSPOOL": 50_000,
                  "EXPCTPRD": 6_000, "EXPCTPWR": 24_000, "EXPCTSRD": 600, "EXPCTSWR": 60,
                  "ZLMLOAD": 5_500}),
    ]  # fmt: skip
    with zlens.open([alike(tmp_path / "a", minute)]) as session:
        text = session.report("device110")
        one = session.report("device110", only=["2000"])
    assert part(text, "Paging and Spooling") == [
        ["2000", "PAGE", "1000.0", "500.0", "1500.0", "3.00", "1.50"],
        ["2001", "PAGE", "100.0", "400.0", "500.0", ".00", "5.50"],
        ["2001", "SPOOL", "10.0", "1.0", "11.0", ".00", "5.50"],
    ]
    assert part(one, "Paging and Spooling") == [["2000", "PAGE", "1000.0", "500.0", "1500.0", "3.00", "1.50"]]
    with zlens.open([made(tmp_path / "b")]) as session:
        assert "Paging and Spooling" not in session.report("device110")


def test_nothing_printed_is_told_to_be_absent() -> None:
    definition = reports.load("device110")
    absent = {name for one in definition.absent for name in one.columns}
    printed = {column.name for table in definition.tables for column in table.columns}
    assert not absent & printed
    assert absent.isdisjoint({"Page reads/s", "Page writes/s", "Spool reads/s", "Total pages/s"})


def test_without_a_device_all_are_shown(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("device110")
    assert {fields[0] for fields in part(text, "Detailed Analysis for Device")} == {"0145", "0146"}


def test_what_is_left_out_is_said() -> None:
    text = explain_report("device110")
    for heading in ("I/O contention", "SENSE SSCH", "MDISK Extent", "PG resp. time"):
        assert heading in text


BUSY = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 50), st.integers(0, 50), st.integers(0, 20)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=rounds(8, 2), deadline=None)
@given(intervals=BUSY)
def test_means_are_of_all_operations_and_every_computes_again(
    tmp_path_factory: pytest.TempPathFactory, intervals: list[tuple[int, int, int, int]]
) -> None:
    """Times per operation are weighted by operations in rows of means, and --every gives just the same."""
    samples = [
        {0x145: {"rate": float(rate), "pend": pend / 10, "conn": conn / 10, "queued": queued / 10}}
        for rate, pend, conn, queued in intervals
    ]
    operations = sum(rate for rate, *_ in intervals)
    served = sum(rate * (pend + conn) / 10 for rate, pend, conn, _ in intervals)
    waiting = sum(queued / 10 for *_, queued in intervals)
    path = devices(tmp_path_factory.mktemp("x") / "a", samples)
    with zlens.open([path]) as session:
        report = session.report("device", "json")
        log = session.report("device110", "json")
    with zlens.open([path], options=Options(every_s=86400)) as session:
        ((rate, serv, resp, queued),) = session.sql("SELECT rate, serv_s, resp_s, queued FROM device").rows
    rows = [row for row in _rows(report) if row["row"] == "row"]
    means = [row for row in _rows(log) if row["row"] == "mean" and row["table"] == "log"]
    count = len(intervals)
    for row in (
        rows[0],
        means[0],
        {"rate": rate, "queued": queued, "serv_ms": 1000 * serv if serv else serv},
    ):
        assert row["rate"] == pytest.approx(operations / count)
        assert row["queued"] == pytest.approx(waiting / count, abs=0.02)
        if operations:
            assert row["serv_ms"] == pytest.approx(served / operations, abs=0.15)
        else:
            assert row["serv_ms"] is None
    if operations and all(one[0] for one in intervals):
        assert 1000 * resp == pytest.approx(rows[0]["resp_ms"], abs=0.01)
        assert 1000 * resp == pytest.approx(rows[0]["serv_ms"] + 1000 * queued / rate, abs=0.01)


def _rows(text: str) -> list[dict[str, Any]]:
    import json

    return list(json.loads(text))
