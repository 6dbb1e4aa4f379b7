"""Tests of CP responses saved as text: QUERY CAPABILITY, and commands without a known response format.

The lines are from IBM (B. Bitner, B. Wade), z/VM Performance Update, 2011.
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

import zlens
from iterations import iterations
from zlens.errors import InputError
from zlens.explain.names import explain
from zlens.inputs.options import Options

NOMINAL = """\
CAPABILITY: PRIMARY 696 SECONDARY 696 NOMINAL 696
CAPACITY-ADJUSTMENT INDICATION 100
CAPACITY-CHANGE REASON 0
RUNNING AT NOMINAL CAPACITY.
"""
REDUCED = """\
CAPABILITY: PRIMARY 838 SECONDARY 838 NOMINAL 696
CAPACITY-ADJUSTMENT INDICATION 83
CAPACITY-CHANGE REASON 1
RUNNING WITH REDUCED CAPACITY DUE TO A MANUAL CONTROL SETTING.
"""
#: 2026-03-01 12:00 UTC
WHEN = 1772366400
ROWS = (
    'SELECT system, epoch(tod), "primary", secondary, nominal, indication, reason, state '
    'FROM cp_capability ORDER BY tod, file, "offset"'
)


def files(folder: Path, *texts: str) -> list[Path]:
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"console{number}.txt")
        paths[-1].write_text(text)
        os.utime(paths[-1], (WHEN + 60 * number,) * 2)
    return paths


def test_console_response_and_change(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, NOMINAL)) as session:
        assert session.sql(ROWS).rows == [
            ("unknown-console0", WHEN, 696.0, 696.0, 696.0, 100, 0, "RUNNING AT NOMINAL CAPACITY")
        ]
        assert session.sql("SELECT count(*) FROM event").rows == [(0,)]
        assert session.problems == []


def test_change_is_event_of_one_system(tmp_path: Path, demo_folder: Path) -> None:
    from zlens import demo

    paths = [*files(tmp_path, NOMINAL, REDUCED, "\n" + REDUCED), demo_folder / demo.MONWRITE_NAME]
    with zlens.open(paths) as session:
        assert session.sql(
            "SELECT system, epoch(time), kind, subject, detail, inferred FROM event "
            "WHERE record = 'QUERY CAPABILITY'"
        ).rows == [
            (
                "ZLDEMO",
                WHEN + 60,
                "capability change",
                "machine",
                "primary CPU capability 696.0 to 838.0, secondary 696.0 to 838.0, "
                "adjustment indication 100 to 83, reason 0 to 1, RUNNING AT NOMINAL CAPACITY to RUNNING WITH "
                "REDUCED CAPACITY DUE TO A MANUAL CONTROL SETTING",
                True,
            )
        ]
        assert len(session.sql(ROWS).rows) == 3


def test_response_without_changes_has_one_line(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, "12:30:01 CAPABILITY: PRIMARY 696 SECONDARY 696\r\n")) as session:
        assert [row[2:] for row in session.sql(ROWS).rows] == [(696.0, 696.0, None, None, None, None)]


def test_unknown_responses_are_not_interpreted(tmp_path: Path) -> None:
    text = f"q capability\n{NOMINAL}Ready; T=0.01/0.01 10:00:00\nq srm\nSOMETHING : 1\nELSE : 2\nReady;\n"
    with zlens.open(files(tmp_path, text)) as session:
        assert len(session.sql(ROWS).rows) == 1
        ((kind, detail, offset),) = session.sql('SELECT kind, detail, "offset" FROM problem').rows
    assert (kind, offset) == ("no_layout", text.index("q srm"))
    assert detail.startswith(
        "the format of the response to QUERY SRM is not known from a public source; "
        "2 lines are stored as text in cp_response. See D1R16"
    )
    assert "not known from a public source" in " ".join(explain("QUERY SRM").split())
    assert "D5R21" in explain("query multithread")


def test_unknown_console_line_is_problem(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, NOMINAL + "RUNNING IN CIRCLES\n")) as session:
        assert len(session.sql(ROWS).rows) == 1
        assert session.sql("SELECT detail FROM problem").rows == [
            ("QUERY CAPABILITY: the meaning of 'RUNNING IN CIRCLES' is not known",)
        ]


def test_undocumented_response_is_stored_as_text(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, "query multithread\nSome answer\n")) as session:
        assert session.sql("SELECT command, name, text FROM cp_response").rows == [
            ("QUERY MULTITHREAD", None, "Some answer")
        ]
        ((detail,),) = session.sql("SELECT detail FROM problem").rows
    assert "QUERY MULTITHREAD is not known from a public source; 1 line is stored as text" in detail


LOAD = """\
AVGPROC-038% 02
MDC READS-000001/SEC WRITES-000000/SEC HIT RATIO-099%
PAGING-12/SEC
Q0-00002(00000)                           DORMANT-00016
Q1-00000(00000)           E1-00001(00000)
Q2-00000(00000) EXPAN-001 E2-00000(00000)
Q3-00005(00000) EXPAN-001 E3-00000(00000)

