"""Tests of rules on z/OS: ready work, from XML of the RMF Postprocessor, and page data sets, from SMF 71."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from readers import smf113_builder
from readers.section_builder import rmf
from rmf_builder import document, half_hours, part, segment, table, variables


def written(folder: Path, within: str, out_ready: str) -> Path:
    """Write three half-hours with this share of samples without waiting work, and average out and ready."""
    heads = ["Type", *(f"Number of Address Spaces: {which}" for which in ("MIN", "MAX", "AVG"))]
    body = segment(
        "CPU Activity",
        part(
            table(heads, ["IN READY Queue|0|9|3.0", f"OUT READY Queue|0|4|{out_ready}"]),
            "System Address Space Analysis",
        ),
        part(
            variables({"Avg Number of Processors Online and Unparked (N)": "2.0"})
            + table(["Number of Work Units", "% of Samples"], [f"&lt;=N|{within}", "=N+1|1.0"]),
            "Distribution of In-ready Work Unit Queue",
        ),
    )
    path = folder / "cpu.xml"
    path.write_text(document(*half_hours(3, body=body)))
    return path


@pytest.mark.parametrize(
    ("within", "out_ready", "expected"),
    [("39.9", "1.5", {"RMF-001": 60.1, "RMF-002": 1.5}), ("40.0", "1.0", {})],
)
def test_waiting_work(tmp_path: Path, within: str, out_ready: str, expected: dict[str, float]) -> None:
    with zlens.open([written(tmp_path, within, out_ready)]) as session:
        found = {f.rule.id: f.value for f in session.findings() if f.rule.id.startswith("RMF")}
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("available", "severity"), [(6000, "warn"), (2000, "crit"), (7000, None)])
def test_full_local_page_data_sets(tmp_path: Path, available: int, severity: str | None) -> None:
    """IBM, messages IRA205I and IRA200E: 30% and 70% of the slots; here 40%, 80% and 30% of 10,000."""
    paging = {"TSC": 10_000, "LVU": available, "AVU": available}
    records = [record for quarter in (1, 2, 3) for record in rmf(71, 900 * quarter, {"paging": [paging]})]
    with zlens.open([smf113_builder.dump(tmp_path / "a.smf", records)]) as session:
        found = {f.rule.id: f.severity for f in session.findings() if f.rule.id == "PAG-011"}
    assert found == ({"PAG-011": severity} if severity else {})
