"""Tests of a dump with counter and RMF records in a lake: their different intervals are found there too."""

from __future__ import annotations

from pathlib import Path

import zlens
from iterations import iterations
from overlap_builder import mixed
from zlens import lake
from zlens.inputs.options import Options

QUESTIONS = (
    "SELECT interval_end, polarity, parked_pct FROM cpumf ORDER BY ALL",
    "SELECT interval_end, seconds, cpu_id, parked_pct FROM cpu ORDER BY ALL",
    "SELECT kind, detail FROM problem WHERE kind = 'time' ORDER BY ALL",
)


def test_overlapping_counters_in_lake_equal_dump(tmp_path: Path) -> None:
    path = mixed(tmp_path / "a.smf", 1.5)
    folder = tmp_path / "lake"
    lake.add([path], folder)
    for options in (Options(), Options(every_s=900), Options(every_s=600))[: iterations(3, 1)]:
        with zlens.open([path], options=options) as dump, zlens.open([folder], options=options) as stored:
            for question in QUESTIONS:
                assert stored.sql(question).rows == dump.sql(question).rows
