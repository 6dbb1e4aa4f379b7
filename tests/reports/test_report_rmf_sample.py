"""Tests of the partition report of a real machine against the values that RMF printed.

Publication: RMF Postprocessor CPU report of a z15 T02, 263 half-hours of April 2022, from the history of
zowe/zebra (EPL-2.0). The tests read RMF's text from the XML without zlens' readers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

import zlens
from zlens import _native

SAMPLE = Path(__file__).resolve().parents[2].parent / "shared/samples/rmf/rmf-postprocessor-cpu-8562-z15.xml"

pytestmark = pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample of a real machine is not here")

#: Positions of columns in RMF's partition data, and columns of zlens with RMF's decimals.
TEXTS = {1: "status", 3: "weight", 4: "msu_defined", 6: "cap_text", 8: "logical_cpus"}
PERCENTS = {
    12: "effective_pct",
    13: "total_pct",
    14: "phys_lpmgt_pct",
    15: "phys_effective_pct",
    16: "phys_total_pct",
}


def printed() -> Iterator[tuple[str, str, str | None, list[str]]]:
    """Yield the rows that RMF printed: interval end, partition, processor type and texts."""
    for interval in ElementTree.parse(SAMPLE).getroot().iter("postprocessor"):
        end = datetime.strptime(interval.findtext("time-data/display-end", ""), "%m/%d/%Y-%H.%M.%S")
        for part in interval.iter("part"):
            if part.findtext("name") == "Partition Data":
                for row in part.iter("row"):
                    # An inactive partition has one cell less.
                    cells = [*(cell.text or "" for cell in row.iter("col")), ""][:17]
                    yield end.isoformat() + "Z", cells[0], cells[9] or None, cells


def seconds(text: str) -> float:
    hours, minutes, rest = re.fullmatch(r"(\d+)\.(\d+)\.(\d+\.\d+)", text).groups()  # type: ignore[union-attr]
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def test_every_value_of_rmf_is_in_report() -> None:
    with zlens.open(SAMPLE) as session:
        rows = json.loads(session.report("partition", "json"))
        text = session.report("partition")
    ours = {
        (row["interval_end"], row["partition"], row["cpu_type"]): row
        for row in rows
        if row["row"] == "interval"
    }
    theirs = list(printed())
    assert len(theirs) == len(ours) == 263 * 17
    exact = off = 0
    for end, partition, kind, cells in theirs:
        row = ours[end, partition, kind]
        for place, key in TEXTS.items():
            value = row[key]
            # RMF leaves the number of processors of a total blank.
            if not (partition == "TOTAL" and key == "logical_cpus"):
                assert cells[place] == (
                    "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
                )
        if cells[5]:
            assert _native.number_text(row["msu_actual"], 20, 0).strip() == cells[5]
        for place, key in PERCENTS.items():
            if not cells[place]:
                assert row[key] is None
                continue
            if _native.number_text(row[key], 20, 2) == _native.number_text(float(cells[place]), 20, 2):
                exact += 1
                continue
            # RMF divides times before it truncates them to milliseconds: the last digit may differ.
            off += 1
            assert abs(row[key] - float(cells[place])) < 0.0055
        for place, key in ((10, "effective_s"), (11, "total_s")):
            if cells[place]:
                # RMF's totals are also of untruncated times, those of zlens of printed ones.
                assert abs(row[key] - seconds(cells[place])) < (0.0065 if partition == "TOTAL" else 1e-6)
    assert off < exact / 100
    assert "CPU 8562-Z02   SN 5ED28" in text
    assert text.count("\n13:00:00 VIRPT ") >= 5
