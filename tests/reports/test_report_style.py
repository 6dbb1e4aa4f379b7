"""Tests of printed numbers: forms of published rows, and properties of all numbers."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zlens import _native
from zlens.catalog.reports.definition import load_report
from zlens.reports import style

# value, width, decimals, printed. The first eight are from the PRCLOG listings of IBM's z/VM SMT presentation
# (2015, 2020), the next from the DEVICE FCX108 and PHYSLOG FCX302 excerpts of its z/VM 6.4 update (2017).
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


LETTERS = ((10**3, "k"), (10**6, "M"), (10**9, "G"), (10**12, "T"), (10**15, "P"), (10**18, "E"))


def fixed(value: float, places: int) -> str:
    """Return the value with this many decimals, without a leading zero and without the sign of a zero."""
    if isinstance(value, int):
        return f"{value or ''}." + "0" * places if places else str(value)
    text = f"{value * (1 + 1e-15):.{places}f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return re.sub(r"^(-?)0\.", r"\1.", text)


def number(value: float, width: int, decimals: int) -> str:
    """Return the expected text, from Python's own formatting."""
    forms = [fixed(value, places) for places in range(decimals, -1, -1)]
    lettered = [fixed(value / factor, 0) + letter for factor, letter in LETTERS]
    fitting = [form for form in forms + lettered if len(form) <= width]
    return fitting[0] if fitting else min(lettered, key=len)


@pytest.mark.parametrize(("value", "width", "decimals", "printed"), PUBLISHED + OURS)
def test_number(value: float, width: int, decimals: int, printed: str) -> None:
    assert _native.number_text(value, width, decimals) == printed


@pytest.mark.parametrize(
    ("value", "width", "decimals", "printed"),
    [
        # IBM, z/VM and simultaneous multithreading: SMTMET of an idle system, RMF Workload Activity.
        (0.05, 10, 2, "0.05"),
        (0.1, 10, 1, "0.1"),
        (0.0, 10, 1, "0.0"),
        (0, 10, 1, "0.0"),
        (0.43, 8, 2, "0.43"),
        (220.69, 8, 2, "220.69"),
        (-0.43, 8, 2, "-0.43"),
        # One decimal less fits.
        (0.43, 3, 2, "0.4"),
    ],
)
def test_number_with_leading_zero(value: float, width: int, decimals: int, printed: str) -> None:
    assert _native.number_text(value, width, decimals, zero=True) == printed


#: Values that end in a half at some decimal, and their neighbors.
HALVES = st.builds(
    lambda whole, places, ulps: (whole + 0.5) / 10**places * (1 + ulps * 2.0**-52),
    st.integers(-(10**6), 10**6),
    st.integers(0, 6),
    st.integers(-5, 1),
)


@given(
    st.one_of(st.floats(), HALVES, st.integers(-(2**100), 2**100)).filter(math.isfinite),
    st.integers(1, 16),
    st.integers(0, 9),
)
@example(5e-324, 4, 9)
@example(1.7976931348623157e308, 5, 1)
@example(2.0**53, 22, 9)
@example(2.0**53 - 0.5, 22, 9)
@example(-0.0, 5, 1)
def test_numbers_are_those_of_python(value: float, width: int, decimals: int) -> None:
    assert _native.number_text(value, width, decimals) == number(value, width, decimals)


@given(st.one_of(st.floats(), HALVES))
@example(1e16)
@example(9999999999999998.0)
@example(1e-4)
@example(9.999999999999999e-05)
@example(5e-324)
def test_floats_are_those_of_python(value: float) -> None:
    assert _native.float_text(value) == repr(value)


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e18, max_value=1e18),
    st.integers(5, 12),
    st.integers(0, 3),
)
def test_printed_number_fits_and_is_exact(value: float, width: int, decimals: int) -> None:
    text = _native.number_text(value, width, decimals)
    assert len(text) <= width
    assert not text.startswith(("0.", "-0."))
    factor = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}.get(text[-1], 1.0)
    digits = text.rstrip("kMGTPE")
    places = len(digits.partition(".")[2])
    assert abs(float(digits) * factor - value) <= 0.5000001 * factor * 10.0**-places + abs(value) * 1e-12


def cell(value: object, key: str) -> str | None:
    """Return the text that a column of PRCLOG prints; None for dots."""
    (table,) = load_report("prclog").tables
    column = next(column for column in table.columns if column.key == key)
    kinds: dict[type, str] = {int: "int", float: "float", bool: "bool", datetime: "time"}
    type = kinds.get(value.__class__, "text")
    if isinstance(value, datetime):
        value = round(value.timestamp() * 1e6)
    rows = _native.ArrowTable(
        [("block", "text"), ("time", "time"), ("flag", "text"), ("value", type)], [("A", None, None, value)]
    )
    section = _native.Section.read(rows, ["text", "time", "text", type], [column])
    lines = _native.Lines.table(
        [(section, 0)],
        [(0, 1, True)],
        [("", [None], ["(dots)"])],
        label_width=None,
        blank=False,
        dated=False,
        offset_us=0,
    )
    text = "".join(lines).removesuffix("\n")
    return None if text == "(dots)" else text


def test_non_numbers_are_blank() -> None:
    assert cell(None, "busy_pct") is None
    assert cell(math.nan, "busy_pct") is None
    assert cell(math.inf, "busy_pct") is None
    assert cell(12.0, "cpu_id") == "12"
    assert cell(12.5, "cpu_id") == "12.5"
    assert cell(1234, "cpu_id") == "1234"
    assert cell("MIX", "core_thread") == "MIX"
    assert cell(True, "ppd") == "Yes"
    assert cell("A\x1b[2J\nB", "ppd") == "A?[2J?B"
    assert cell(datetime(2015, 2, 14, 16, 4, 29, tzinfo=UTC), "ppd") == "2015/02/14 16:04:29"
    assert style.dots(4) == "...."


@given(st.characters(categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co")))
def test_unprintable_character_is_replaced(character: str) -> None:
    """Only characters of Python's version of Unicode; Rust may have a later version."""
    printed = cell(f"a{character}b", "ppd")
    assert printed == f"a{character if character.isprintable() else '?'}b"
