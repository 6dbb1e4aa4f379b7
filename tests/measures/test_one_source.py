"""Tests that data of several sources for one system and time is shown from one source and never added."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens import cli, demo
from zlens.errors import InputError
from zlens.inputs.options import ALL, Options
from zlens.models import interval_choice

#: Measures with data from both the SMF records and the RMF report of the demo.
BOTH = ("cec", "cpu", "load", "partition")


@pytest.fixture(scope="module")
def inputs(demo_folder: Path) -> list[Path]:
    return [demo_folder / demo.SMF_NAME, demo_folder / demo.RMF_NAME]


def counted(inputs: list[Path], source: str | None, query: str) -> list[tuple[Any, ...]]:
    with zlens.open(inputs, options=Options(source=source)) as session:
        return session.sql(query).rows


@pytest.mark.parametrize("measure", BOTH)
def test_measure_has_rows_of_one_source(inputs: list[Path], measure: str) -> None:
    query = f"SELECT source, count(*) FROM {measure} GROUP BY source ORDER BY source"
    both = counted(inputs, ALL, query)
    assert [source for source, _ in both] == ["rmf-xml", "smf"]
    # Equally long: the source with more measures.
    assert counted(inputs, None, query) == [both[1]]
    assert counted(inputs, "smf", query) == [both[1]]
    assert counted(inputs, "rmf-xml", query) == [both[0]]


def test_source_without_overlap_is_also_shown(inputs: list[Path]) -> None:
    # The RMF report has no counters and no service classes.
    for measure in ("cpumf", "workload"):
        query = f"SELECT source, count(*) FROM {measure} GROUP BY source"
        assert counted(inputs, "rmf-xml", query) == counted(inputs, ALL, query)
    # A machine has one observer: the shown source of the system.
    query = "SELECT DISTINCT source FROM partition"
    assert counted(inputs, None, query) == [("smf",)]
    assert counted(inputs, "rmf-xml", query) == [("rmf-xml",)]


def test_consecutive_recordings_are_both_shown(inputs: list[Path], tmp_path: Path) -> None:
    later = tmp_path / "later.xml"
    text = inputs[1].read_text(encoding="utf-8")
    later.write_text(re.sub("03/09/2010", "03/10/2010", text), encoding="utf-8")
    query = "SELECT source, count(*) FROM cpu GROUP BY source ORDER BY source"
    assert later.read_text(encoding="utf-8") != text
    assert counted([inputs[0], later], None, query) == counted(inputs, ALL, query)


def test_longer_recording_is_shown_first(inputs: list[Path], tmp_path: Path) -> None:
    # Two of four quarters of an hour of SMF remain.
    with zlens.open(inputs[0]) as session:
        first, last = session.sql("SELECT min(interval_end), max(interval_end) FROM load").rows[0]
        middle = first + (last - first) / 2
        cut = session.sql(
            f"SELECT min(\"offset\") FROM smf70_cpu WHERE interval_end > TIMESTAMPTZ '{middle}'"
        ).rows[0][0]
    half = tmp_path / "half.smf"
    half.write_bytes(inputs[0].read_bytes()[:cut])
    found = counted([half, inputs[1]], None, "SELECT source, count(*) FROM load GROUP BY source")
    assert found == [("rmf-xml", 4)]


def test_interfaces_show_one_source_and_list_others(
    inputs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    names = [*map(str, inputs)]
    assert cli.main(["report", "partition", *names]) == 0
    text = capsys.readouterr().out
    assert "Several sources describe ZLZ1" in text
    assert "--source rmf-xml" in text
    assert cli.main(["report", "partition", str(inputs[0])]) == 0
    alone = capsys.readouterr().out
    assert "Several sources" not in alone
    rows = re.compile(r"^ *\d\d:\d\d|^>>", re.MULTILINE)
    assert len(rows.findall(text)) == len(rows.findall(alone)) > 0
    assert cli.main(["report", "partition", *names, "--source", ALL]) == 0
    assert "Several sources" not in capsys.readouterr().out
    with zlens.open(inputs) as session:
        assert len(interval_choice.complete_intervals(session._core, "ZLZ1")) == 4


def test_unknown_source_is_rejected(inputs: list[Path]) -> None:
    with pytest.raises(InputError, match="there is no source rmf"):
        zlens.open(inputs, options=Options(source="rmf"))


def test_listing_with_its_records_counts_once(demo_folder: Path, tmp_path: Path) -> None:
    records, listing = demo_folder / demo.MONWRITE_NAME, tmp_path / "user.txt"
    assert cli.main(["report", "user", str(records), "-o", str(listing)]) == 0
    query = "SELECT source, count(*), sum(cpu_s) FROM guest GROUP BY source ORDER BY source"
    alone = counted([records], None, query)
    found = counted([records, listing], None, query)
    printed = counted([records, listing], ALL, query)
    # Printed means of the entire time repeat the values, to the digits of the report.
    assert [source for source, *_ in printed] == ["listing-means", "zvm-monitor"]
    assert printed[0][2] == pytest.approx(printed[1][2], rel=1e-3)
    assert found == alone


def test_machine_is_not_observed_twice_by_local_times(demo_folder: Path) -> None:
    """The z/VM system of the machine is its observer, so SMF has no rows that the report could repeat."""
    inputs = [demo_folder / name for name in (demo.MONWRITE_NAME, demo.SMF_NAME, demo.RMF_NAME)]
    for measure in ("partition", "cec"):
        query = f"SELECT DISTINCT system, source FROM {measure}"
        assert counted(inputs, None, query) == [("ZLDEMO", "zvm-monitor")]
        assert ("ZLZ1", "rmf-xml") in counted(inputs, "rmf-xml", query)
        assert ("ZLZ1", "rmf-xml") in counted(inputs, ALL, query)


def test_times_have_the_zone_of_their_source(inputs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The report has local times of an unknown zone, which do not change those of SMF in the same input."""
    names = list(map(str, inputs))

    def printed(*arguments: str) -> str:
        cli.main(list(arguments))
        return capsys.readouterr().out

    # Both recorded the hour from 08:30.
    assert printed("findings", *names).splitlines()[1:3] == [
        "ZLZ1  rmf-xml  2010/03/09 08:30:00 to 09:30:00, 4 intervals",
        "ZLZ1  smf  2010/03/09 08:30:00 to 09:30:00, 60 intervals",
    ]
    query = "SELECT system, source, first_time, last_time FROM system"
    rows = [line.split("  ") for line in printed("sql", *names, "-q", query).splitlines()[2:]]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["ZLZ1", "rmf-xml", "2010-03-09 08:30:00", "2010-03-09 09:30:00"],
        ["ZLZ1", "smf", "2010-03-09 08:30:00+01:00", "2010-03-09 09:30:00+01:00"],
    ]
    # Without a source, times are those of SMF.
    query = "SELECT system, min(interval_end) AS first FROM cpumf GROUP BY system"
    assert "2010-03-09 08:31:00+01:00" in printed("sql", *names, "-q", query)
    query = "SELECT [system] AS system, interval_end FROM cpumf ORDER BY 2 LIMIT 1"
    assert "2010-03-09 07:31:00+00:00" in printed("sql", *names, "-q", query)
    query = "SELECT system, [source] AS source, interval_end FROM cpumf ORDER BY 3 LIMIT 1"
    assert "2010-03-09 08:31:00+01:00" in printed("sql", *names, "-q", query)
    report = printed("report", "workload", *names)
    alone = printed("report", "workload", names[0])
    span = r"^From 2010/03/09 08:30:00 .*\nTo   2010/03/09 09:30:00 .*\nFor   3600 Secs"
    assert re.search(span, report, re.M)
    assert re.search(span, alone, re.M)
    assert "Times are local to the system (UTC+01:00). Those of rmf-xml are of an unknown zone" in report
    assert "Times are local to the system (UTC+01:00).\n" in alone
    assert "Times are from the source, local to a zone" in printed("report", "rmfcpu", names[1])
