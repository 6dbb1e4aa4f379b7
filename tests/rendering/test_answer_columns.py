"""Tests of tables of answers with columns from the facts."""

from __future__ import annotations

import pytest
from msgspec import Struct

from zlens.rendering.answer_columns import answer_columns, answer_table


class Parameter(Struct):
    how: str
    high: float
    low: float
    value: float
    name: str
    not_shown: str = "x"


def test_structs_and_tuples_make_the_same_rows() -> None:
    row = ("beta", 0.1, 0.0, 0.2, "fitted")
    table = answer_table("capacity", "law", "A law", [row, Parameter("fitted", 0.2, 0.0, 0.1, "beta")])
    assert table.rows == [row, row]
    assert (table.key, table.title) == ("law", "A law")
    assert [column.key for column in table.columns] == ["name", "value", "low", "high", "how"]


def test_columns_of_another_key_are_those_named() -> None:
    table = answer_table("smt", "published", "", [], columns="published_ranges")
    assert table.key == "published"
    assert table.columns == answer_columns("smt", "published_ranges")


def test_struct_without_a_column_is_a_bug() -> None:
    with pytest.raises(AttributeError, match="processors"):
        answer_table("capacity", "fitted", "", [Parameter("fitted", 0.2, 0.0, 0.1, "beta")])
