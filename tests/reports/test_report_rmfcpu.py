"""Tests of the report rmfcpu: the order of totals, and a sample of a real machine.

Publication: RMF Postprocessor CPU report of a z15 T02, April 2022, from the history of zowe/zebra (EPL-2.0).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest
from msgspec.structs import replace

import zlens
from zlens import demo, reports
from zlens.api import Session
from zlens.catalog.reports import definition
from zlens.inputs.options import Options, parse_zone
from zlens.reports.rows import rows_sql

SAMPLE = Path(__file__).resolve().parents[2].parent / "shared/samples/rmf/rmf-postprocessor-cpu-small.xml"


def numbers(line: str) -> list[str]:
    """Return the numbers of a line as zlens prints them, without a zero before the point."""
    return [re.sub(r"^0(?=\.)", "", word) for word in re.findall(r"(?<!\S)\d*\.\d+(?!\S)", line)]


def lines(text: str, title: str) -> list[str]:
    """Return the lines of one table."""
    body = text.split(f"\n{title}\n\n", 1)[1]
    return re.split(r"\n\n(?:[A-Z][A-Za-z ]+\n\n|\* )", body)[0].splitlines()


def test_totals_are_in_order_of_rmf() -> None:
    """CP, AAP, IIP, whatever the order of the system's numbers."""
    report = definition.load_report("rmfcpu")
    (table,) = (table for table in report.tables if table.key == "processors")
    for rows in table.rows:
        if rows.kind == "query":
            values_sql = "(VALUES ('S', NULL::TIMESTAMP, 'ZIIP'), ('S', NULL, 'CP'), ('S', NULL, 'ZAAP')) "
            values_sql += "AS own(system, interval_end, cpu_type)"
            columns = {column.column for column in table.columns} - {"cpu_type"}
            nulls = ", ".join(f'NULL AS "{name}"' for name in sorted(columns - {"rmf_type"}))
            own = replace(rows, query=f"SELECT *, cpu_type AS rmf_type, {nulls} FROM {values_sql}")
            place = 3 + [column.column for column in table.columns].index("rmf_type")
            result = duckdb.sql(rows_sql(table, own, "system")).fetchall()
            assert [row[place] for row in result] == ["CP", "ZAAP", "ZIIP"]


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample of a real machine is not here")
def test_same_report_from_postprocessor() -> None:
    """The test reads RMF's text from the XML without zlens' reader."""
    rows = [[cell.text or "" for cell in row.iter("col")] for row in ElementTree.parse(SAMPLE).iter("row")]
    printed = [row for row in rows if row[:2] in (["0", "CP"], ["1", "CP"])]
    with zlens.open([SAMPLE]) as opened:
        text = opened.report("rmfcpu")
    shown = [line for line in lines(text, "Processors") if line.startswith("00:30:00")]
    assert [numbers(line) for line in shown] == [numbers(" ".join(row)) for row in printed]
    assert "z/OS V2R5" in text


def test_rmfcpu_without_data() -> None:
    from fakes import FakeSource, system
    from fakes import session as fake

    with fake([FakeSource([system()], [])]) as opened:
        assert "This input has no data for this report" in opened.report("rmfcpu")


def test_rmfcpu_has_one_row_per_interval(demo_folder: Path) -> None:
    """SMF 70 and the Postprocessor's XML describe the same intervals of the demo's z/OS."""
    files = [demo_folder / demo.SMF_NAME, demo_folder / demo.RMF_NAME]
    with zlens.open(files, options=Options(tz=parse_zone(demo.ZONE))) as opened:
        text = opened.report("rmfcpu")
    times = [line[:8] for line in lines(text, "System") if re.match(r"\d\d:", line)]
    assert times == ["08:45:00", "09:00:00", "09:15:00", "09:30:00"]
    # 1.11 of SMF and V1R11 of RMF are the same release.
    assert text.splitlines()[5].split('"')[-1].split() == ["z/OS", "V1R11"]


def test_least_and_most_of_mean_row_are_of_all_intervals(dump_session: Session) -> None:
    rows = json.loads(reports.render("rmfcpu", dump_session._core, "json"))
    system = [row for row in rows if row["table"] == "system"]
    (mean,) = (row for row in system if row["row"] == "mean")
    intervals = [row for row in system if row["row"] == "interval"]
    assert len({row["ready_most"] for row in intervals}) > 1
    assert mean["ready_least"] == min(row["ready_least"] for row in intervals)
    for name in ("ready_most", "waiters_most"):
        assert mean[name] == max(row[name] for row in intervals)


def test_report_without_data_has_no_notes(sim_session: Session) -> None:
    """The processors of the demo's z/VM have threads, which a note of the report explains."""
    text = sim_session.report("rmfcpu")
    assert "This input has no data for this report" in text
    assert "second line of a core" not in text
