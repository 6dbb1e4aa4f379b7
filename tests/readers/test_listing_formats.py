"""Tests of listings with carriage control, HTML, tabs, pages, mail, truncated lines and wrong transfers."""

from __future__ import annotations

import html
import quopri
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import listing_roundtrip
import zlens
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_time_spec
from zlens.lake import importer

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
PRCLOG = (FOLDER / "prclog-smt2.txt").read_text()
PHYSLOG = (FOLDER / "physlog.txt").read_text()
#: Columns that differ between two formats of the same listing.
PLACE = {"file", "offset", "line_number", "source"}


def rows(tmp_path: Path, text: str | bytes, table: str = "listing_prclog") -> list[dict[str, Any]]:
    path = tmp_path / "listing.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with zlens.open(str(path)) as session:
        found = listing_roundtrip.rows_of(session, table)
    return [{key: value for key, value in row.items() if key not in PLACE} for row in found]


def problems(tmp_path: Path, text: str | bytes) -> list[str]:
    path = tmp_path / "listing.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with zlens.open(str(path)) as session:
        return [problem.detail for problem in session.problems if problem.kind != "zone"]


def carriage(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(["1" + lines[0], *(f" {line}" for line in lines[1:])]) + "\n"


def pages(text: str) -> str:
    """Return every two rows on a separate page, with header and headings."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith(">>"))
    top = "\n".join(lines[:first])
    parts = ["\n".join(lines[at : at + 2]) for at in range(first, len(lines), 2)]
    return "".join(f"\f{top}\n{part}\n" for part in parts)


def repeat_headings(text: str) -> str:
    """Repeat the headings after every third row, as on a scrolled screen."""
    lines = text.splitlines()
    rule = next(at for at, line in enumerate(lines) if line.startswith("____"))
    first = next(at for at, line in enumerate(lines) if line.startswith(">>"))
    found = lines[:first]
    for at, line in enumerate(lines[first:]):
        found += ["", *lines[rule + 1 : first]] if at and at % 3 == 0 else []
        found.append(line)
    return "\n".join(found) + "\n"


def page(text: str) -> str:
    return f"<html><body><pre>{html.escape(text)}</pre></body></html>\n"


def tabs(text: str) -> str:
    """Replace blanks before every eighth column with tabs."""
    lines = []
    for line in text.splitlines():
        line = line.ljust((len(line) + 7) // 8 * 8)
        parts = [line[at : at + 8] for at in range(0, len(line), 8)]
        lines.append(
            "".join(part.rstrip() + "\t" if part.endswith("  ") else part for part in parts).rstrip()
        )
    return "\n".join(lines) + "\n"


def trailing(text: str) -> str:
    return "\r\n".join(line.ljust(133) for line in text.splitlines()) + "\r\n"


def console(text: str) -> str:
    """Add the lines of a CMS console."""
    return f"Ready; T=0.01/0.01 08:52:14\ntype prclog listing\n\n{text}\nReady; T=0.02/0.03 08:52:20\n"


def folded(text: str) -> str:
    """Split lines after 80 characters, like a terminal."""
    return "".join(
        f"{line[at : at + 80]}\n" for line in text.splitlines() for at in range(0, max(len(line), 1), 80)
    )


def flowed(text: str) -> str:
    """Wrap lines at blanks, like a mailer; blanks at the break are lost."""
    lines = (
        textwrap.wrap(line, 76, break_long_words=False, replace_whitespace=False)
        for line in text.splitlines()
    )
    return "\n".join(part for parts in lines for part in parts or [""]) + "\n"


def kept(text: str) -> str:
    """Wrap lines at blanks and preserve all blanks at line ends (RFC 3676)."""
    lines = []
    for line in text.splitlines():
        rest = line
        while len(rest) > 76 and " " in rest[:76]:
            cut = rest.rindex(" ", 0, 76) + 1
            lines.append(rest[:cut])
            rest = rest[cut:]
        lines.append(rest)
    return "\n".join(lines) + "\n"


def quoted(text: str) -> bytes:
    return quopri.encodestring(text.encode())


FORMS: list[Callable[[str], str | bytes]] = [carriage, pages, repeat_headings, page, tabs, trailing, console]
MAILED: list[Callable[[str], str | bytes]] = [folded, flowed, kept, quoted, lambda text: quoted(flowed(text))]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_listing_format_does_not_matter(form: Callable[[str], str | bytes], tmp_path: Path) -> None:
    expected = rows(tmp_path, PRCLOG)
    assert len(expected) == 9
    assert rows(tmp_path, form(PRCLOG)) == expected
    assert not problems(tmp_path, form(PRCLOG))


@pytest.mark.parametrize("form", MAILED, ids=["folded", "flowed", "kept", "quoted", "both"])
def test_mailed_listing_is_restored_and_reported(form: Callable[[str], str | bytes], tmp_path: Path) -> None:
    assert rows(tmp_path, form(PRCLOG)) == rows(tmp_path, PRCLOG)
    (problem,) = problems(tmp_path, form(PRCLOG))
    assert problem.startswith("the text was ")
    assert problem.endswith("line numbers refer to the result")


def test_truncated_line_loses_only_uncertain_cells(tmp_path: Path) -> None:
    text = "\n".join(line[:80] for line in PRCLOG.splitlines()) + "\n"
    found, expected = rows(tmp_path, text), rows(tmp_path, PRCLOG)
    known = ["cpu_id", "cpu_type", "ppd", "entitlement_pct", "dvid", "parked_pct", "busy_pct", "user_pct"]
    known += ["system_pct", "emulation_pct", "inst_sim_rate", "diag_rate", "sigp_rate"]
    assert [[row[key] for key in known] for row in found] == [[row[key] for key in known] for row in expected]
    assert all(row["pages_below_rate"] is None for row in found if "pages_below_rate" in row)
    # A rate at the end of the line may be truncated.
    text = "\n".join(line[:76] for line in PRCLOG.splitlines()) + "\n"
    assert all(row["sigp_rate"] is None for row in rows(tmp_path, text))
    assert any("line truncated at" in detail for detail in problems(tmp_path, text))


def test_interim_reports_are_intervals(tmp_path: Path, sim_file: Path) -> None:
    """Measures have the quarter-hour reports of INTERIM, and not the report of the half hour."""
    quarters = [(30, 45), (45, 60)]
    query = "SELECT userid, interval_end, round(cpu_s, 1), flag FROM guest WHERE cpu_s > 0 ORDER BY ALL"

    def within(first: int, last: int, every_s: int | None = None) -> Options:
        start, end = (parse_time_spec(f"2024-05-14 {9 + at // 60:02}:{at % 60:02}") for at in (first, last))
        return Options(start=start, end=end, every_s=every_s)

    def printed(first: int, last: int) -> str:
        with zlens.open(sim_file, options=within(first, last)) as session:
            return session.report("user")

    path = tmp_path / "interim.txt"
    path.write_text("\n".join(printed(*each) for each in quarters))
    with zlens.open(sim_file, options=within(30, 60, every_s=900)) as session:
        expected = session.sql(query).rows
    with zlens.open(path) as session:
        assert session.sql(query).rows == expected
        assert [problem for problem in session.problems if problem.kind != "zone"] == []
    # The report of the half hour has the end of the last quarter: it is stored, but in no measure.
    path.write_text(path.read_text() + "\n" + printed(30, 60))
    with zlens.open(path) as session:
        assert session.sql(query).rows == expected
        [detail] = {problem.detail.partition(": ")[2] for problem in session.problems}
        assert detail.startswith("the interval has 1800 s; another report with the same end has 900 s")


def test_several_reports_are_in_one_file(tmp_path: Path) -> None:
    text = PRCLOG + "\n" + PHYSLOG.removeprefix("1") + "\n" + (FOLDER / "sysset-smt2.txt").read_text()
    assert len(rows(tmp_path, text)) == 9
    assert len(rows(tmp_path, text, "listing_physlog")) == 6
    assert len(rows(tmp_path, text, "listing_sysset_threads")) == 5


DATES = ["2015/02/14", "2015-02-14", "02/14/15", "02/14/2015"]


@pytest.mark.parametrize("date", DATES)
def test_cms_dates_are_read(date: str, tmp_path: Path) -> None:
    text = PRCLOG.replace("2015/02/14", date).replace("2015/02/15", date)
    assert [row["interval_end"] for row in rows(tmp_path, text)] == [
        row["interval_end"] for row in rows(tmp_path, PRCLOG)
    ]


def test_midnight_is_passed(tmp_path: Path) -> None:
    text = PHYSLOG.replace("10:10:00", "23:58:30").replace("10:46:00", "00:34:30")
    text = text.replace("To   2017/06/26", "To   2017/06/27")
    text = text.replace("10:11:00", "23:59:30").replace("10:12:00", "00:00:30")
    ends = [str(row["interval_end"])[:19] for row in rows(tmp_path, text, "listing_physlog")]
    assert ends[2:] == ["2017-06-26 23:59:30"] * 2 + ["2017-06-27 00:00:30"] * 2


@pytest.mark.parametrize(
    ("start", "end", "first", "day"),
    [
        # A configuration is slightly older than the start of its report.
        ("26 10:10:00", "26 10:46:00", "10:09:59", "26"),
        ("26 10:10:00", "27 10:46:00", "10:09:59", "26"),
        ("26 08:00:00", "27 08:00:00", "07:00:00", "27"),
        ("26 23:58:30", "27 00:34:30", "00:00:30", "27"),
    ],
)
def test_day_of_first_row(tmp_path: Path, start: str, end: str, first: str, day: str) -> None:
    text = PHYSLOG.replace("2017/06/26 10:10:00", f"2017/06/{start}").replace("10:11:00", first)
    text = text.replace("2017/06/26 10:46:00", f"2017/06/{end}")
    ends = [str(row["interval_end"])[:19] for row in rows(tmp_path, text, "listing_physlog")]
    assert f"2017-06-{day} {first}" in ends


def test_date_lines_apply_to_following_rows(tmp_path: Path) -> None:
    """Between intervals of several days, the date is on a separate line."""
    text = PHYSLOG.replace("To   2017/06/26", "To   2017/06/29")
    text = text.replace("10:11:00 IFL ", "2017/06/26\n10:11:00 IFL ", 1)
    text = text.replace("10:12:00 IFL ", "2017/06/28\n10:12:00 IFL ", 1)
    ends = [str(row["interval_end"])[:19] for row in rows(tmp_path, text, "listing_physlog")]
    assert ends[2:] == ["2017-06-26 10:11:00"] * 2 + ["2017-06-28 10:12:00"] * 2
    assert problems(tmp_path, text) == []


UNKNOWN = """FCX999  Run 2015/02/15 08:52:10         NEWLOG
Something New, by Time
From 2015/02/14 16:31:32                                       SYSTEMID
To   2015/02/14 16:42:02                                       CPU 2964-704   SN 12F17
For    630 Secs 00:10:30                                       z/VM   V.6.3.0 SLU 0000
_______________________________________________________________________________________

Interval              Hit   Miss
End Time Name          /s     /s
>>Mean>> ALPHA       10.5   .025
16:32:02 ALPHA       11.0   ....
16:32:32 BETA        10.0    .05
"""


def test_unknown_report_is_read_by_headings(tmp_path: Path) -> None:
    found = rows(tmp_path, UNKNOWN, "listing_newlog")
    assert [(row["row_kind"], row["name"], row["s"], row["s_2"]) for row in found] == [
        ("mean", "ALPHA", 10.5, 0.025),
        ("interval", "ALPHA", 11.0, None),
        ("interval", "BETA", 10.0, 0.05),
    ]
    assert problems(tmp_path, UNKNOWN) == [
        "line 1: the report NEWLOG is not in the catalog; its columns are named after its headings"
    ]


def test_unknown_report_rows_up_to_rule_are_complete(tmp_path: Path) -> None:
    text = UNKNOWN.replace(f"{'_' * 87}\n", f"{'_' * 34}\n")
    assert [row["s_2"] for row in rows(tmp_path, text, "listing_newlog")] == [0.025, None, 0.05]
    # At 80 columns the last number may be truncated.
    text = "".join(f"{line[:80]}\n" for line in _wide(UNKNOWN, 80).splitlines())
    assert [row["s_2"] for row in rows(tmp_path, text, "listing_newlog")] == [None, None, None]
    assert "line truncated at '.025', which may be incomplete; not read" in problems(tmp_path, text)[1]


def _wide(text: str, width: int) -> str:
    """Return a table whose last column and rule end at `width`."""
    lines = text.splitlines()
    for at, line in enumerate(lines[5:], 5):
        last = line.split()[-1] if line and "_" not in line else ""
        lines[at] = (
            "_" * width if "_" in line else f"{line[: -len(last)]:<{width - len(last)}}{last}" if last else ""
        )
    return "\n".join(lines) + "\n"


def test_each_table_of_unknown_report_is_table(tmp_path: Path) -> None:
    text = UNKNOWN + "\nOther\n\n  Used  Left\n  12.5  87.5\n"
    assert len(rows(tmp_path, text, "listing_newlog")) == 3
    [row] = rows(tmp_path, text, "listing_newlog_2")
    assert (row["used"], row["left"]) == (12.5, 87.5)
    assert len(problems(tmp_path, text)) == 1
    many = "".join(f"\n  Used {name}\n  12.5 87.5\n" for name in "ABCDEFGHIJ")
    assert problems(tmp_path, UNKNOWN + many)[1].endswith(
        "listing_newlog has 9 tables with other columns; this one is not read"
    )


def test_unknown_listing_column_is_stored_as_text(tmp_path: Path) -> None:
    lines = PHYSLOG.splitlines()
    added = ["Extra", "%News", *["1.234"] * 8]
    body = [at for at, line in enumerate(lines) if line.startswith(("End Time", ">>", "10:1"))]
    for at, cell in zip(body, added[1:], strict=False):
        lines[at] = f"{lines[at]:<78} {cell}"
    text = "\n".join(lines) + "\n"
    assert {row["other"] for row in rows(tmp_path, text, "listing_physlog")} == {"%News=1.234"}
    assert problems(tmp_path, text) == [
        "line 9: column '%News' is not in the catalog; its values are stored in column `other`"
    ]


def test_unplaced_listing_line_is_reported(tmp_path: Path) -> None:
    text = PRCLOG + "And now for something 12 34 completely different\n"
    assert problems(tmp_path, text) == [
        "line 20: not recognized: 'And now for something 12 34 completely different'"
    ]
    text = PRCLOG.replace("30035", "3oo35")
    assert problems(tmp_path, text) == ["line 11: inst_sim_rate: '3oo35' is not a number; stored as NULL"]


def test_numbers_outside_reports_are_reported(tmp_path: Path) -> None:
    text = "12:00:01 some  1  2  3\n" + PRCLOG
    assert problems(tmp_path, text) == [
        "line 1: 1 line outside any report, starting with '12:00:01 some  1  2  3'"
    ]
    text = PHYSLOG + "Ready;\n 1 2 3\n 4 5 6\n"
    assert problems(tmp_path, text) == ["line 19: 2 lines outside any report, starting with '1 2 3'"]


def test_excerpt_is_recognized_by_headings(tmp_path: Path) -> None:
    text = "\n".join(PRCLOG.splitlines()[6:]) + "\n"
    found = rows(tmp_path, text)
    assert [row["busy_pct"] for row in found] == [row["busy_pct"] for row in rows(tmp_path, PRCLOG)]
    assert {row["system"] for row in found} == {"unknown-listing"}
    assert problems(tmp_path, text) == ["line 4: no header; recognized as prclog by its column headings"]


def test_two_lengths_of_interval_are_conflict(tmp_path: Path) -> None:
    text = PHYSLOG + "\n" + PHYSLOG.removeprefix("1").replace("10:11:00", "10:11:30")
    assert any("another report with the same end has" in each for each in problems(tmp_path, text))


BAD = [
    ("no row", "\n".join(PRCLOG.splitlines()[:10]) + "\n", "it has the header of a report and no row"),
    (
        "lost column",
        "\n".join(line[1:] for line in PRCLOG.splitlines()),
        "every line has lost its first character",
    ),
    ("ebcdic", PRCLOG.replace("\n", "\x85").encode("cp037"), "this is text in EBCDIC"),
]


@pytest.mark.parametrize(("text", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_wrong_transfer_of_listing_is_rejected(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as error:
        rows(tmp_path, text)
    assert error.value.cure
    assert error.value.file == str(tmp_path / "listing.txt")


@pytest.mark.parametrize("lake", [False, True])
def test_report_in_two_files_counts_once(lake: bool, tmp_path: Path) -> None:
    """Different reports of one interval are combined; a repeated report counts once."""
    paths = []
    for name, text in (("a", PRCLOG), ("b", PRCLOG + "\n"), ("c", (FOLDER / "sysset-smt2.txt").read_text())):
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text(text)
    if lake:
        importer.add([str(path) for path in paths], str(tmp_path / "lake"))
    with zlens.open([tmp_path / "lake"] if lake else paths) as session:
        assert session.sql("SELECT count(*) FROM cpu").rows == [(8,)]
        assert session.sql("SELECT count(*) FROM listing_sysset_threads").rows == [(5,)]
        details = [
            problem.detail for problem in session.problems if problem.kind in {"duplicate", "conflict"}
        ]
    (detail,) = details
    assert ("are duplicates of" if lake else f"already read in {paths[0]}") in detail


@pytest.mark.parametrize("lake", [False, True])
def test_rmf_listings_of_one_interval_are_combined(lake: bool, tmp_path: Path) -> None:
    paths = [FOLDER / "rmf-cpu-mt.txt", FOLDER / "rmf-workload-mt.txt"]
    if lake:
        importer.add([str(path) for path in paths], str(tmp_path / "lake"))
    with zlens.open([tmp_path / "lake"] if lake else paths) as session:
        query = "SELECT (SELECT count(*) FROM rmf_cpu), (SELECT count(*) FROM rmf_workload)"
        assert session.sql(query).rows == [(9, 1)]
        assert session.sql("SELECT count(*) FROM interval").rows == [(1,)]
        assert [problem.kind for problem in session.problems if problem.kind != "zone"] == []
