"""Tests of GET /ledger, which the web UI draws as a flow."""

from __future__ import annotations

from itertools import pairwise

import pytest

from zlens.catalog.ledgers import load_ledger
from zlens.ledger.rows import ledger_rows


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


def test_ledger_of_unknown_name_is_an_error(served):
    assert served.get("ledger", name="gold").status_code == 400
