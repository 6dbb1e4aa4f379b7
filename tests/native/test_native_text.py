"""Tests of rows of Arrow streams as text: reading it returns the same rows in the requested order."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens import _native

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = ["int", "float", "text", "bool", "time"]
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(),
        st.none() | st.text(),
        st.none() | st.booleans(),
        st.none() | st.integers(-(2**55), 2**57),
    )
)


def iso(us: int | None) -> str | None:
    if us is None:
        return None
    return (EPOCH + timedelta(microseconds=us)).replace(tzinfo=None).isoformat() + "Z"


def text_of(answer_text: _native.AnswerText) -> str:
    return "".join(iter(answer_text.next, None))


@given(ROWS)
def test_csv_round_trips(rows: list[tuple[Any, ...]]) -> None:
    table = _native.ArrowTable(list(zip(NAMES, NAMES, strict=True)), rows)
    text = text_of(_native.AnswerText.csv(table, NAMES, NAMES))
    head, *read = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert head == NAMES
    for row, (whole, number, word, flag, time) in zip(read, rows, strict=True):
        finite = number is not None and math.isfinite(number)
        assert row == [
            "" if whole is None else str(whole),
            repr(number) if finite else "",
            word or "",
            {None: "", True: "true", False: "false"}[flag],
            iso(time) or "",
        ]


@given(ROWS)
def test_json_round_trips(rows: list[tuple[Any, ...]]) -> None:
    table = _native.ArrowTable(list(zip(NAMES, NAMES, strict=True)), rows)
    text = text_of(_native.AnswerText.json(table, NAMES, NAMES))
    wanted = []
    for row in rows:
        one = dict(zip(NAMES, row, strict=True))
        one["float"] = row[1] if row[1] is not None and math.isfinite(row[1]) else None
        one["time"] = iso(row[4])
        wanted.append(one)
    assert json.loads(text) == wanted
    lines = [f" {json.dumps(one, ensure_ascii=False)}" for one in wanted]
    assert text == ("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n")


@dataclass
class Column:
    type: str = "number"
    width: int = 5
    decimals: int = 1
    leading_zero: bool = False


def section(rows: Sequence[tuple[object, ...]], *columns: Column) -> _native.Section:
    types = ["text", "time", "text", *(column.type for column in columns)]
    arrow = [{"number": "float", "id": "int"}.get(type, type) for type in types]
    table = _native.ArrowTable([(f"c{i}", type) for i, type in enumerate(arrow)], list(rows))
    return _native.Section.read(table, arrow, columns)


def test_column_widths_are_known_before_printing() -> None:
    rows = [
        ("A", 2, None, 1.0, "abc"),
        ("A", 1, "gap", math.nan, None),
        ("A", None, "", None, "日本語日本語"),
        (None, 7, None, -1234.56, None),
    ]
    known = section(rows, Column(), Column("text", 4, 0)).runs
    assert known == [
        ("A", 3, [1, 2], [5, 6], (1, 2), ["gap"]),
        (None, 1, [1, 0], [5, 4], (7, 7), []),
    ]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 8), st.integers(0, 3), st.booleans())
def test_width_is_that_of_longest_printed_number(value: float, width: int, decimals: int, zero: bool) -> None:
    """The width is computed without printing."""
    column = Column("number", width, decimals, zero)
    ((_, _, _, longest, _, _),) = section([("A", None, None, value)], column).runs
    assert longest == [max(width, len(_native.number_text(value, width, decimals, zero=zero)))]


def test_rows_of_one_time_are_adjacent() -> None:
    intervals = section([("A", t, None, float(t * 10 + i)) for t in (1, 2, 3) for i in range(2)], Column())
    totals = section([("A", t, None, float(-t)) for t in (2, 3, 4)], Column())
    lines = _native.Lines.csv([(intervals, 0), (totals, 0)], [["i"], ["t"]], timed=False)
    assert "".join(lines).split() == [
        "i,10.0", "i,11.0", "i,20.0", "i,21.0", "t,-2.0", "i,30.0", "i,31.0", "t,-3.0", "t,-4.0",
    ]  # fmt: skip


def test_chunks_are_bounded_for_many_rows() -> None:
    rows = [("A", None, None, float(i)) for i in range(200_000)]
    chunks = list(_native.Lines.csv([(section(rows, Column()), 0)], [["row"]], timed=False))
    assert len(chunks) > 5
    assert max(map(len, chunks)) < 300_000
    assert "".join(chunks) == "".join(f"row,{float(i)}\n" for i in range(200_000))


class Failing:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return "no capsule"


def test_non_streams_are_rejected() -> None:
    with pytest.raises(TypeError, match="PyCapsule"):
        _native.count_rows(Failing())
    with pytest.raises(AttributeError, match="__arrow_c_stream__"):
        _native.count_rows(object())
    table = _native.ArrowTable([("a", "int")], [(1,), (2,)])
    assert _native.count_rows(table) == 2
    with pytest.raises(TypeError, match="a type for each column"):
        _native.AnswerText.csv(table, ["a"], [])
