"""Report rmfcpu, and partition, from SMF 70-1, held against published listings.

Publications: IBM, "z/VM and simultaneous multithreading", 2015 and 2020: the RMF CPU Activity report of four
zIIPs with MT=2; smf2db, quick start (MIT license): reports made of SMF 70 records of the zPDT system S0W1.
RMF Postprocessor CPU report of a z15 T02, April 2022, from the history of zowe/zebra (EPL-2.0). Counters are
fed that give the figures.
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
from measures.test_smf70 import S0W1_S, ZIIP_S, four_ziips, s0w1
from smf70_made import Cpu, Logical, Lpar, record, session
from zlens.catalog.reports import definition
from zlens.reports.rows import question

SAMPLE = Path(__file__).resolve().parents[2].parent / "shared/samples/rmf/rmf-postprocessor-cpu-small.xml"

#: NUM, TYPE, ONLINE, LPAR BUSY, MVS BUSY, PARKED, PROD, UTIL, SHARE %, as IBM shows them; the second line
#: of a core has the thread's MVS busy and parked time alone.
PUBLISHED = """
 4   IIP 100.00 78.23     67.24      0.00 87.30 68.29 100.0
                          58.40      0.00
 5   IIP 100.00 59.46     50.57      0.00 85.64 50.92 100.0
                          41.88      0.00
 6   IIP 100.00 80.77     70.34      0.00 88.38 71.38 100.0
                          62.20      0.00
 7   IIP 100.00 63.67     55.08      0.00 86.43 55.03 100.0
                          45.52      0.00
TOTAL/AVERAGE   70.53     56.41           86.94 61.41 400.0
"""
ANALYSIS = "IIP       2      1.473        1.283       1.600"


def numbers(line: str) -> list[str]:
    """The numbers of a line, written as ours are: without a zero before the point."""
    return [re.sub(r"^0(?=\.)", "", word) for word in re.findall(r"(?<!\S)\d*\.\d+(?!\S)", line)]


def lines(text: str, title: str) -> list[str]:
    """The lines of one table."""
    body = text.split(f"\n{title}\n\n", 1)[1]
    return re.split(r"\n\n(?:[A-Z][A-Za-z ]+\n\n|\* )", body)[0].splitlines()


def test_cores_and_threads_as_ibm_shows_them() -> None:
    with session({"SYSA": [four_ziips()]}, ZIIP_S) as made:
        assert made.all_problems() == []
        text = made.report("rmfcpu")
    assert text.splitlines()[5].endswith(" z/OS 3.1")
    printed = PUBLISHED.strip("\n").splitlines()
    shown = [line for line in lines(text, "Processors") if line.startswith("22:24:14")]
    assert [numbers(line) for line in shown] == [numbers(line) for line in printed[:-1]]
    assert [line.split()[1] for line in shown] == [str(core) for core in (4, 5, 6, 7) for _ in range(2)]
    # The first is of the means; there is one interval.
    (_, total) = (line for line in lines(text, "Processors") if line.startswith("TOTAL/AVERAGE "))
    # RMF's average of MVS busy is of figures not rounded yet: its eight printed ones give 56.40.
    assert numbers(total) == [word.replace("56.41", "56.40") for word in numbers(printed[-1])]
    (row,) = (line for line in lines(text, "Multithreading Analysis") if line.startswith("22:24:14"))
    assert row.split()[2] == "2"
    assert numbers(row)[:3] == numbers(ANALYSIS)
    # Total zIIP core utilization 245.62 %; available 400 % - 245.62 % = 154.38 %.
    assert numbers(row)[-3:] == ["400.00", "245.62", "154.38"]


def test_a_system_without_multithreading() -> None:
    with session({"S0W1": [s0w1()]}, S0W1_S) as made:
        text = made.report("rmfcpu")
        rows = json.loads(made.report("rmfcpu", "json"))
    shown = [numbers(line) for line in lines(text, "Processors") if line.startswith("22:43:59")]
    assert shown == [
        ["100.00", "4.24", "3.49", ".00", "100.0", "5.71", ".25"],
        ["100.00", "2.55", "1.87", ".00", "100.0", "2.11", ".18"],
        ["100.00", "5.91", "4.70", ".00", "100.0", "1.28", ".39"],
        ["100.00", "6.85", "5.70", ".00", "100.0"],
        ["100.00", "1.36", ".69", ".00", "100.0"],
        ["100.00", ".89", ".21", ".00", "100.0"],
    ]
    totals = [numbers(line) for line in lines(text, "Processors") if line.startswith("TOTAL/AVERAGE ")][2:]
    # smf2db adds the percentages of TPI up, to 0.83; ours is 42 of 16,380 interrupts.
    assert totals == [["4.23", "3.35", "300.0", "9.10", ".26"], ["3.03", "2.20", "300.0"]]
    assert [row for row in rows if row["table"] == "multithreading"] == []
    heads = next(line for line in text.splitlines() if line.startswith("End Time Core"))
    (_, _, first, second) = (line for line in text.splitlines() if line.startswith("TOTAL/AVERAGE "))
    assert [line[heads.index("Type") :].split()[0] for line in (first, second)] == ["CP", "IIP"]
    assert {row["cpu_type"] for row in rows if row["table"] == "processors"} == {"CP", "IIP"}


def test_partition_data_as_smf2db_shows_it() -> None:
    with session({"S0W1": [s0w1()]}, S0W1_S) as made:
        text = made.report("partition")
    shown = [line.split() for line in text.splitlines() if line.startswith("22:43:59")]
    assert [row[1:3] for row in shown] == [
        ["SYSPLEX", "CP"],
        ["*PHYSICAL*", "CP"],
        ["TOTAL", "CP"],
        ["SYSPLEX", "ZIIP"],
        ["TOTAL", "ZIIP"],
    ]
    figures = [numbers(" ".join(row)) for row in shown]
    assert figures[0][1:8] == ["217.095", "228.521", "4.02", "4.23", ".11", "2.01", "2.12"]
    assert figures[1] == ["7.843", ".07", ".07"]
    assert figures[2][1:6] == ["217.095", "236.364", ".18", "2.01", "2.19"]
    # Its physical columns of zIIPs are 0.00 by a fault of its own.
    assert figures[3][1:5] == ["155.461", "163.643", "2.88", "3.03"]


def test_totals_are_in_the_order_of_rmf() -> None:
    """CP, AAP, IIP, whatever the order of the system's own numbers."""
    report = definition.load("rmfcpu")
    (table,) = (table for table in report.tables if table.key == "processors")
    for rows in table.rows:
        if rows.kind == "query":
            made = "(VALUES ('S', NULL::TIMESTAMP, 'ZIIP'), ('S', NULL, 'CP'), ('S', NULL, 'ZAAP')) "
            made += "AS own(system, interval_end, cpu_type)"
            columns = {column.column for column in table.columns} - {"cpu_type"}
            nulls = ", ".join(f'NULL AS "{name}"' for name in sorted(columns - {"rmf_type"}))
            own = replace(rows, query=f"SELECT *, cpu_type AS rmf_type, {nulls} FROM {made}")
            place = 3 + [column.column for column in table.columns].index("rmf_type")
            asked = duckdb.sql(question(table, own, "system")).fetchall()
            assert [row[place] for row in asked] == ["CP", "ZAAP", "ZIIP"]


