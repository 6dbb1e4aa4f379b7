"""Tests that the additions of CONTRIBUTING.md need only the files named there to be read and shown."""

from __future__ import annotations

from typing import Any

import pytest

from facts_copy import answers, changed

CPUMF = "measures/cpumf+cpumf_type+cpumf_polarity.toml"
#: A record type: its layout, roles of its fields and a measure of these, from the skeletons.
RECORD_TYPE = {
    "smf/sections/199.toml": changed("smf/sections/_skeleton.toml", {}),
    "roles/unit.toml": changed(
        "roles/_skeleton.toml",
        {
            'entity = "skeleton"': 'entity = "unit"',
            'table = "d0r2"\n': 'table = "smf199_unit"\n',
            '{ field = "SYTPRP_PFXCPUAD" }': '{ field = "SMF199NAM" }',
            '{ field = "SYTPRP_PFXUTIME", take = "difference", scale = "tod" }': '{ field = "SMF199USE" }',
            'subject_id = { type = "int"': 'subject_id = { type = "text"',
        },
    ),
    "measures/unit.toml": changed(
        "measures/_skeleton.toml",
        {
            'table = "skeleton"\n': 'table = "unit"\nrows = "FROM role.unit AS unit"\n',
            "no_reader = true": "no_reader = false",
            'formula = ""             #': 'formula = "unit.subject_id"             #',
            "\n# Columns that share keys": """
[[column]]
name = "used_pct"
type = "float"
unit = "%"
text = "share of the interval in which it was used"
formula = "100 * unit.used_time / seconds"
aggregate = "ratio"
weight = "seconds"
status = "derived"
source = "the record"

# Columns that share keys""",
        },
    ),
}
#: A metric of hardware counters: a column over the role `counter`.
METRIC = {
    CPUMF: changed(
        CPUMF,
        {
            '[[column]]\nname = "ghz"\n': """[[column]]
name = "problem_cycles_pct"
type = "float"
unit = "%"
text = "share of the cycles in problem state"
formula = "100 * counter.c32 / counter.c0"
aggregate = "ratio"
weight = "cycles"
status = "derived"
source = "the counters"

[[column]]
name = "ghz"
""",
        },
    ),
}
METRIC_REPORT = {
    "reports/hardware_counters/cpumflog.toml": changed("reports/hardware_counters/cpumflog.toml", {})
    .replace(" cpu_type, l1mp,", " cpu_type, problem_cycles_pct, l1mp,")
    .replace(
        "{mean cpumf_type.l1mp} AS l1mp,",
        "{mean cpumf_type.l1mp} AS l1mp, {mean cpumf_type.problem_cycles_pct} AS problem_cycles_pct,",
    )
    .replace('"cpu_type", "l1mp",', '"cpu_type", "problem_cycles_pct", "l1mp",')
    .replace("\nl2p = {", '\nproblem_cycles_pct = { heading = "PCYC", width = 6, decimals = 1 }\nl2p = {'),
}
#: A column of a measure that a report shows.
COLUMN = {
    "measures/job.toml": changed("measures/job.toml", {})
    + """
[[column]]
name = "srb_pct"
type = "float"
unit = "%"
text = "service requests relative to tasks"
formula = "100 * srb_s / tcb_s"
aggregate = "ratio"
weight = "tcb_s"
status = "derived"
source = "definition"
""",
    "reports/zos_workloads/jobs.toml": changed("reports/zos_workloads/jobs.toml", {})
    .replace("cp_s, tcb_s, srb_s,", "cp_s, tcb_s, srb_s, srb_pct,")
    .replace("\nenclave_s = {", '\nsrb_pct = { heading = "SRB%", group = "time", width = 6 }\nenclave_s = {'),
}
#: A chart of the web UI.
CHART = {
    "subjects/job.toml": changed("subjects/job.toml", {}).replace(
        "\n[[chart]]\n",
        """
[[chart]]
name = "mips"
title = "Instructions"
lines = [{ column = "cp_mips", name = "CP" }]

[[chart]]
""",
        1,
    ),
}

