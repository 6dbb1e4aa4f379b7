"""Tests of report rows: means, totals, interval rows, blocks, folding, footnotes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fake_session import FakeSession
from io_builder import devices

import monwrite_builder as monwrite
import zlens
from zlens import reports
from zlens.catalog.reports import definition, definition_file
from zlens.errors import CatalogError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.reports import rows, text_format

NOW = datetime(2026, 11, 21, 8, 0, 0)
START = datetime(2026, 11, 20, 23, 58, 0, tzinfo=UTC)

# A report with every kind of row.
REPORT = """
title = "Every Kind of Row"
text = "t"
source = "s"
status = "verified"
needs = "records of processors"
means = "plain"
[[tables]]
key = "t"
query = '''SELECT system, interval_end, seconds, flag, busy_pct IS NOT NULL OR user_pct IS NOT NULL AS known,
cpu_id, cpu_type, busy_pct, user_pct FROM cpu'''
time = "interval_end"
subject = ["cpu_id", "cpu_type"]
groups = { busy = "Busy" }
measures = ["cpu"]
[tables.columns]
cpu_id = { heading = "CPU", type = "id", width = 3, keep = true, total = "count" }
cpu_type = { heading = "Type", type = "text", width = 5 }
busy_pct = { heading = "Total", group = "busy", width = 6, decimals = 1, total = "sum" }
user_pct = { heading = "User", group = "busy", width = 6, decimals = 2, total = "max" }
[[tables.rows]]
kind = "mean"
label = ">>Mean>>"
[[tables.rows]]
kind = "total"
label = ">>MofM>>"
rule = "mean"
[[tables.rows]]
kind = "total"
label = ">>Mean>>"
cells = { cpu_type = ">Sum" }
[[tables.rows]]
kind = "interval"
blank = true
[[tables.rows]]
kind = "total"
of = "interval"
cells = { cpu_type = ">Sum" }
[[tables.rows]]
kind = "query"
of = "interval"
query = '''SELECT system, interval_end, NULL AS cpu_id, 'AllP' AS cpu_type, avg(busy_pct) AS busy_pct,
NULL AS user_pct FROM cpu GROUP BY system, interval_end'''
"""


def report(text: str = REPORT) -> definition.ReportDefinition:
    return definition_file.read(text, "every.toml", "every")


def cpu(
    system: str, minute: int, cpu_id: int, busy: float | None, flag: str | None = None
) -> dict[str, object]:
    return {
        "system": system,
        "source": "zvm-monitor",
        "interval_end": START + timedelta(minutes=minute),
        "seconds": 60.0,
        "flag": flag,
        "cpu_id": cpu_id,
        "cpu_type": "IFL",
        "busy_pct": busy,
        "user_pct": None if busy is None else busy / 2,
    }


def system(name: str, **values: object) -> dict[str, object]:
    return {"system": name, "source": "zvm-monitor", **values}


def body(
    session: FakeSession, definition: definition.ReportDefinition, width: int | None = None
) -> list[str]:
    """Return the lines below the rule of the first block, without footnotes."""
    text = reports.render(definition, session, now=NOW, width=width)
    return text.split("___\n", 1)[1].split("\n* ")[0].strip("\n").split("\n")


def lines_of(tables: Mapping[str, list[dict[str, object]]]) -> list[str]:
    return body(FakeSession(tables), report())


def test_every_kind_of_row() -> None:
    printed = lines_of(
        {
            "system": [system("A")],
            "cpu": [
                cpu("A", 1, 0, 10.0),
                cpu("A", 1, 1, 20.0),
                cpu("A", 2, 0, 30.0),
                cpu("A", 2, 1, 60.0),
            ],
        }
    )
    assert printed == [
        "Interval           <-- Busy --->",
        "End Time CPU Type   Total   User",
        ">>Mean>>   0 IFL     20.0  10.00",
        ">>Mean>>   1 IFL     40.0  20.00",
        ">>MofM>>   2         30.0  15.00",
        ">>Mean>>   2 >Sum    60.0  20.00",
        "",
        "2026/11/20",
        "23:59:00   0 IFL     10.0   5.00",
        "23:59:00   1 IFL     20.0  10.00",
        "23:59:00   2 >Sum    30.0  10.00",
        "23:59:00 ... AllP    15.0 ......",
        "",
        "2026/11/21",
        "00:00:00   0 IFL     30.0  15.00",
        "00:00:00   1 IFL     60.0  30.00",
        "00:00:00   2 >Sum    90.0  30.00",
        "00:00:00 ... AllP    45.0 ......",
    ]


def test_peak_has_time_and_no_flagged_row() -> None:
    """The peak of each processor has its day where the report spans several; a gap has none."""
    rows = [cpu("A", 1, 0, 30.0), cpu("A", 1, 1, 20.0), cpu("A", 3, 0, 10.0), cpu("A", 3, 1, 60.0)]
    rows += [cpu("A", 4, 0, 90.0, "gap"), cpu("A", 4, 1, None)]
    peaks = report(REPORT.replace('subject = ["cpu_id"', 'peak = "busy_pct"\nsubject = ["cpu_id"'))
    printed = body(FakeSession({"system": [system("A")], "cpu": rows}), peaks)
    assert [line for line in printed if line.startswith(">>Peak>>")] == [
        ">>Peak>>   0 IFL     30.0  15.00 2026/11/20 23:59:00",
        ">>Peak>>   1 IFL     60.0  30.00 2026/11/21 00:01:00",
    ]
    with pytest.raises(CatalogError, match="peak is not a number column of the table"):
        report(REPORT.replace('subject = ["cpu_id"', 'peak = "cpu_type"\nsubject = ["cpu_id"'))


def test_flagged_rows_are_shown_and_not_averaged() -> None:
    printed = lines_of(
        {
            "system": [system("A")],
            "cpu": [
                cpu("A", 3, 0, 10.0),
                cpu("A", 4, 0, 90.0, "gap"),
                cpu("A", 5, 0, 80.0, "short"),
                cpu("A", 6, 0, None),
            ],
        }
    )
    assert ">>Mean>>   0 IFL     10.0   5.00" in printed
    assert "00:02:00   0 IFL     90.0  45.00 gap" in printed
    assert "00:03:00   0 IFL     80.0  40.00 short" in printed
    assert "00:04:00   0 IFL   ...... ......" in printed


def test_report_means_are_ratios_of_sums() -> None:
    """A processor that was online for a fifth of an interval has a weight of a fifth."""
    text = REPORT.replace('means = "plain"\n', "").replace(
        "user_pct FROM cpu'", "user_pct, online_pct FROM cpu'"
    )
    tables = {
        "system": [system("A")],
        "cpu": [
            {**cpu("A", 3, 0, 10.0), "online_pct": 100.0},
            {**cpu("A", 4, 0, 70.0), "online_pct": 20.0},
        ],
    }
    for report_text, busy, user in ((text, "20.0", "20.00"), (REPORT, "40.0", "20.00")):
        printed = body(FakeSession(tables), report(report_text))
        assert f">>Mean>>   0 IFL     {busy}  {user}" in printed


def test_incomplete_sum_is_dotted() -> None:
    unknown = {**cpu("A", 3, 1, 2.0), "busy_pct": None}
    printed = lines_of({"system": [system("A")], "cpu": [cpu("A", 3, 0, 10.0), unknown]})
    assert ">>Mean>>   2 >Sum  ......   5.00" in printed
    assert "00:01:00   2 >Sum  ......   5.00" in printed


def test_total_weights_rows_by_time() -> None:
    """A processor is online in the last two of four minutes, and one value is unknown in the first."""
    tables = {
        "system": [system("A")],
        "cpu": [
            *(cpu("A", minute, 0, 30.0) for minute in range(1, 5)),
            {**cpu("A", 1, 1, 2.0), "busy_pct": None},
            # The first sample of a processor that comes online has no values and is left out.
            cpu("A", 2, 2, None),
            cpu("A", 3, 2, 60.0),
            {**cpu("A", 4, 2, 60.0), "seconds": 30.0},
        ],
    }
    printed = lines_of(tables)
    assert ">>Mean>>   3 >Sum    60.0  30.00" in printed, "(30 + 90 + 60) / 3 minutes, and the largest mean"
    assert "00:02:00   2 >Sum    60.0  30.00" in printed, "half of 60, for half a minute"


def test_subjects_have_natural_order() -> None:
    printed = lines_of({"system": [system("A")], "cpu": [cpu("A", 3, i, 1.0) for i in (10, 9, 2, 0)]})
    means = [line.split()[1] for line in printed if line.startswith(">>Mean>>") and "IFL" in line]
    assert means == ["0", "2", "9", "10"]


def test_block_for_each_system() -> None:
    session = FakeSession(
        {
            "system": [system("B", release="7.3.0"), system("A"), system("C")],
            "cpu": [cpu("B", 1, 0, 10.0), cpu("A", 1, 0, 20.0)],
        }
    )
    text = reports.render(report(), session, now=NOW)
    assert text.count("Every Kind of Row") == 3
    places = [text.index(found) for found in (" A\n", " 20.0  10.00", " B\n", " 10.0   5.00", " C\n")]
    assert places == sorted(places)
    assert text.split(" C\n")[1].count("It needs: records of processors") == 1
    assert "z/VM V.7.3.0" in text


def test_one_block_for_one_machine() -> None:
    """A report of the machine has one header, whichever system reported an interval."""
    machine = REPORT.replace('needs = "', 'block = "machine"\nneeds = "', 1).replace(
        "SELECT system,", "SELECT '2964-12F17' AS machine,"
    )
    machine = machine[: machine.index('[[tables.rows]]\nkind = "query"')]
    head = {"machine": "2964-12F17", "machine_type": "2964", "serial": "12F17"}
    session = FakeSession(
        {
            "system": [system("A", **head), system("B", **head)],
            "interval": [
                {
                    **system(name),
                    "interval_start": START + start,
                    "interval_end": START + timedelta(minutes=9),
                }
                for name, start in (("A", timedelta(minutes=1)), ("B", timedelta(0)))
            ],
            "cpu": [cpu("A", 1, 0, 10.0), cpu("B", 2, 0, 20.0)],
        }
    )
    text = reports.render(report(machine), session, now=NOW)
    assert text.count("Every Kind of Row") == 1
    assert "From 2026/11/20 23:58:00" in text
    assert "For    540 Secs 00:09:00" in text
    assert " 2964-12F17\n" in text
    assert ">>Mean>>   0 IFL     15.0   7.50" in text


@pytest.mark.parametrize("every", [None, 3600, 86_400])
def test_header_time_range_ignores_every(tmp_path: Path, every: int | None) -> None:
    """Buckets end on full hours and days, after the end of the data."""
    path = devices(tmp_path / "a", [{0x145: {"rate": 1.0}}] * 3, minutes=30)
    with zlens.open([path], options=Options(every_s=every, utc=True)) as session:
        text = session.report("device")
        ((last,),) = session.sql('SELECT max(interval_end) FROM "interval"').rows
    first, to, span = (
        next(line for line in text.split("\n") if line.startswith(f"{word} "))
        for word in ("From", "To", "For")
    )
    assert first.startswith("From 2026/03/02 09:00:00")
    assert to.startswith("To   2026/03/02 10:30:00")
    assert span.startswith("For   5400 Secs 01:30:00")
    assert f"{last:%H:%M}" == {None: "10:30", 3600: "11:00", 86_400: "00:00"}[every]


def test_report_without_systems_names_records() -> None:
    session = FakeSession({})
    assert (
        reports.render(report(), session, now=NOW)
        == "every: no system in this input; records of processors\n"
    )
    assert reports.render(report(), session, "json", now=NOW) == "[]\n"
    assert reports.render(report(), session, "csv", now=NOW).count("\n") == 1
    assert "No system in this input" in reports.render(report(), session, "html", now=NOW)


def test_columns_are_folded_only_in_terminal() -> None:
    tables = {"system": [system("A")], "cpu": [cpu("A", 3, 0, 10.0)]}
    narrow = body(FakeSession(tables), report(), 30)
    assert narrow[:7] == [
        "(part 1 of 2)",
        "",
        "Interval",
        "End Time CPU Type",
        ">>Mean>>   0 IFL",
        ">>MofM>>   1",
        ">>Mean>>   1 >Sum",
    ]
    second = narrow.index("(part 2 of 2)")
    assert narrow[second + 2 : second + 5] == [
        "Interval     <-- Busy --->",
        "End Time CPU  Total   User",
        ">>Mean>>   0   10.0   5.00",
    ]
    assert all(len(line) <= 30 for line in narrow)
    assert body(FakeSession(tables), report(), 200) == body(FakeSession(tables), report())


def test_header_and_missing_text_fit_terminal() -> None:
    system_row = system("A") | {"release": "zlens-sim", "source": "zvm-monitor", "synthetic": True}
    longer = definition_file.read(
        REPORT.replace("records of proc", "records of very, " * 9 + "proc"), "x", "every"
    )
    text = reports.render(longer, FakeSession({"system": [system_row]}), now=NOW, width=80)
    assert '"synthetic, not measured" z/VM zlens-sim' in text
    assert f"It needs: {'records of very, ' * 9}processors *" in " ".join(text.split())
    assert max(map(len, text.split("\n"))) == 80


def test_fixed_cell_text_is_not_missing() -> None:
    own = """
