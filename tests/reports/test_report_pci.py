"""PCI functions, FCX311, 322 and 323: columns by meaning, on zlens' own layouts of D1R27 and D6R39."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import (
    MINUTE_US,
    S_US,
    SIM_CONFIG,
    START_US,
    configuration,
    interval,
    sim_record,
    write,
)
from zlens import _native, reports
from zlens.catalog import layouts, plans

NOW = datetime(2026, 11, 21, 8, 0, 0)
MIB = 1024 * 1024
#: What a second adds to the counters of each function, and what it is.
FUNCTIONS: dict[int, dict[str, int]] = {
    0x10: {
        "ZLFORMAT": 1,
        "ZLLOADS": 5,
        "ZLSTORES": 7,
        "ZLRXBYTE": 3 * MIB,
        "ZLRXPACK": 2000,
        "ZLTXBYTE": MIB,
    },
    0x11: {"ZLFORMAT": 2, "ZLBLOCKS": 9, "ZLWORK": 250, "ZLMAXWRK": 1000},
    0x12: {"ZLFORMAT": 3, "ZLREFRSH": 11, "ZLTXBYTE": 2 * MIB},
    0x13: {"ZLFORMAT": 0, "ZLDMARD": MIB, "ZLDMAWR": 4 * MIB},
}
TYPES = {0x10: 2, 0x11: 3, 0x12: 5, 0x13: 11}
COLUMNS = (
    "load",
    "store",
    "block",
    "refresh",
    "read",
    "write",
    "in",
    "in_pkts",
    "out",
    "out_pkts",
    "work",
    "util",
)


def attachment(name: str, time_us: int, values: dict[str, Any]) -> tuple[bool, list[bytes]]:
    layout = layouts.layouts(name)[0]
    return False, [plans.encode(layout, values, tod=_native.tod_from_unix_us(time_us))]


def made(
    path: Path, make: Any = sim_record, config: Any = SIM_CONFIG, seconds: tuple[int, ...] = (60, 60)
) -> Path:
    """Functions that were busy for so many seconds of each minute."""
    told = [
        make("D1R27", START_US - 1_400, {"MTRPCI_ZLPFID": function, "MTRPCI_RPCIPFT": kind})
        for function, kind in TYPES.items()
    ]
    groups = [configuration(START_US, config, more=told)]
    for n in range(len(seconds) + 1):
        end = START_US + n * MINUTE_US
        records = []
        for function, rates in FUNCTIONS.items():
            values = {"IODPAC_RPCIPFID": function, "IODPAC_VPCIPFID": function + 0x100}
            for name, rate in rates.items():
                still = name in ("ZLFORMAT", "ZLMAXWRK")
                values[f"IODPAC_{name}"] = rate if still else rate * sum(seconds[:n])
            records.append(make("D6R39", end - 100, values))
        if n == 1:
            who = {"IODPAT_RPCIPFID": 0x10, "IODPAT_VPCIPFID": 0x110, "IODPAT_VMDUSER": "LINUX01"}
            groups.append(attachment("D6R36", end - 30 * S_US, who))
            who = {"IODPAT_RPCIPFID": 0x11, "IODPAT_VPCIPFID": 0x111, "IODPAT_VMDUSER": "LINUX02"}
            groups.append(attachment("D6R36", end - 20 * S_US, who))
        if n == 2:
            who = {"IODPDT_RPCIPFID": 0x11, "IODPDT_VPCIPFID": 0x111, "IODPDT_VMDUSER": "LINUX02"}
            groups.append(attachment("D6R37", end - 20 * S_US, who))
        groups.append(interval(end, records))
    return write(path, groups)


def rows(text: str, start: str = "0000") -> dict[str, dict[str, str]]:
    """The fields with a value of each row, by function."""
    found = {}
    for line in text.split("\n"):
        if line.startswith(start):
            fields = line.removeprefix(start if start != "0000" else "").split()
            function, kind, _, *values = fields
            named = zip(COLUMNS, values, strict=True)
            found[function] = {"type": kind} | {
                k: v for k, v in named if not v.startswith("..") and v != ".0"
            }
    return found


EXPECTED = {
    "00000010": {
        "type": "RoCE",
        "load": "5.0",
        "store": "7.0",
        "in": "3.0",
        "in_pkts": "2000.0",
        "out": "1.0",
    },
    "00000011": {"type": "zEDC", "block": "9.0", "work": "250.0", "util": "25"},
    "00000012": {"type": "ISM", "refresh": "11.0", "out": "2.0"},
    "00000013": {"type": "NVMe", "read": "1.0", "write": "4.0"},
}


def test_what_functions_did_by_the_format_of_their_block(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        assert rows(session.report("fcx322")) == EXPECTED
        log = session.report("fcx323")
    assert rows(log, ">>Mean>>") == EXPECTED
    assert rows(log, "09:02:00") == EXPECTED


def test_a_function_that_rested_for_half_the_time(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a", seconds=(60, 0))]) as session:
        assert rows(session.report("pciact"))["00000011"] == {
            "type": "zEDC", "block": "4.5", "work": "125.0", "util": "13",
        }  # fmt: skip
        assert rows(session.report("pcilog"), "09:02:00")["00000012"] == {"type": "ISM"}


def test_who_has_which_function(tmp_path: Path) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        text = session.report("fcx311")
    assert [line.split() for line in text.split("\n") if line.startswith("0000")] == [
        ["00000010", "RoCE", "LINUX01", "00000110"],
        ["00000011", "zEDC", "........", "........"],
        ["00000012", "ISM", "........", "........"],
        ["00000013", "NVMe", "........", "........"],
    ]


@pytest.mark.parametrize("report", ["pciact", "pcilog", "pciconf"])
def test_they_are_not_bound_to_our_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: str
) -> None:
    with zlens.open([made(tmp_path / "a")]) as session:
        ours = reports.render(report, session, now=NOW)
    elsewhere = moved(tmp_path, ["D6R39", "D1R27"], "7.3", monkeypatch)
    with zlens.open([made(tmp_path / "b", elsewhere.record, elsewhere.config)]) as session:
        assert same(ours, reports.render(report, session, now=NOW))
