"""How numbers look: forms taken from published rows, and what holds for every number."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.reports import style
from zlens.reports.definition import load

# value, width, decimals, printed. The first eight stand in the PRCLOG listings of IBM's z/VM SMT presentation
# (2015, 2020), the next in the DEVICE FCX108 and PHYSLOG FCX302 excerpts of its z/VM 6.4 update (2017).
PUBLISHED = [
    (0.0, 5, 1, ".0"),
    (0.2, 5, 1, ".2"),
    (95.7, 5, 1, "95.7"),
    (551.3, 5, 1, "551.3"),
    (115.9, 5, 1, "115.9"),
    (2061.7, 5, 1, "2062"),
    (38153.2, 5, 1, "38153"),
    (152399.0, 5, 1, "152k"),
    (0.229, 4, 3, ".229"),
    (1.174, 4, 3, "1.17"),
    (13.21, 4, 2, "13.2"),
    (2149.3, 4, 1, "2149"),
    (0.0, 4, 3, ".000"),
    (3240.9, 6, 1, "3240.9"),
    (244.65, 6, 2, "244.65"),
    (1.632, 6, 3, "1.632"),
]
OURS = [
    (152_399_000.0, 5, 1, "152M"),
    (152_399_000, 4, 0, "152M"),
    (999_949.0, 4, 0, "1M"),
    (99_999.96, 5, 1, "100k"),
    (62.5, 4, 0, "63"),
    (0.285, 4, 2, ".29"),
    (-0.25, 5, 1, "-.3"),
    (0.96, 5, 1, "1.0"),
    (99.96, 4, 1, "100"),
    (-0.04, 5, 1, ".0"),
    (-0.26, 5, 1, "-.3"),
    (-12.34, 5, 1, "-12.3"),
    (-1234567.0, 5, 1, "-1M"),
    (0.4, 4, 0, "0"),
    (100.0, 4, 0, "100"),
    (7, 5, 1, "7.0"),
    (0, 5, 1, ".0"),
    (2**53 + 1, 16, 0, "9007199254740993"),
]


@pytest.mark.parametrize(("value", "width", "decimals", "printed"), PUBLISHED + OURS)
def test_number(value: float, width: int, decimals: int, printed: str) -> None:
    assert style.number(value, width, decimals) == printed


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e18, max_value=1e18),
    st.integers(5, 12),
    st.integers(0, 3),
)
def test_a_number_fits_and_is_the_number(value: float, width: int, decimals: int) -> None:
    text = style.number(value, width, decimals)
    assert len(text) <= width
    assert not text.startswith(("0.", "-0."))
    factor = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}.get(text[-1], 1.0)
    digits = text.rstrip("kMGTPE")
    places = len(digits.partition(".")[2])
    assert abs(float(digits) * factor - value) <= 0.5000001 * factor * 10.0**-places + abs(value) * 1e-12


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-(10**9), 10**18)), max_size=20))
def test_a_column_is_its_cells(values: list[float | None]) -> None:
    """The short way over a whole column prints what each cell prints."""
    (table,) = load("prclog").tables
    column = next(column for column in table.columns if column.key == "inst_sim_rate")
    together = style.cells(values, column, lambda when: when)
    assert together == [style.cell(value, column, lambda when: when) for value in values]
    for value, text in zip(values, together, strict=True):
        assert (text is None) == (value is None or not math.isfinite(value))


def test_what_is_no_number() -> None:
    (table,) = load("prclog").tables
    columns = {column.key: column for column in table.columns}

    def cell(value: object, key: str) -> str | None:
        return style.cell(value, columns[key], lambda when: when)

    assert cell(None, "busy_pct") is None
    assert cell(math.nan, "busy_pct") is None
    assert cell(math.inf, "busy_pct") is None
    assert cell(12.0, "cpu_id") == "12"
    assert cell(1234, "cpu_id") == "1234"
    assert cell("MIX", "core_thread") == "MIX"
    assert cell(True, "ppd") == "Yes"
    assert cell("A\x1b[2J\nB", "ppd") == "A?[2J?B"
    assert cell(datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC), "ppd") == "2015/02/14 16:04:29"
    assert style.dots(4) == "...."
