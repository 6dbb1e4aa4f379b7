"""Tests of every report of the demo's files: its systems and their numbers of rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import expected
import zlens
from zlens import demo, reports
from zlens.inputs.options import Options, parse_zone

EXPECTED = Path(__file__).parent / "reports-of-the-demo.txt"


@pytest.mark.long
def test_demo_reports_cover_systems_with_data(demo_files: list[Path]) -> None:
    """`machine` represents rows without a system, `nothing` a report without rows."""
    lines = []
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        for name in reports.names():
            rows = json.loads(reports.render(name, session, "json"))
            count = Counter(row.get("system") or "machine" for row in rows)
            told = ", ".join(f"{system} {count[system]}" for system in sorted(count))
            lines.append(f"{name}: {told or 'nothing'}\n")
    expected.check(EXPECTED, "".join(lines))
