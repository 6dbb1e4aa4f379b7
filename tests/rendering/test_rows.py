"""Tests of results as table, CSV and JSON."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from zlens.rendering import rows

WHEN = dt.datetime(2026, 3, 2, 9, 15, tzinfo=dt.UTC)


def table(columns: list[str], types: list[str], values: list[tuple[Any, ...]]) -> list[str]:
    out = io.StringIO()
    rows.write_table(out, columns, types, values, lambda time, row: time.strftime("%H:%M"))
    return out.getvalue().splitlines()


def test_table_aligns_numbers_right_and_text_left() -> None:
    lines = table(
        ["cpu", "busy", "name", "at"],
        ["int", "float", "text", "time"],
        [(0, 95.7, "A", WHEN), (12, 4.25, None, None)],
    )
    assert lines == [
        "cpu   busy  name  at",
        "---  -----  ----  -----",
        "  0  95.70  A     09:15",
        " 12   4.25  NULL  NULL",
    ]


def test_small_numbers_keep_digits_next_to_large_ones() -> None:
    lines = table(["x"], ["float"], [(1234.0,), (0.0025,)])
    assert [line.strip() for line in lines[2:]] == ["1234.0000", "0.0025"]


def test_no_control_character_reaches_terminal() -> None:
    assert "\x1b" not in "".join(table(["x"], ["text"], [("\x1b[2J",)]))


def test_wide_characters_keep_columns() -> None:
    lines = table(["a", "b"], ["text", "text"], [("日本", "x"), ("abcd", "y")])
    assert lines[2].index("x") == 4
    assert lines[3].index("y") == 6


def test_csv_has_empty_nulls_and_iso_times() -> None:
    out = io.StringIO()
    rows.write_csv(out, ["a", "b", "c"], [(None, WHEN, 'say "x"'), (1.5, None, True)])
    assert out.getvalue() == 'a,b,c\n,2026-03-02T09:15:00Z,"say ""x"""\n1.5,,true\n'


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_csv_and_json_have_digits_of_duckdbs_csv(value: float) -> None:
    out = io.StringIO()
    rows.write_csv(out, ["x"], [(value,)])
    text = out.getvalue().splitlines()[1]
    assert text == duckdb.execute("SELECT CAST(?::DOUBLE AS VARCHAR)", [value]).fetchall()[0][0]
    assert float(text) == value
    out = io.StringIO()
    rows.write_json(out, ["x"], [(value,)])
    assert json.loads(out.getvalue())[0]["x"] == value


def test_json_is_exact_without_nan() -> None:
    out = io.StringIO()
    rows.write_json(out, ["n", "x", "t"], [(2**63 - 1, float("nan"), WHEN)])
    assert json.loads(out.getvalue()) == [{"n": 9223372036854775807, "x": None, "t": "2026-03-02T09:15:00Z"}]


def test_json_renames_repeated_columns() -> None:
    out = io.StringIO()
    rows.write_json(out, ["a", "b", "a", "a_1", "a"], [(1, 2, 3, 4, 5)])
    assert json.loads(out.getvalue()) == [{"a": 1, "b": 2, "a_2": 3, "a_1": 4, "a_3": 5}]


def test_no_rows() -> None:
    out = io.StringIO()
    rows.write_json(out, ["a"], [])
    assert json.loads(out.getvalue()) == []
    assert table(["a"], ["int"], []) == ["a", "-"]


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers()),
            st.one_of(st.none(), st.floats(allow_nan=True)),
            st.one_of(st.none(), st.text()),
        )
    )
)
def test_any_values_can_be_written(values: list[tuple[Any, ...]]) -> None:
    columns, types = ["i", "f", "t"], ["int", "float", "text"]
    lines = table(columns, types, values)
    assert len(lines) == len(values) + 2
    out = io.StringIO()
    rows.write_json(out, columns, values)
    assert [row["i"] for row in json.loads(out.getvalue())] == [row[0] for row in values]
    out = io.StringIO(newline="")
    rows.write_csv(out, columns, values)
    out.seek(0)
    assert [row[2] for row in csv.reader(out, strict=True)][1:] == [row[2] or "" for row in values]