[[tables.rows]]
kind = "query"
label = ">>None>>"
cells = { busy_pct = "--" }
query = "SELECT system, cpu_id, cpu_type, busy_pct, user_pct FROM cpu"
"""
    only = definition_file.read(REPORT.split("[[tables.rows]]")[0] + own, "x", "every")
    row = cpu("A", 3, 0, 10.0) | {"busy_pct": None, "user_pct": None}
    (block,) = rows.fetch(only, FakeSession({"system": [system("A")], "cpu": [row]}))
    assert [column.key for column in rows.columns_without_values(block)] == ["user_pct"]


def test_headings_are_broken_only_if_necessary() -> None:
    tables = {"system": [system("A")], "cpu": [cpu("A", 3, 0, 10.0)]}
    narrow = body(FakeSession(tables), report(), 20)
    assert [line for line in narrow if "part" in line] == [f"(part {i} of 3)" for i in (1, 2, 3)]
    assert narrow[narrow.index("(part 2 of 3)") + 2] == "Interval     <Busy>"


def test_long_names_are_printed_in_full() -> None:
    row = cpu("A", 3, 0, 10.0) | {"cpu_type": "IFL-AND-MORE"}
    printed = body(FakeSession({"system": [system("A")], "cpu": [row]}), report())
    assert printed[1] == "End Time CPU Type          Total   User"
    assert ">>Mean>>   0 IFL-AND-MORE   10.0   5.00" in printed


def test_long_names_are_truncated_only_in_terminal() -> None:
    name = "A" * 10 + "-NAME-" + "Z" * 20
    row = cpu("A", 3, 0, 10.0) | {"cpu_type": name}
    session = FakeSession({"system": [system("A")], "cpu": [row]})
    narrow = body(session, report(), 30)
    assert f">>Mean>>   0 {name[:17]}" in narrow
    assert max(map(len, narrow)) == 30
    assert ">>Mean>>   1 >Sum" in narrow
    assert f">>Mean>>   0 {name}   10.0   5.00" in body(session, report(), 132)
    assert f">>Mean>>   0 {name}   10.0   5.00" in body(session, report())


def test_local_times() -> None:
    tables = {
        "system": [system("A", utc_offset_s=-5 * 3600)],
        "interval": [
            {
                **system("A"),
                "interval_start": START,
                "interval_end": START + timedelta(minutes=3),
                "seconds": 180.0,
            }
        ],
        "cpu": [cpu("A", 3, 0, 10.0)],
    }
    local = reports.render(report(), FakeSession(tables), now=NOW)
    assert "From 2026/11/20 18:58:00" in local
    assert "\n19:01:00   0 IFL" in local
    assert "* Times are local to the system (UTC-05:00)." in local
    utc = reports.render(report(), FakeSession(tables, utc=True), now=NOW)
    assert "\n00:01:00   0 IFL" in utc
    assert "* Times are UTC." in utc
    unknown = {**tables, "system": [system("A", local_time=True)]}
    assert "local to a zone it does not name" in reports.render(report(), FakeSession(unknown), now=NOW)


def test_new_day_has_date_line() -> None:
    tables = {"system": [system("A")], "cpu": [cpu("A", minute, 0, 10.0) for minute in (1, 2, 3)]}
    printed = reports.render(report(), FakeSession(tables, utc=True), now=NOW)
    assert "\n2026/11/20\n23:59:00" in printed
    assert "\n2026/11/21\n00:00:00" in printed
    assert printed.count("\n2026/11/21\n") == 1


def test_footnotes() -> None:
    noted = report(
        REPORT + '[[notes]]\ntext = "Always."\n'
        '[[notes]]\ntext = "On 6.3."\nwhen = "SELECT 1 FROM system WHERE release = \'6.3.0\'"\n'
        '[[notes]]\ntext = "On 7.1."\nwhen = "SELECT 1 FROM system WHERE release = \'7.1.0\'"\n'
    )
    problem = Problem("A", "zvm-monitor", "f", 4096, "D0R2", "truncated", "cut off", 12)
    session = FakeSession(
        {
            "system": [system("A", release="6.3.0", synthetic=True)],
            "cpu": [cpu("A", 3, 0, 10.0) | {"user_pct": None}],
        },
        problems=[problem, problem],
    )
    text = reports.render(noted, session, now=NOW)
    foot = [line for line in text.split("\n") if line.startswith("* ")]
    assert foot == [
        "* Synthetic data, written by zlens; nothing in it was measured.",
        '* 2 problems while reading, see: zlens sql INPUT -q "SELECT * FROM problem"',
        "* Always.",
        "* On 6.3.",
        "* Not available in this input: User.",
        "* More about every column: zlens explain every",
        "* Times are UTC.",
    ]
    assert '"synthetic, not measured"' in text


def test_noted_status_is_footnote() -> None:
    text = REPORT.replace('total = "sum"', 'total = "sum", status = "unverified"')
    tables = {"system": [system("A")], "cpu": [cpu("A", 3, 0, 10.0)]}
    printed = reports.render(report(text), FakeSession(tables), now=NOW)
    assert "* Not verified: the formula is not confirmed by a published number: Total." in printed


def test_means_do_not_carry_interval_rows_into_python() -> None:
    """Reports of thousands of guests print only means, so they query only means."""
    text = REPORT[: REPORT.index('[[tables.rows]]\nkind = "interval"')]
    tables = {"system": [system("A")], "cpu": [cpu("A", m, c, 1.0) for m in range(50) for c in range(3)]}
    session = FakeSession(tables)
    (block,) = rows.fetch(report(text), session)
    assert [len(section) for _, parts in block.tables for part in parts for section in part] == [3, 1, 1]
    assert all("GROUP BY" in question for question in session.questions[2:])


def test_group_headings() -> None:
    assert text_format.group_heading("Percent Busy", 23) == "<--- Percent Busy ---->"
    assert text_format.group_heading("Rates per Sec.", 23) == "<-- Rates per Sec. --->"
    assert text_format.group_heading("Rate/s", 10) == "<-Rate/s->"
    assert text_format.group_heading("Percent Busy", 6) == "<Perc>"


def test_last_bucket_ends_with_data(tmp_path: Path) -> None:
    """Four minutes in buckets of three: the second ends where the header says that the data ends."""
    file = monwrite.write(
        tmp_path / "x.mon", [monwrite.configuration(monwrite.START_US), *monwrite.minutes(5)]
    )
    with zlens.open([file], options=zlens.Options(every_s=180, utc=True)) as session:
        for name in ("prclog", "procsum", "lparlog"):
            text = "".join(reports.chunks(name, session._core))
            assert "\nTo   2026/03/02 09:04:00" in text
            assert "09:06:00" not in text
        assert "\n09:03:00  0 " in "".join(reports.chunks("prclog", session._core))
        assert "\n09:04:00  0 " in "".join(reports.chunks("prclog", session._core))
