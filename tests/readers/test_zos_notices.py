"""Tests of HIS032I and IWM064I of a z/OS log as events.

The texts are from J. Burg's example of a power save mode change (IBM Washington Systems Center, CPU MF
Overview and WSC Experiences, 2011).
"""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

import zlens
from zlens.errors import InputError
from zlens.inputs.options import Options

PUBLISHED = (
    ("07:20:19.07", "HIS032I STATE CHANGE DETECTED, ACTION=SAVE."),
    ("07:20:19.33", "IWM063I WLM POLICY WAS REFRESHED DUE TO A PROCESSOR SPEED CHANGE"),
    (
        "07:20:19.33",
        "IWM064I THE SYSTEM IS RUNNING WITH REDUCED CAPACITY BECAUSE OF A MANUAL CONTROL SETTING",
    ),
    ("07:41:34.18", "HIS032I STATE CHANGE DETECTED, ACTION=SAVE."),
    ("07:41:34.46", "IWM063I WLM POLICY WAS REFRESHED DUE TO A PROCESSOR SPEED CHANGE"),
    ("07:41:34.46", "IWM064I THE SYSTEM IS RUNNING AT NOMINAL CAPACITY."),
)
LOG = "".join(f"N 0000000 SYS1     2010193 {clock} STC01234 00000090  {text}\n" for clock, text in PUBLISHED)
EVENTS = "SELECT system, time, kind, subject, detail, inferred, record FROM event ORDER BY time, record"


def opened(folder: Path, text: str, **options: object) -> zlens.Session:
    path = folder / "log.txt"
    path.write_text(text)
    return zlens.open([path], options=Options(**options))  # type: ignore[arg-type]


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2010-07-12T{clock}+00:00")


def test_published_change_of_capacity(tmp_path: Path) -> None:
    with opened(tmp_path, LOG) as session:
        rows = session.sql(EVENTS).rows
        reasons = session.sql("SELECT reason FROM zos_notice WHERE message = 'IWM064I' ORDER BY tod").rows
        assert session.problems == []
    reduced = "THE SYSTEM IS RUNNING WITH REDUCED CAPACITY BECAUSE OF A MANUAL CONTROL SETTING"
    nominal = "THE SYSTEM IS RUNNING AT NOMINAL CAPACITY"
    assert rows == [
        ("SYS1", at("07:20:19.070"), "state change", "HIS", "action SAVE", False, "HIS032I"),
        ("SYS1", at("07:20:19.330"), "capacity change", "machine", reduced, False, "IWM064I"),
        ("SYS1", at("07:41:34.180"), "state change", "HIS", "action SAVE", False, "HIS032I"),
        ("SYS1", at("07:41:34.460"), "capacity change", "machine", nominal, False, "IWM064I"),
    ]
    assert reasons == [("A MANUAL CONTROL SETTING",), (None,)]


def test_zone_and_selection_apply(tmp_path: Path) -> None:
    with opened(tmp_path, LOG, tz=dt.timezone(dt.timedelta(hours=-4))) as session:
        (first, *_) = session.sql(EVENTS).rows
        assert first[1] == at("11:20:19.070")
        assert session.sql("SELECT count(*) FROM event").rows == [(4,)]


@pytest.mark.parametrize(
    ("line", "kind", "detail"),
    [
        (
            "N 0000000 SYS1     2010193 07:50:00.00  00000090  IWM064I THE SYSTEM IS TIRED",
            "no_layout",
            "IWM064I: the meaning of 'THE SYSTEM IS TIRED' is not known",
        ),
        (
            "HIS032I STATE CHANGE DETECTED, ACTION=SAVE.",
            "time",
            "HIS032I: the line has no time; copy it from the hardcopy log",
        ),
    ],
)
def test_unknown_notice_is_problem(tmp_path: Path, line: str, kind: str, detail: str) -> None:
    with opened(tmp_path, LOG + line + "\n") as session:
        assert session.sql("SELECT count(*) FROM event").rows == [(4,)]
        assert session.sql('SELECT kind, detail, "offset" FROM problem').rows == [(kind, detail, len(LOG))]


UNDATED = "".join(f"{clock.removeprefix('0')} {text}\n" for clock, text in PUBLISHED)


@pytest.mark.parametrize(
    ("above", "given", "day", "origin"),
    [
        ("", dt.date(2010, 7, 12), "2010-07-12", "the given one"),
        ("", None, "2023-11-14", "that of the file (option date)"),
        (LOG.splitlines()[0] + "\n", dt.date(2011, 1, 9), "2010-07-12", "that of a line above"),
    ],
)
def test_undated_notice_takes_date(
    tmp_path: Path, above: str, given: dt.date | None, day: str, origin: str
) -> None:
    path = tmp_path / "log.txt"
    path.write_text(above + UNDATED)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    with zlens.open([path], options=Options(date=given)) as session:
        (found,) = session.sql("SELECT max(strftime(time, '%Y-%m-%d %H:%M:%S')) FROM event").rows
        details = [problem.detail for problem in session.problems]
    assert found == (f"{day} 07:41:34",)
    assert f"HIS032I: the line has no date; it is taken to be {day}, {origin}" in details


def test_notices_without_time_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no time"):
        opened(tmp_path, "".join(f"{text}\n" for _, text in PUBLISHED))


def test_notices_within_display_are_separate(tmp_path: Path) -> None:
    import zos_samples

    with opened(tmp_path, zos_samples.DISPLAY_HIS + LOG) as session:
        assert session.sql("SELECT count(*) FROM his_run").rows == [(1,)]
        assert session.sql("SELECT count(*) FROM zos_notice").rows == [(4,)]
