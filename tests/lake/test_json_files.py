"""Tests of the JSON files of a lake: what zlens cannot have written is an error that names it."""

from __future__ import annotations

import pytest

from zlens.errors import InputError
from zlens.inputs.source import Interval
from zlens.lake import documents, manifest
from zlens.lake.documents import PartIntervals, load_intervals
from zlens.lake.manifest import DayRollup, Manifest

_NOT_JSON = "is not JSON"


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ('{"intervals": []}', "marks is missing", "a list, each a list of an integer, an integer"),
        ('{"intervals": [], "marks": [], "more": 1}', "more is not known here", "one of intervals, marks"),
        ('{"intervals": [[1, NaN, null, 1, 0]], "marks": []}', "intervals[1][2] is nan", "a number"),
        ('{"intervals": [[1, 1e999, null, 1, 0]], "marks": []}', "intervals[1][2] is inf", "a number"),
        ('{"intervals": [[1, 1e16, null, 1, 0]], "marks": []}', "intervals[1][2] is 1e+16", "a number"),
        ('{"intervals": [[9223372036854775808, 1, null, 1, 0]], "marks": []}', "[1][1] is 922337", "an int"),
        ('{"intervals": [[true, 1, null, 1, 0]], "marks": []}', "intervals[1][1] is true", "an integer"),
        ('{"intervals": [[1, 1, "a", -1, -1]], "marks": []}', "[1][5] is -1", "an integer from 0 up"),
        ('{"intervals": [[1, 1, "a", 1, 0, 5]], "marks": []}', "[1] is a list of 6", "end_us, seconds, flag"),
        ('{"intervals": [[1, 1, "\\ud800"]], "marks": []}', _NOT_JSON, None),
        ('{"intervals": [[1, 1, "a\\u0000b"]], "marks": []}', "has a text with a zero", "texts without one"),
        (
            '{"intervals": [], "marks": [[1, 2, 3, 4, 5, 6]]}',
            "marks[1] is a list of 6",
            "a list of an integer",
        ),
        ("[" * 100_000, _NOT_JSON, None),
        ("", _NOT_JSON, None),
        ("null", "the file is null", "a table with intervals, marks"),
    ],
    ids=range(15),
)
def test_foreign_intervals_are_rejected(text: str, message: str, expected: str | None) -> None:
    with pytest.raises(InputError) as caught:
        load_intervals(text.encode(), "0.intervals.json")
    assert message in caught.value.message
    assert (caught.value.expected or "").startswith(expected or "")
    assert caught.value.cure == "import the data into a new lake, or restore the file from a copy"


def test_intervals_and_marks_are_loaded() -> None:
    data = b'{"intervals": [[1, 60, "gap"], [2, null, null, 3, 1]], "marks": [[1, 2, 3, 4, 5, 6, 7]]}'
    loaded = load_intervals(data, "0.intervals.json")
    assert loaded.intervals == [Interval(1, 60.0, "gap"), Interval(2, None, None, 3, 1)]
    assert [documents._mark_row(mark) for mark in loaded.marks] == [[1, 2, 3, 4, 5, 6, 7]]
    assert load_intervals(loaded.dump(), "0.intervals.json") == loaded


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
