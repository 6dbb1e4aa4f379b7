"""SYSTEM against the published layout of the report.

Publication: IBM Docs, Performance Toolkit for z/VM 7.3, "FCX102, System Counters". Counters are fed that give
its counts, and every printed field is held against it, with three exceptions: the sample's figures of HPF are
placeholders (99999 and 99.9), its rates of three lines are not those of its counts in any one interval (927,
503 and 275 where 60 s give 928, 504 and 276), and lines that z/VM counts no longer are not in ours.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from moved_pages import moved, same

import zlens
from monwrite_made import (
    CONFIG,
    MINUTE_US,
    SIM_CONFIG,
    START_US,
    configuration,
    interval,
    record,
    sim_record,
    write,
)
from zlens import reports
from zlens.catalog.reports import definition

OWN = (sim_record, SIM_CONFIG)

LISTING = """
Real SSCH instructions    9673    161    Real CSCH instructions       1     .0
Real HSCH instructions       0     .0    El. time slice drops       336    5.6
SVC instr. simulated         0     .0    SVC interrupts reflectd      0     .0
SVC 76 reflected             0     .0    Diagnose I/O requests      489    8.2
FP external call simul.      0     .0    FP partial executions     7449    124
Fast-path SIGP simulat.      0     .0    FP simul of Diag.X'44'       0     .0
Diag.X'9C', Not Ready       18     .3    Diag.X'9C', Wait State     642   10.7
Diag.X'9C', Soft Wait        7     .1    Diag.X'9C', Alr.Dispat.   9553    159
FP successful x-lates       19     .3    CCW chains not FP-elig.      0     .0
Fast-path aborts             0     .0    Total FP xlate attempts     19     .3
Nr. of SIE executions    55674    928    Nr. of SIE intercepts    30232    504
Entries to enabled wait  16548    276    CP issued Diag.X'44'         0     .0
Subpool FREE req bk <2G  34118    569    Total FREE req bk <2G    34118    569
Subpool FREE req bk >2G 178404   2973    Total FREE req bk >2G   178407   2973
Storage fast clears        294    4.9
Avail lst frame req <2G   1052   17.5    Avail lst frame req >2G    740   12.3
Available lst empty <2G      0     .0    Available lst empty >2G      0     .0
"""

#: What happened on two processors: fields of D0R1 and D0R2.
ACTIVITY: Mapping[str, tuple[int, int]] = {"PLSCTSS": (9000, 673), "PLSCTCS": (1, 0), "PLSCTHS": (0, 0)}
ENTRIES: Mapping[str, tuple[int, int]] = {
    "PFXRUNCP": (20_000, 10_000),
    "PLSFPPFSUCCESS": (7_000, 3_000),
    "PFXFSTPX": (5_000, 2_000),
    "PFXFSTXC": (3_000, 1_000),
    "PFXFSTSG": (2_000, 1_000),
    "PFXFST44": (600, 400),
    "PLSWRUCP": (374, 300),
}
SYSTEM: Mapping[str, int] = {
    "FTRDONE": 19,
    "ZLTSDROP": 336,
    "ZLDIAGIO": 489,
    "ZLFPPART": 7449,
    "ZL9CNRDY": 18,
    "ZL9CWAIT": 642,
    "ZL9CSOFT": 7,
    "ZL9CDISP": 9553,
    "ZLSIEINT": 30232,
    "ZLENWAIT": 16548,
    "ZLFRSUBB": 34118,
    "ZLFRTOTB": 34118,
    "ZLFRSUBA": 178404,
    "ZLFRTOTA": 178407,
    "ZLFCLEAR": 294,
    "ZLAVREQB": 1052,
    "ZLAVREQA": 740,
}


def made(path: Path, way: Any = OWN, prefixes: tuple[str, ...] = ("PLS", "PFX", "FTR", "ZL")) -> Path:
    """Two samples a minute apart; the counters of the first are near their wrap."""
    written, config = way
    groups = [configuration(START_US - 1_000_000, config)]
    for sample in (0, 1):
        end = START_US + sample * MINUTE_US
        records = []
        for cpu in (0, 1):
            for name, prefix, counts in (("D0R1", "SYTSYP", ACTIVITY), ("D0R2", "SYTPRP", ENTRIES)):
                values = {
                    f"{prefix}_{key}": (2**32 - 100 + sample * count[cpu]) % 2**32
                    for key, count in counts.items()
                }
                values |= {f"{prefix}_PFXCPUAD": cpu, f"{prefix}_PFXCPUTY": 3}
                if prefixes == ("5.3",):
                    values = {k: v for k, v in values.items() if k not in NEWER}
                records.append(written(name, end - 200, values))
        values = {f"SYTSYG_{key}": 5 + sample * count for key, count in SYSTEM.items()}
        if prefixes == ("5.3",):
            values = {k: v for k, v in values.items() if "_ZL" not in k}
        records.append(written("D0R19", end - 100, values))
        groups.append(interval(end, records))
    return write(path, groups)


NEWER = {f"SYTPRP_{key}" for key in ENTRIES} - {"SYTPRP_PFXRUNCP"}


def printed(path: Path) -> str:
    with zlens.open([path]) as session:
        assert session.all_problems() == []
        return session.report("fcx102")


def cells(text: str) -> dict[str, tuple[str, str]]:
    """Count and rate of every operation."""
    found = re.findall(r"([A-Z][^\n]{4,23}?) +([\d.]+) +([\d.k]+)(?= |\n|$)", text)
    return {name.strip(): (count, rate) for name, count, rate in found}


def test_the_published_figures(tmp_path: Path) -> None:
    text = printed(made(tmp_path / "x")).split("Operation", 1)[1]
    assert "Lines of dots" not in text
    wanted = cells(LISTING)
    assert len(wanted) == 33
    found = cells(text)
    assert {name: found[name] for name in wanted} == wanted


def test_lines_are_counted_in_place_of_columns(tmp_path: Path) -> None:
    """35 lines have a value and 26 are of what z/VM counts no longer: the report is not partial."""
    only = tmp_path / "reports"
    only.mkdir()
    shutil.copy(definition.files()["system"], only)
    with zlens.open([made(tmp_path / "x")]) as session:
        (entry,) = reports.listing(session, only)
    assert (entry.columns, entry.known, entry.available, entry.state) == (35, 61, 35, "available")
    with zlens.open([made(tmp_path / "old", (record, CONFIG), ("5.3",))]) as session:
        (entry,) = reports.listing(session, only)
    assert (entry.known, entry.available, entry.state) == (61, 7, "partial")


def test_fields_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = moved(tmp_path, ["D0R2", "D0R19"], "7.3", monkeypatch)
    first = printed(made(tmp_path / "own"))
    second = printed(made(tmp_path / "moved", (elsewhere.record, elsewhere.config)))
    assert "178407" in first
    assert same(*(re.sub("Run .{19}", "", text) for text in (first, second)))


def test_what_5_3_tells(tmp_path: Path) -> None:
    """Real layouts alone: what they have is counted, the others are dots."""
    text = printed(made(tmp_path / "x", (record, CONFIG), ("5.3",)))
    found = cells(text)
    assert found["Real SSCH instructions"] == ("9673", "161")
    assert found["FP successful x-lates"] == ("19", ".3")
    assert found["Nr. of SIE executions"] == (".........", "....")
    assert "Storage Management" not in text
    assert "* Lines of dots: " in text
