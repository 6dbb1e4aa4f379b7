"""Report caf: capability as a Linux on Z is told of it, held against a published table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zlens
from sysinfo_made import SYSINFO, folder, texts

#: IBM, z/VM support for eighty logical processors, table 2 (3906-M05): processors, CAF, n x c(n) as printed.
PUBLISHED = ((16, "0.721", "11.54"), (32, "0.646", "20.67"), (48, "0.603", "28.94"), (64, "0.578", "36.99"),
             (80, "0.554", "44.32"))  # fmt: skip


def report(tmp_path: Path, adjustments: dict[int, int], form: str = "json") -> str:
    lines = [line for line in SYSINFO.splitlines() if not line.startswith("Adjustment")]
    place = next(k for k, line in enumerate(lines) if line.startswith("Secondary"))
    lines[place:place] = [f"Adjustment {cpus:02}-way:    {value}" for cpus, value in adjustments.items()]
    made = texts(proc__sysinfo="\n".join(lines) + "\n")
    with zlens.open([folder(tmp_path / "s", made)]) as session:
        return session.report("caf", format=form)


def test_what_ibm_printed_of_a_z14(tmp_path: Path) -> None:
    told = {cpus: round(float(factor) * 65536) for cpus, factor, _ in PUBLISHED}
    # Between them the machine states others, or each would stand for all up to the next.
    between = {cpus + 1: value - 1 for cpus, value in told.items()}
    rows = {row["cpus"]: row for row in json.loads(report(tmp_path, dict(sorted((told | between).items()))))}
    for cpus, factor, together in PUBLISHED:
        assert rows[str(cpus)]["factor"] == pytest.approx(float(factor), abs=0.0005)
        assert rows[str(cpus)]["together"] == pytest.approx(float(together), abs=0.005)


def test_numbers_of_one_factor_are_one_row(tmp_path: Path) -> None:
    text = report(tmp_path, {2: 62000, 3: 61000, 4: 61000, 5: 61000}, "text")
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("22:14:00")]
    assert lines == [
        ["1", "......", "1.000", "1.00"],
        ["2", "62000", ".946", "1.89"],
        ["3-5", "61000", ".931", "......."],
    ]


def test_a_guest_that_is_told_nothing_has_no_report(tmp_path: Path) -> None:
    assert "This input has nothing for this report" in report(tmp_path, {}, "text")
