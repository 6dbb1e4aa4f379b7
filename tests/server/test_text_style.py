"""Tests of the texts of the API over the demo: one form of percentages, plurals and units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

#: Forms that no text may have, each with what it matches.
REFUSED = {
    "a blank before a percent sign": r"\d[ \u00a0]%(?![A-Za-z(])",
    "a doubled percent sign": r"%[ \u00a0]?%",
    "a plural after 1": r"(?<![\d.,:/\-])1 (?:intervals|rows|rules|findings|subjects|guests|minutes|times)\b",
    "a doubled unit": r"(?<=\d)[ \u00a0]?(ms|s|/s|MB|GB|points)[ \u00a0]\1\b",
    "a number next to a name": r"\b[A-Z]{4,}\d{2}\d+\.\d",
}
PATHS = (
    ("schema", {}),
    ("findings", {}),
    ("peak", {"system": "ZLDEMO"}),
    *(
        ("explain", {"name": name})
        for name in ("load.busy_pct", "findings", "load.tv", "fcx304", "guest.cpu_pct")
    ),
)


def texts(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        # Queries have the modulo operator, and names of columns.
        yield from (
            text for key, each in value.items() if key not in ("sql", "example") for text in texts(each)
        )
    elif isinstance(value, list):
        yield from (text for each in value for text in texts(each))


def faults(text: str) -> list[str]:
    return [fault for fault, form in REFUSED.items() if re.search(form, text)]


@pytest.mark.parametrize(("path", "values"), PATHS)
def test_texts_of_answers_have_one_form(served: Any, path: str, values: dict[str, str]) -> None:
    found = list(texts(served.get(path, **values).json()))
    assert len(found) > 3
    assert {text: faults(text) for text in found if faults(text)} == {}


@pytest.mark.parametrize(
    "text", ["90 % busy", "99.6% %", "in 1 intervals", "3 ms ms", "LNXBAT0159.7"], ids=str.strip
)
def test_refused_forms_of_texts_are_found(text: str) -> None:
    assert len(faults(text)) == 1
