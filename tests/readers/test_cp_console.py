"""Responses of CP commands saved as text: QUERY CAPABILITY, and commands whose responses have no known form.

The lines are those of IBM (B. Bitner, B. Wade), z/VM Performance Update, 2011.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import zlens
from zlens.errors import InputError
from zlens.explain.names import explain

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


def test_a_response_and_its_change(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, NOMINAL)) as session:
        assert session.sql(ROWS).rows == [
            ("unknown-console0", WHEN, 696.0, 696.0, 696.0, 100, 0, "RUNNING AT NOMINAL CAPACITY")
        ]
        assert session.sql("SELECT count(*) FROM event").rows == [(0,)]
        assert session.problems == []


def test_a_change_is_an_event_of_the_one_system(tmp_path: Path, demo_folder: Path) -> None:
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


def test_only_the_first_line_on_a_machine_without_changes(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, "12:30:01 CAPABILITY: PRIMARY 696 SECONDARY 696\r\n")) as session:
        assert [row[2:] for row in session.sql(ROWS).rows] == [(696.0, 696.0, None, None, None, None)]


def test_other_responses_are_not_guessed(tmp_path: Path) -> None:
    text = f"q capability\n{NOMINAL}Ready; T=0.01/0.01 10:00:00\nq srm\nSOMETHING : 1\nELSE : 2\nReady;\n"
    with zlens.open(files(tmp_path, text)) as session:
        assert len(session.sql(ROWS).rows) == 1
        ((kind, detail, offset),) = session.sql('SELECT kind, detail, "offset" FROM problem').rows
    assert (kind, offset) == ("no_layout", text.index("q srm"))
    assert detail.startswith(
        "the form of the response to QUERY SRM is not known from a public source; 2 lines not read. See D1R16"
    )
    assert "not known from a public source" in explain("QUERY SRM")
    assert "D5R21" in explain("query multithread")


def test_a_line_that_is_not_known(tmp_path: Path) -> None:
    with zlens.open(files(tmp_path, NOMINAL + "RUNNING IN CIRCLES\n")) as session:
        assert len(session.sql(ROWS).rows) == 1
        assert session.sql("SELECT detail FROM problem").rows == [
            ("QUERY CAPABILITY: the meaning of 'RUNNING IN CIRCLES' is not known",)
        ]


def test_nothing_of_a_known_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="QUERY MULTITHREAD is not known from a public source; 1 line"):
        zlens.open(files(tmp_path, "query multithread\nSome answer\n"))


def test_damage_at_every_byte(tmp_path: Path) -> None:
    for place in range(len(NOMINAL)):
        for damaged in (NOMINAL[:place], NOMINAL[:place] + "\x01" + NOMINAL[place + 1 :]):
            path = tmp_path / "damaged.txt"
            path.write_text(damaged)
            try:
                with zlens.open([path]) as session:
                    values = session.sql(ROWS).rows
                    problems = session.problems
            except InputError:
                continue
            # What is not the response is a problem; a value is the response's own, or absent.
            for row in values:
                assert problems or all(
                    value in (None, 696.0, 69.0, 6.0, 100, 10, 1, 0) or isinstance(value, str)
                    for value in row[2:]
                )