ASK = """
import json
import sys
import zlens
from smf30_builder import END_US, JOB, record as job_record
from smf113_rows import opened, row
from zlens._native import SmfWriter
from zlens.catalog import smf_sections, smf_writer, subjects
from zlens.checks import measures as check_measures, records as check_records
from zlens.explain.names import explain
from zlens.reports import load_report, names


def dump(name, records):
    path = f"{sys.argv[1]}/{name}.smf"
    writer = SmfWriter(path)
    writer.write(records)
    writer.finish()
    return zlens.open([path])


def rows(session, query):
    return [list(row) for row in session.sql(query).rows]


for name in names():
    load_report(name)
found = {"wrong": [*check_records.check_catalog(), *map(str, check_measures.check())]}
units = [{"NAM": "A", "USE": 15, "FLG": ["ON"], "NUM": 7}, {"NAM": "B", "USE": 3}]
sections = {"product": [{"IST": END_US - 60_000_000, "IET": END_US, "XNM": "PLEX1"}], "unit": units}
layout = smf_sections.layout("199")
record = smf_writer.encode_record(layout, 1, system="SYSA", local_us=END_US, sections=sections)
with dump("units", [record]) as session:
    columns = "seconds, smf199nam, smf199use, smf199flg_on, smf199_number"
    found["raw"] = rows(session, f"SELECT {columns} FROM smf199_unit")
    found["measure"] = rows(session, "SELECT system, subject_id, used_pct FROM unit")
    found["sysplex"] = [info.sysplex for info in session.systems]
    found["title"] = rows(session, "SELECT DISTINCT title FROM inventory")
found["explained"] = explain("smf199use")
with opened([row({"B0": 2e9, "B1": 1e9, "P32": 5e8}, generation="z16")]) as session:
    found["metric"] = rows(session, "SELECT problem_cycles_pct FROM cpumf_type")
    found["cpumflog"] = session.report("cpumflog")
with dump("jobs", [job_record(JOB)]) as session:
    found["column"] = rows(session, "SELECT tcb_s, srb_s, srb_pct FROM job")
    found["jobs"] = session.report("jobs")
found["charts"] = next(each for each in subjects.entries() if each["table"] == "job")["chart"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Answers of a package whose facts include all additions."""
    folder = tmp_path_factory.mktemp("additions")
    files = RECORD_TYPE | METRIC | METRIC_REPORT | COLUMN | CHART
    said: dict[str, Any] = answers(folder, files, ASK, str(folder))
    return said


def test_additions_pass_check(found: dict[str, Any]) -> None:
    assert found["wrong"] == []


def test_record_type_is_three_files(found: dict[str, Any]) -> None:
    assert len(RECORD_TYPE) == 3
    assert found["raw"] == [[60, "A", 15, True, 7], [60, "B", 3, False, 0]]
    assert found["measure"] == [["SYSA", "A", 25], ["SYSA", "B", 5]]
    assert found["sysplex"] == ["PLEX1"]
    assert found["title"] == [["skeleton: what it reports"]]
    assert "unit.used_time" in found["explained"]


def test_metric_is_one_file_and_report_row(found: dict[str, Any]) -> None:
    assert len(METRIC) == len(METRIC_REPORT) == 1
    assert found["metric"] == [[25]]
    assert "PCYC" in found["cpumflog"]


def test_column_is_file_of_measure_and_file_of_report(found: dict[str, Any]) -> None:
    assert len(COLUMN) == 2
    ((tasks, requests, share),) = found["column"]
    assert share == pytest.approx(100 * requests / tasks)
    assert "SRB%" in found["jobs"]


def test_chart_is_one_file(found: dict[str, Any]) -> None:
    assert len(CHART) == 1
    assert found["charts"][0]["title"] == "Instructions"
    assert found["charts"][0]["unit"] == "MIPS"
