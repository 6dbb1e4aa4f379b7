"""Tests of number validators: accepted values, and the messages for the rest."""

from __future__ import annotations

import pytest

from zlens import models
from zlens.errors import ScenarioError


@pytest.mark.parametrize("value", [1e-200, 1e-308, 1e300])
def test_numbers_near_double_limits_are_rejected(value: float) -> None:
    """Their quotients overflow or underflow, and an answer would print inf or 0."""
    scenario = {
        "station": [{"name": "CPU"}],
        "class": [{"name": "a", "customers": 1, "demand": {"CPU": value}}],
    }
    with pytest.raises(ScenarioError, match=r"class\[1\]\.demand\.CPU is"):
        models.solve("queueing", scenario)


def test_number_error_has_range() -> None:
    scenario = {"station": [{"name": "CPU"}], "class": [{"name": "a", "rate": 1e-13, "demand": {"CPU": 1}}]}
    with pytest.raises(ScenarioError, match=r"except 0, between 1e-12 and 1e\+15 in size"):
        models.solve("queueing", scenario)
