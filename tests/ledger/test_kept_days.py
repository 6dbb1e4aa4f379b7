"""Tests of ledgers of a lake: days without raw tables come from measures by day, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zos_days
from zlens import reports
from zlens.cli import main
from zlens.inputs.options import Options
from zlens.lake import forget_raw
from zlens.session.session import CoreSession
from zos_days import FIRST_US, QUARTER_US, Image, Work

#: Prints a ledger of the lake with further options.
Ledger = Callable[..., dict[str, Any]]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An hour before midnight of 2023-11-14 and two after it, in two inputs."""
    lake = str(tmp_path / "lake")
    for number, (first, count) in enumerate(((0, 4), (4, 8))):
        monkeypatch.setattr(zos_days, "FIRST_US", FIRST_US + first * QUARTER_US)
        work = [Work("ONLINE", [0.3] * count, {"CICS1": 0.75}), Work("BATCH", [1.0] * count)]
        images = [Image("SYSA", "LPA", 1, work, 0.25), Image("SYSB", "LPB", 2, work, 0.1, silent=True)]
        path = zos_days.written(tmp_path / f"{number}.smf", images)
        assert main(["import", str(path), "--lake", lake]) == 0
    assert main(["lake", "rollup", lake]) == 0
    return lake


@pytest.fixture
def ledger(lake: str, capsys: pytest.CaptureFixture[str]) -> Ledger:
    def run(*options: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["ledger", "cpu", lake, "--format", "json", *options]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return run


def _remove_first_day(lake: str) -> None:
    forget_raw(lake, 0, now_us=FIRST_US + 6 * QUARTER_US, even_if_lost=["unmeasured"])


def _rows(answer: dict[str, Any], table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = answer["tables"][table]["rows"]
    return rows


def test_months_have_days_whose_raw_tables_are_gone(lake: str) -> None:
    def report(format: str) -> str:
        with CoreSession([lake], Options()) as session:
            return reports.render("chargeback", session, format)

    before = report("json")
    assert "measures by day" not in report("text")
    _remove_first_day(lake)
    assert report("json") == before
    assert "From measures by day, as raw tables are removed: SYSA 2023-11-14." in report("text")
    with CoreSession([lake], Options()) as session:
        query = "SELECT sum(amount) FROM {} WHERE subject = 'BATCH' AND ledger = 'cpu'"
        [[raw], [day]] = (session.sql(query.format(name)).rows[0] for name in ("ledger", "ledger_day"))
    assert (raw, day) == (pytest.approx(8 * 900), pytest.approx(12 * 900))


@pytest.mark.long
def test_ledger_has_days_whose_raw_tables_are_gone(lake: str, ledger: Ledger, tmp_path: Path) -> None:
    groups = tmp_path / "groups.toml"
    groups.write_text('[partition]\n"LP*" = "all"\n')
    grouped = "--group", str(groups)
    first_day = "--to", "2023-11-15 00:00"
    before = [ledger(*options) for options in ((), grouped, first_day)]
    _remove_first_day(lake)
    after = [ledger(*options) for options in ((), grouped, first_day)]
    assert [_rows(one, "accounts") for one in after] == [_rows(one, "accounts") for one in before]
    assert [_rows(one, "meters") for one in after] == [_rows(one, "meters") for one in before]
    partitions = [[row for row in _rows(one, "accounts") if row["account"] == "partitions"] for one in after]
    assert [[row["subject"] for row in rows] for rows in partitions[:2]] == [["LPA", "LPB"], ["all"]]
    assert partitions[1][0]["amount"] == sum(row["amount"] for row in partitions[0])
    assert sum(row["amount"] for row in partitions[2]) == pytest.approx(4 * 900 * (1.55 + 1.4))


@pytest.mark.long
def test_part_of_removed_day_does_not_count(lake: str, ledger: Ledger) -> None:
    """Half of the day before midnight is not in its measures, and no raw table has it."""
    after_midnight = _rows(ledger("--from", "2023-11-15 00:00"), "accounts")
    _remove_first_day(lake)
    answer = ledger("--from", "2023-11-14 23:30")
    assert _rows(answer, "accounts") == after_midnight
    note = "Only what raw tables still have, as the selected times have a part of the day"
    assert f"{note}: SYSA 2023-11-14." in answer["notes"]
