"""Printed reports against files.

Each case is a folder tests/golden/report-<case>: `input.json` has rows by table, `command` the arguments of
`zlens report`, `expected.txt` what is printed. ZLENS_GOLDEN=write writes them anew; read the difference then.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from fake_session import FakeSession, columns_of

import zlens
from zlens import reports
from zlens.problems import Problem
from zlens.reports import definition

GOLDEN = Path(__file__).parent.parent / "golden"
CASES = sorted(path.name for path in GOLDEN.glob("report-*"))
NOW = datetime(2026, 11, 21, 8, 0, 0)


def opened(folder: Path, utc: bool) -> FakeSession:
    """The rows of input.json: by table, either objects or `columns` and `rows`; times are ISO texts."""
    data = json.loads((folder / "input.json").read_text(encoding="utf-8"))
    problems = [Problem(**problem) for problem in data.pop("problem", [])]
    tables = {}
    for table, given in data.items():
        rows = given
        if isinstance(given, dict):
            rows = [dict(zip(given["columns"], row, strict=True)) for row in given["rows"]]
        times = {name for name, kind in columns_of(table).items() if kind == "time"}
        tables[table] = [
            {k: datetime.fromisoformat(v) if k in times and v else v for k, v in row.items()} for row in rows
        ]
    return FakeSession(tables, problems, utc=utc)


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    folder = GOLDEN / case
    words = shlex.split((folder / "command").read_text(encoding="utf-8"))
    assert words[:2] == ["zlens", "report"]
    format = words[words.index("--format") + 1] if "--format" in words else "text"
    # Not an option of the command, which asks the terminal.
    width = int(words[words.index("--width") + 1]) if "--width" in words else None
    text = reports.render(words[2], opened(folder, "--utc" in words), format, now=NOW, width=width)
    # The version is the program's, not the report's.
    text = re.sub(rf"zlens {re.escape(zlens.__version__)}", "zlens x.y.z", text)
    expected = folder / "expected.txt"
    if os.environ.get("ZLENS_GOLDEN") == "write":
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_there_are_cases_for_every_report() -> None:
    """A case here, or a test file that prints it from records: rows of measures do not feed every report."""
    asked = [shlex.split((GOLDEN / case / "command").read_text(encoding="utf-8"))[2] for case in CASES]
    printed = {definition.find(name) for name in asked}
    words = set()
    for path in Path(__file__).parent.glob("test_report_*.py"):
        words |= set(re.findall(r'"([a-z0-9_]+)"', path.read_text(encoding="utf-8")))
    left = set(reports.names()) - printed - words
    assert {name for name in left if definition.load(name).number.lower() not in words} == set()