PROC 0000-038% CP   VH     PROC 0001-040% IFL  VM

LIMITED-00003
"""
SHARE = """\
USER LINUX01  :  CP   RELATIVE SHARE = 100
                      MAXIMUM SHARE = LIMITHARD 25%
                 IFL  ABSOLUTE SHARE = 9%
                      MAXIMUM SHARE = NOLIMIT
"""


@pytest.mark.parametrize("form", ["{}", "ind load\n{}Ready; T=0.01/0.01 12:01:02\n", "stamped"])
def test_load_response_with_and_without_command(form: str, tmp_path: Path) -> None:
    """The format is from IBM's CP Commands: INDICATE LOAD."""
    if form == "stamped":
        text = "".join(f"12:01:02 {line}".rstrip() + "\n" for line in LOAD.splitlines())
    else:
        text = form.format(LOAD)
    with zlens.open(files(tmp_path, text)) as session:
        found = session.sql("SELECT subject, name, value FROM cp_response WHERE value <> 0 ORDER BY ALL").rows
        assert found == [
            ("0", "dispatch_list", 2.0),
            ("0000", "busy_pct", 38.0),
            ("0001", "busy_pct", 40.0),
            ("1", "eligible_list", 1.0),
            ("2", "expansion", 1.0),
            ("3", "dispatch_list", 5.0),
            ("3", "expansion", 1.0),
            (None, "average_pct", 38.0),
            (None, "dormant", 16.0),
            (None, "limit_list", 3.0),
            (None, "mdc_hit_pct", 99.0),
            (None, "mdc_reads", 1.0),
            (None, "paging_rate", 12.0),
            (None, "processors", 2.0),
        ]
        polarity = "SELECT subject, text FROM cp_response WHERE name = 'polarity' ORDER BY 1"
        assert session.sql(polarity).rows == [("0000", "VH"), ("0001", "VM")]
        stamps = session.sql("SELECT DISTINCT stamp FROM cp_response").rows
        assert stamps == [("12:01:02" if form == "stamped" else None,)]
        assert session.problems == []


def test_share_responses_are_read(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, SHARE)) as session:
        assert session.sql("SELECT subject, part, name, text FROM cp_response").rows == [
            ("LINUX01", "CP", "relative", "100"),
            ("LINUX01", "CP", "maximum", "LIMITHARD 25%"),
            ("LINUX01", "IFL", "absolute_pct", "9"),
            ("LINUX01", "IFL", "maximum", "NOLIMIT"),
        ]
        assert session.problems == []


def test_unexpected_response_line_is_stored_and_reported(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, LOAD + "SOMETHING-00001\n")) as session:
        assert session.sql("SELECT text FROM cp_response WHERE name IS NULL").rows == [("SOMETHING-00001",)]
        assert [problem.detail for problem in session.problems] == [
            "INDICATE LOAD: the meaning of 'SOMETHING-00001' is unknown; stored as text"
        ]


def test_damage_at_every_byte(tmp_path: Path) -> None:
    for place in range(0, len(NOMINAL), iterations(1, 5)):
        for damaged in (NOMINAL[:place], NOMINAL[:place] + "\x01" + NOMINAL[place + 1 :]):
            path = tmp_path / "damaged.txt"
            path.write_text(damaged)
            try:
                with zlens.open([path]) as session:
                    values = session.sql(ROWS).rows
                    problems = session.problems
            except InputError:
                continue
            # Without a problem, each value is NULL or a prefix of a number in the response.
            for row in values:
                assert problems or all(
                    value in (None, 696.0, 69.0, 6.0, 100, 10, 1, 0) or isinstance(value, str)
                    for value in row[2:]
                )


def test_response_on_one_line_is_read(tmp_path: Path) -> None:
    """IBM, z/VM Performance Update: the response on a system with no changes."""
    line = " ".join(NOMINAL.split()) + "\n"
    with zlens.open(files(tmp_path, line)) as session:
        assert session.sql(ROWS).rows == [
            ("unknown-console0", WHEN, 696.0, 696.0, 696.0, 100, 0, "RUNNING AT NOMINAL CAPACITY")
        ]
        assert session.problems == []


def test_response_uses_given_date_and_its_time(tmp_path: Path) -> None:
    stamped = "".join(f"07:20:19 {line}\n" for line in REDUCED.splitlines())
    options = Options(date=dt.date(2011, 1, 9))
    with zlens.open(files(tmp_path, NOMINAL, stamped), options=options) as session:
        times = session.sql("SELECT strftime(tod, '%Y-%m-%d %H:%M:%S') FROM cp_capability ORDER BY tod").rows
        (source,) = session._core.sources
        assert [info["times"] for info in source.info()] == ["the given date"] * 2
    assert times == [("2011-01-09 00:00:00",), ("2011-01-09 07:20:19",)]
