"""Tests of GET /ledger, which the web UI draws as a flow."""

from __future__ import annotations

from itertools import pairwise

import pytest

import zlens
import zos_days
from zlens.catalog.ledgers import load_ledger
from zlens.cli import main
from zlens.lake import forget_raw
from zlens.ledger.rows import ledger_rows
from zos_days import Image, Work


def test_ledger_rows_follow_what_they_are_part_of(served):
    response = served.get("ledger", top=5)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["unit"] == "s"
    assert [level["name"] for level in answer["levels"]] == [
        "machine",
        "partition",
        "system",
        "workload",
        "job",
    ]
    ledger = load_ledger("cpu")
    whole = [row for row in ledger_rows(served.session, ledger) if row.parent is None]
    tops = [row for row in answer["rows"] if row["depth"] == 0]
    assert sum(row["amount"] for row in tops) == pytest.approx(sum(row.amount or 0.0 for row in whole))
    depths = [row["depth"] for row in answer["rows"]]
    assert all(after <= before + 1 for before, after in pairwise(depths))


def test_ledger_has_the_highest_hours(serve_over, demo_files):
    """The average of ZLZOS is highest in the hour that ends at 10:00; what used it is in the next table."""
    path = str(demo_files[2])
    with zlens.open(path) as session, serve_over(session, [path]) as served:
        answer = served.get("ledger", name="msu").json()
    tables = {
        table["key"]: [
            dict(zip([column["key"] for column in table["columns"]], row, strict=True))
            for row in table["rows"]
        ]
        for table in answer["tables"]
    }
    [peak] = [row for row in tables["peaks"] if row["subject"] == "ZLZOS"]
    assert (peak["msu"], peak["hour"]) == (pytest.approx(153), "2010-03-09 10:00")
    assert {row["class"] for row in tables["peak_work"] if row["subject"] == "CICSAOR1"} == {"CICSHI"}


@pytest.mark.long
def test_ledger_of_a_lake_without_raw_tables(tmp_path, serve_over):
    """Four intervals in which BATCH used one CP, of which only the measures by day remain."""
    lake = str(tmp_path / "lake")
    dump = zos_days.written(tmp_path / "day.smf", [Image("SYSA", "LPA", 1, [Work("BATCH", [1.0] * 4)])])
    assert main(["import", str(dump), "--lake", lake]) == 0
    assert main(["lake", "rollup", lake]) == 0
    forget_raw(lake, 0, now_us=zos_days.FIRST_US + 6 * zos_days.QUARTER_US, even_if_lost=["unmeasured"])
    with zlens.open(lake) as session, serve_over(session, [lake]) as served:
        answer = served.get("ledger").json()
    assert [row["amount"] for row in answer["rows"] if row["subject"] == "BATCH"] == [pytest.approx(3600)]
    assert answer["notes"] == ["From measures by day, as raw tables are removed: SYSA 2023-11-14."]


def test_ledger_of_unknown_name_is_an_error(served):
    assert served.get("ledger", name="gold").status_code == 400
