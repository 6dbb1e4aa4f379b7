"""Tests that the decoder flags intervals by the factors in facts/intervals.toml."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zlens.catalog.interval_flags import GAP, SHORT, flag

FLAG_RS = Path(__file__).parents[2] / "crates" / "columns" / "src" / "core" / "flag.rs"


@pytest.mark.parametrize(
    ("seconds", "nominal", "flagged"),
    [
        (60.0, 60.0, None),
        (60.0 * GAP, 60.0, None),
        (60.0 * GAP + 0.1, 60.0, "gap"),
        (60.0 * SHORT, 60.0, None),
        (60.0 * SHORT - 0.1, 60.0, "short"),
        (None, 60.0, None),
        (60.0, None, None),
    ],
)
def test_interval_length_determines_flag(
    seconds: float | None, nominal: float | None, flagged: str | None
) -> None:
    assert flag(seconds, nominal) == flagged


def test_decoder_sets_same_flags() -> None:
    text = FLAG_RS.read_text(encoding="utf-8")
    stated = dict(re.findall(r"const (GAP|SHORT)_FACTOR: f64 = ([0-9.]+);", text))
    assert {name: float(value) for name, value in stated.items()} == {"GAP": GAP, "SHORT": SHORT}
