"""Tests of row lists in lake files: msgspec decodes exactly what the validators accept."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.errors import InputError
from zlens.inputs.source import Interval
from zlens.lake import manifest, row_lists, validators
from zlens.lake.documents import PartIntervals, load_intervals
from zlens.lake.manifest import DayRollup, Manifest
from zlens.lake.row_lists import RowLists
from zlens.schema.validators import FixedTuple, Nullable, Number

LISTS = RowLists(
    {
        "ends": FixedTuple(
            (validators.WHOLE, Nullable(Number()), validators.MAYBE_TEXT), "end, seconds and flag"
        ),
        "marks": FixedTuple((validators.COUNT, validators.WHOLE, validators.TEXT), "count, end and text"),
    }
)
_LARGE = [2**63 - 1, -(2**63 - 1), 2**63, -(2**63), 10**400, 1e15, 1e16, 1e-12, 1e-13, -1e-13, 1e308]
_PLACE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from([*_LARGE, "\0", 5.0]),
)
_ROW = st.lists(_PLACE, max_size=4)
_END = st.tuples(st.integers(-5, 5), st.floats(0, 60) | st.none(), st.text("ab", max_size=2) | st.none())
_MARK = st.tuples(st.integers(0, 5), st.integers(), st.text("ab", max_size=2))


def outcome(load: Any, data: bytes) -> Any:
    """Return the lists of a file, or the parts of its error."""
    try:
        return load(data, "file.json")
    except InputError as error:
        return error.message, error.expected, error.cure


def same(data: bytes) -> None:
    by_kind = outcome(lambda data, file: validators.load_checked(data, file, LISTS._spec), data)
    found = outcome(LISTS.load, data)
    assert found == by_kind
    # 5 and 5.0 are equal but have different types.
    assert repr(found) == repr(by_kind)


@given(st.lists(_END | _ROW, max_size=3), st.lists(_MARK | _ROW, max_size=3))
def test_row_lists_agree_with_validators(ends: list[Any], marks: list[Any]) -> None:
    same(json.dumps({"ends": ends, "marks": marks}).encode())


@pytest.mark.parametrize(
    "text",
    [
        '{"ends": []}',
        '{"ends": [], "marks": [], "more": 1}',
        '{"ends": [[1, NaN, null]], "marks": []}',
        '{"ends": [[1, 1, "\\ud800"]], "marks": []}',
        '{"ends": [[1, 1, "a\\u0000b"]], "marks": []}',
        '{"ends": [], "ends": [[1, 2, null]], "marks": []}',
        "[" * 100_000,
        "",
        "null",
        '{"ends": [[1.0, 2, null]], "marks": [[1, 2, "a"], [3, 4]]}',
    ],
)
def test_foreign_row_list_files(text: str) -> None:
    same(text.encode())


def test_manifest_lists_have_sufficient_limits() -> None:
    """Limits for the days of a thousand systems in a hundred days, and the seconds of a two-day recording."""
    large_manifest = Manifest()
    for number in range(100_001):
        large_manifest.rollups[f"S{number}", "2026-01-05"] = DayRollup(
            f"S{number}", "2026-01-05", "0" * 16, "0" * 64, 0, manifest.RULES
        )
    assert manifest.load(large_manifest.dump(), "manifest.json") == large_manifest
    intervals = PartIntervals([Interval(end * 1_000_000, 1.0, None, 1) for end in range(100_001)])
    assert load_intervals(intervals.dump(), "0.intervals.json") == intervals


def test_valid_rows_skip_slow_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validators take three times as long."""
    monkeypatch.setattr(row_lists.validators, "load_checked", None)
    data = msgspec.json.encode({"ends": [[1, 60.0, None], [2, 60, "gap"]], "marks": [[1, 2, "a"]]})
    ends = [(1, 60.0, None), (2, 60.0, "gap")]
    assert LISTS.load(data, "file.json") == {"ends": ends, "marks": [(1, 2, "a")]}
