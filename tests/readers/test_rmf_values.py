"""Tests that texts printed by RMF are parsed exactly or rejected."""

from __future__ import annotations

import datetime as dt
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.readers.rmf import values


@given(st.integers(0, 360_000_000), st.sampled_from(".:"))
def test_durations_are_exact_in_every_format(ms: int, dot: str) -> None:
    seconds, rest = divmod(ms, 1000)
    hours, minutes, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    assert values.milliseconds(f"{hours:02}{dot}{minutes:02}{dot}{second:02}{dot}{rest:03}") == ms
    assert values.milliseconds(f"{seconds // 60:02}{dot}{second:02}{dot}{rest:03}") == ms
    assert values.milliseconds(f"{hours:02}{dot}{minutes:02}{dot}{second:02}") == seconds * 1000


@pytest.mark.parametrize(
    "text", ["", "5", "12.34", "1.2.3", "00.60.00", "00.00.61.000", "-1.00.00", "a.b.c", "1.00.00.00000"]
)
def test_invalid_durations_are_rejected(text: str) -> None:
    with pytest.raises(values.NotAValueError, match="a duration such as "):
        values.milliseconds(text)


@given(st.text(max_size=30))
def test_any_text_is_value_or_refused(text: str) -> None:
    for parse in (values.milliseconds, values.integer, values.decimal, values.yes_no):
        try:
            found = parse(text)
        except values.NotAValueError:
            continue
        assert abs(found) < 10**18
    try:
        stamp = values.local_time(text, None)
    except values.NotAValueError:
        return
    assert stamp.tzinfo is None


@given(st.decimals(min_value=0, max_value=10**9, places=2))
def test_numbers(number: object) -> None:
    assert values.decimal(str(number)) == float(str(number))
    assert values.decimal(f"{number}*") == float(str(number))


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("17", 17), ("17.0", 17), ("+3", 3), ("-4", -4), ("9*", 9)]
)
def test_whole_numbers(text: str, value: int) -> None:
    assert values.integer(text) == value


@pytest.mark.parametrize(
    "text", ["1.5", "1e3", "0x10", "1_000", "1,000", "\u0661", "12K", "9" * 19, "inf", "nan"]
)
def test_invalid_integers_are_rejected(text: str) -> None:
    with pytest.raises(values.NotAValueError, match=r"^(a number|an integer)$"):
        values.integer(text)


@pytest.mark.parametrize("text", ["", "-----", "****", ".....", "---.--"])
def test_blank_values(text: str) -> None:
    assert values.is_blank(text)


ZONE = zoneinfo.ZoneInfo("Europe/Berlin")


@given(st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2090, 1, 1), timezones=st.just(dt.UTC)))
def test_local_times_convert_to_utc(moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=0)
    local = moment.astimezone(ZONE)
    shown = local.replace(tzinfo=None, fold=0)
    assert values.in_zone(shown, ZONE, second=bool(local.fold)) == int(moment.timestamp()) * 1_000_000
    assert not values.is_skipped(shown, ZONE)
    if local.fold:
        assert values.is_ambiguous(shown, ZONE)