def test_what_the_system_tells_of_itself() -> None:
    control = {
        "MCR": 1000, "WLA": 400, "LAC": 250, "GAU": -5, "CAI": 90, "CCR": 1, "PMT": 5, "PML": 20,
        "PMI": 1800, "PMW": 900, "PMP": 7, "HHF": 0xC0,
    }  # fmt: skip
    lpar = Lpar("A", 1, [Logical("CP", 0, 10, 9)], fields={"PFL": 0x4000, "GNM": "GROUP1", "GMU": 800})
    made = record(100, [lpar], [Cpu(0, 0, 80)], own=1, physical={"CP": 4}, control=control)
    made["product"][0]["FLA"] = 0x40
    made["asid"] = [{"RMN": 0, "RMM": 3, "RTT": 360}]
    with session({"A": [made]}, 100) as opened:
        text = opened.report("rmfcpu")
    (row,) = (line for line in lines(text, "System") if line.startswith("22:15:40"))
    assert row.split() == [
        "22:15:40", "1000", "400", "250", "GROUP1", "800", "-5", "Yes", "POWERSAVE", "ZIIP", "0", "3", ".2",
        ".5", "20", "1", ".5", "7",
    ]  # fmt: skip
    made["product"][0]["FLA"] = 0x4000
    with session({"A": [made]}, 100) as opened:
        text = opened.report("rmfcpu")
    (row,) = (line for line in lines(text, "System") if line.startswith("22:15:40"))
    # Samples that RMF calls invalid tell nothing.
    assert row.split()[-9:-8] == ["NONE"]
    assert set("".join(row.split()[-8:])) == {"."}


@pytest.mark.skipif(not SAMPLE.is_file(), reason="the sample of a real machine is not here")
def test_the_same_report_from_the_postprocessor() -> None:
    """RMF's own text, read here from the XML without our reader."""
    rows = [[cell.text or "" for cell in row.iter("col")] for row in ElementTree.parse(SAMPLE).iter("row")]
    printed = [row for row in rows if row[:2] in (["0", "CP"], ["1", "CP"])]
    with zlens.open([SAMPLE]) as opened:
        text = opened.report("rmfcpu")
    shown = [line for line in lines(text, "Processors") if line.startswith("00:30:00")]
    assert [numbers(line) for line in shown] == [numbers(" ".join(row)) for row in printed]
    assert "z/OS V2R5" in text


def test_nothing_for_it() -> None:
    from fakes import FakeSource, system
    from fakes import session as fake

    with fake([FakeSource([system()], [])]) as opened:
        assert "This input has nothing for this report" in opened.report("rmfcpu")
