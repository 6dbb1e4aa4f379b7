"""Tests that a measure's statement contains each formula once, as a column of a lower layer."""

from __future__ import annotations

import re

import pytest

from zlens.catalog import measures
from zlens.catalog.cpumf import VERIFIED_ONLY
from zlens.compiler.formulas import Formulas, LayeredSelect


def _columns(name: str, *, grouped: bool) -> LayeredSelect:
    table = measures.load_measure(name)
    return Formulas(table, name, trust=VERIFIED_ONLY, grouped=grouped).select([c.name for c in table.columns])


@pytest.mark.parametrize(("name", "grouped"), [("guest", True), ("load", True), ("storage", False)])
def test_finite_values_are_columns_of_lower_layer(name: str, grouped: bool) -> None:
    columns = _columns(name, grouped=grouped)
    assert not any("isfinite" in item for item in columns.first)
    bounded = [item for layer in columns.above for item in layer if "isfinite" in item]
    floats = [
        column for column in measures.load_measure(name).columns if column.type == "float" and column.formula
    ]
    assert len(bounded) >= len(floats)
    for item in bounded:
        assert re.fullmatch(r'CASE WHEN isfinite\("#\w+"\) THEN "#\w+" END AS "?\w+"?', item), item


def test_columns_that_are_roles_are_not_bounded_again() -> None:
    table = measures.load_measure("channel")
    columns = Formulas(table, "channel", trust=VERIFIED_ONLY, entities={"channel": "channel"}).select(
        ["measured_s", "measurement_group", "util_pct"]
    )
    assert '"channel"."elapsed" AS "measured_s"' in columns.first
    # With --every, the values of an integer may be sums or means.
    assert 'TRY_CAST("channel"."group" AS BIGINT) AS "measurement_group"' in columns.first
    text = " ".join(item for layer in columns.above for item in layer)
    assert 'nullif("measured_s", 0)' in text
    assert text.count("isfinite") == 1


def test_shared_aggregate_is_computed_once() -> None:
    """guest.seconds is a sum of spans that percentages divide by."""
    columns = _columns("guest", grouped=True)
    text = " ".join([*columns.first, *(item for layer in columns.above for item in layer)])
    seconds = [item for item in columns.first if item.endswith('AS "#seconds"')]
    assert len(seconds) == 1
    assert text.count(seconds[0].removesuffix(' AS "#seconds"')) == 1
    # A rate contains its length at most twice, as its divisor.
    for item in (item for layer in columns.above for item in layer):
        assert item.count('"seconds"') <= 2, item
