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
    text = rows.csv_text(["a", "b", "c"], [(None, WHEN, 'say "x"'), (1.5, None, True)])
    assert text == 'a,b,c\n,2026-03-02T09:15:00Z,"say ""x"""\n1.5,,true\n'


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_csv_and_json_have_digits_of_duckdbs_csv(value: float) -> None:
    text = rows.csv_text(["x"], [(value,)]).splitlines()[1]
    assert text == duckdb.execute("SELECT CAST(?::DOUBLE AS VARCHAR)", [value]).fetchall()[0][0]
    assert float(text) == value
    assert json.loads(rows.json_text([{"x": value}]))[0]["x"] == value


def test_json_is_exact_without_nan() -> None:
    text = rows.json_text([{"n": 2**63 - 1, "x": float("nan"), "t": WHEN}])
    assert json.loads(text) == [{"n": 9223372036854775807, "x": None, "t": "2026-03-02T09:15:00Z"}]


def test_no_rows() -> None:
    assert rows.json_text([]) == "[]\n"
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
    text = rows.json_text(dict(zip(columns, row, strict=True)) for row in values)
    assert [row["i"] for row in json.loads(text)] == [row[0] for row in values]
    read = csv.reader(io.StringIO(rows.csv_text(columns, values), newline=""), strict=True)
    assert [row[2] for row in read][1:] == [row[2] or "" for row in values]
