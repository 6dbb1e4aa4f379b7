"""Tests of the RMF Monitor III CPC report in XML, with small responses."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from raw_rows import rows
from rmf_builder import DECLARATION, document, kinds, monitor3, report, utc
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers.recognition import recognize
from zlens.readers.rmf import postprocessor as rmf_xml
from zlens.readers.rmf.monitor3 import RmfMonitor3Source, detect, open_files

Answers = Callable[..., RmfMonitor3Source]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    """A function that opens contents as answer0.xml, answer1.xml, ..."""

    def go(*contents: str | bytes) -> RmfMonitor3Source:
        paths = []
        for number, content in enumerate(contents):
            path = tmp_path / f"answer{number}.xml"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            paths.append(str(path))
        return open_files(paths, Options())

    return go


def test_monitor3_rows_precede_headings(answers: Answers) -> None:
    source = answers(document(monitor3()))
    assert source.problems() == []
    found = rows(
        source, "rmf3_partition", "row_kind", "partition", "cpu_type", "weight", "physical_total_pct"
    )
    assert [tuple(row.values()) for row in found] == [
        ("total", "*CP", "CP", 100, 30.5),
        ("partition", "ALPHA", "CP", 60, 20.5),
        ("partition", "BETA", "CP", 40, 9.5),
        ("physical", "PHYSICAL", "CP", None, 0.5),
        ("total", "*IIP", "IIP", 10, 5.0),
        ("partition", "ALPHA", "IIP", 10, 5.0),
    ]
    (header,) = rows(source, "rmf3_cpc")
    assert (header["partition"], header["processors_cp"], header["mt_mode_cp"]) == ("ALPHA", 4, 2)
    assert (header["max_cf_cp"], header["avg_td_cp"], header["group_name"]) == (1.42, 1.3, None)
    assert (header["interval_start"], header["seconds"]) == (utc("2026-03-02 14:00"), 100.0)
    assert (header["samples"], header["gathered_s"], header["server_level"]) == (100, 100.0, "ZOSV3R2")


def test_monitor3_times_determine_zone(answers: Answers) -> None:
    source = answers(document(monitor3()))
    (system,) = source.systems
    assert (system.system, system.lpar, system.machine) == ("SYSA", "ALPHA", "3931-ABCDE")
    assert (system.utc_offset_s, system.local_time, system.nominal_s) == (-5 * 3600, False, 100.0)
    assert system.intervals[0].end_us == int(utc("2026-03-02 14:01:40").timestamp() * 1e6)
    assert system.threads == {"cp": 2, "ziip": 1}
    # The level is the server's, not the reported system's.
    assert system.release is None


def test_unmatched_local_time_gives_no_zone(answers: Answers) -> None:
    (system,) = answers(document(monitor3().replace("20260302090140", "20260302090141"))).systems
    assert system.utc_offset_s is None


def test_many_responses_in_one_file(answers: Answers) -> None:
    ends = ["140140", "140320", "140320", "143000"]
    source = answers("".join(document(monitor3(end=end)) for end in ends))
    assert [row["interval_end"].strftime("%H%M%S") for row in rows(source, "rmf3_cpc")] == [
        *("140140", "140320", "143000")
    ]
    found = kinds(source)
    assert found.count("duplicate") == 1
    assert found.count("gap") == 1
    assert "already read in this file" in next(p.detail for p in source.problems() if p.kind == "duplicate")


def test_overlapping_ranges_are_reported(answers: Answers) -> None:
    source = answers(document(monitor3(end="140140"), monitor3(end="140230")))
    (problem,) = source.problems()
    assert problem.kind == "time"
    assert "overlap by 50 s" in problem.detail


def test_monitor3_messages(answers: Answers) -> None:
    said = '<message id="GPM0731I"><description>The system is not there</description></message>'
    alone = monitor3(body=said)
    with pytest.raises(InputError, match="GPM0731I: The system is not there") as caught:
        answers(document(alone))
    assert "correct the request" in str(caught.value)
    source = answers(document(alone, monitor3(more=said, end="140320")))
    assert len(rows(source, "rmf3_cpc")) == 1
    assert len(rows(source, "rmf3_partition")) == 6
    (problem,) = source.problems()
    assert (problem.kind, problem.detail) == (
        "section",
        "RMF answered GPM0731I: The system is not there (2 times, the first here)",
    )


def test_other_monitor3_reports_are_reported(answers: Answers) -> None:
    with pytest.raises(InputError, match=r"RMF report SYSINFO \(SYSINFO Report\).*Monitor III reports.*CPC"):
        answers(document(monitor3(metric="SYSINFO")))


def test_postprocessor_reports_in_monitor3_are_reported(answers: Answers, tmp_path: Path) -> None:
    source = answers(document(monitor3(), report()))
    (problem,) = source.problems()
    assert problem.detail.startswith("the RMF report CPU (CPU Report) is in a file of other reports")
    assert problem.bytes
    path = tmp_path / "mixed.xml"
    path.write_text(document(report(), monitor3()))
    other = rmf_xml.open_files([str(path)], Options(tz=dt.UTC))
    (problem,) = other.problems()
    assert problem.detail.startswith("the RMF report CPC (CPC Report) is in a file of other reports")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_rmf_files_go_to_their_readers(tmp_path: Path, encoding: str) -> None:
    mine, other = tmp_path / "a.xml", tmp_path / "b.xml"
    mine.write_bytes(document(monitor3()).encode(encoding))
    other.write_bytes(document(report()).encode(encoding))
    assert recognize([str(tmp_path)]).files == {
        "rmf.monitor3": [str(mine)],
        "rmf.postprocessor": [str(other)],
    }


def test_ebcdic_monitor3_is_rejected(answers: Answers) -> None:
    data = document(monitor3()).encode("cp037")
    assert detect(data, len(data))
    with pytest.raises(InputError, match="EBCDIC"):
        answers(data)


def test_unknown_monitor3_names_are_stored_as_text(answers: Answers) -> None:
    text = (
        monitor3().replace("CPCPUPID", "CPCPNEWS").replace("<name>CPCHLMAX</name>", "<name>CPCHNEWS</name>")
    )
    source = answers(document(text))
    assert sorted(p.detail for p in source.problems()) == [
        "'CPCHNEWS' is not in the catalog; stored as text",
        "'CPCPNEWS' is not in the catalog; stored as text",
    ]
    kept = [
        (r["segment"], r["row_no"], r["name"], r["value"])
        for r in rows(source, "rmf3_other")
        if "NEWS" in r["name"]
    ]
    assert kept == [
        ("Caption", None, "CPCHNEWS", "70"),
        ("Rows", 1, "CPCPNEWS", "4"),
        ("Rows", 2, "CPCPNEWS", "5"),
    ]


def test_undocumented_monitor3_names_are_accepted(answers: Answers) -> None:
    source = answers(document(monitor3().replace("<name>CPCHLMAX</name>", "<name>CPCHMDLX</name>")))
    assert source.problems() == []
    assert [(r["name"], r["value"]) for r in rows(source, "rmf3_other")] == [("CPCHMDLX", "70")]


def test_rows_without_headings_or_of_unknown_kind(answers: Answers) -> None:
    whole = monitor3()
    heads = whole[whole.index("<column-headers>") : whole.index("</report>")]
    source = answers(document(whole.replace(heads, "")))
    assert [p.detail for p in source.problems()] == ["6 rows without column headings; not read"]
    assert len(rows(source, "rmf3_cpc")) == 1
    source = answers(document(whole.replace("<col>CP</col><col>60</col>", "<col>CQ</col><col>60</col>")))
    (problem,) = source.problems()
    assert problem.detail == "a row of kind 'CQ'"
    assert [r["row_kind"] for r in rows(source, "rmf3_partition")][1] == "other"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("<utc-end>20260302140140</utc-end>", "<utc-end>noon</utc-end>", "ends 'noon', not a date and time"),
        ("<utc-end>20260302140140</utc-end>", "", "without a time in UTC"),
        ("<utc-end>20260302140140</utc-end>", "<utc-end>20261332140140</utc-end>", "not a date and time"),
    ],
)
def test_monitor3_report_without_time_is_not_read(answers: Answers, old: str, new: str, word: str) -> None:
    good = monitor3(end="150000")
    source = answers(document(monitor3().replace(old, new), good))
    assert len(rows(source, "rmf3_cpc")) == 1
    (problem,) = source.problems()
    assert problem.kind == "time"
    assert word in problem.detail
    assert problem.bytes


def test_invalid_monitor3_interval_length(answers: Answers) -> None:
    source = answers(document(monitor3().replace('seconds">100</data-range>', 'seconds">-</data-range>')))
    assert [row["seconds"] for row in rows(source, "rmf3_cpc")] == [None]
    assert kinds(source) == ["time"]
    source = answers(document(monitor3().replace('seconds">100</data-range>', 'hours">100</data-range>')))
    assert [row["seconds"] for row in rows(source, "rmf3_cpc")] == [None]
    assert "'100' hours long, not a number of seconds" in source.problems()[0].detail
    source = answers(document(monitor3().replace('seconds">100</data-range>', 'seconds">300</data-range>')))
    (problem,) = source.problems()
    assert "300 s long, but its ends are 100 s apart" in problem.detail


def test_truncated_monitor3_keeps_complete_reports(answers: Answers) -> None:
    text = document(monitor3(), monitor3(end="140320")).encode()
    cut = text.rindex(b"BETA")
    source = answers(text[:cut])
    assert [(r["flag"], r["partition"]) for r in rows(source, "rmf3_cpc")] == [
        (None, "ALPHA"),
        ("cut", "ALPHA"),
    ]
    # Rows of the second report are not read without headings.
    assert len(rows(source, "rmf3_partition")) == 6
    assert sorted(kinds(source)) == ["section", "truncated"]


def test_xml_declaration_alone_is_not_recognized() -> None:
    text = (DECLARATION + "<ddsml><server/></ddsml>").encode()
    assert not detect(text, len(text))


def test_other_formats_do_not_import_rmf_readers(tmp_path: Path) -> None:
    path = tmp_path / "smf"
    path.write_bytes(bytes.fromhex("0012 0000 0202 0000 0000 0124 001f c1c1 c1c1"))
    code = (
        "import sys; from zlens.readers.recognition import recognize; "
        "print(recognize([sys.argv[1]]).files.keys()); "
        "print([name for name in sys.modules if name.startswith('zlens.readers.rmf')])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "dict_keys(['smf.dump'])",
        "['zlens.readers.rmf', 'zlens.readers.rmf.xml_encoding']",
    ]
