"""Report jobs: jobs, steps and intervals from the bytes of SMF 30, and what is not valid."""

from __future__ import annotations

from pathlib import Path

import zlens
from job_made import INTERVAL, JOB, STEP, SYSTEM, record
from readers import smf_made


def test_the_report(tmp_path: Path) -> None:
    made = [record(INTERVAL), record(STEP, 30), record(JOB, 31), record(JOB, 40, job="OTHER", counts=None)]
    with zlens.open([smf_made.dump(tmp_path / "a", made)]) as session:
        text = session.report("jobs")
        alone = session.report("jobs", only=["OTHER"])
    rows = [line.split()[1:] for line in text.splitlines() if " JOB00042 " in line]
    times = ["11.40", "10.00", "1.00", "2.50", ".80", "4.00"]
    counted = ["6000.0", "1000.0", "990.0", "500.0", "2600.0", "772", "650"]
    assert rows == [
        ["23:14:32", "PAYROLL", "JOB00042", "BATCHHI", *times, *counted],
        ["23:14:41", "OTHER", "JOB00042", "BATCHHI", *times, *["." * 10] * 5, "......", "......"],
        ["23:14:31", "PAYROLL", "JOB00042", "1", "STEP1", "IEFBR14", "BATCHHI", *times, *counted],
        ["23:14:00", "PAYROLL", "JOB00042", "1", "STEP1", "IEFBR14", "interval", "BATCHHI", *times, *counted],
    ]
    assert "system address spaces" not in text
    assert "PAYROLL" not in alone
    with zlens.open([smf_made.dump(tmp_path / "b", [record(SYSTEM)])]) as session:
        assert "counts of system address spaces" in " ".join(session.report("jobs").split())
