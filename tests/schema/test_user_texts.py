"""Tests that extreme user texts raise an error with a message."""

from __future__ import annotations

import pytest

from zlens.errors import ScenarioError
from zlens.models import scenario
from zlens.schema import toml
from zlens.schema.validators import DocumentErrors, Number

DEEP = "nested more than 50 levels"
LARGE = "more than 64 bits"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 100_000 + "]" * 100_000, DEEP),
        ("a = " + "{b=" * 5_000 + "1" + "}" * 5_000, DEEP),
        ("a = " + "[" * 60 + "]" * 60, DEEP),
        (".".join("a" * 50_000) + " = 1", DEEP),
        (" . ".join(['"a"'] * 50_000) + " = 1", DEEP),
        ("[" + ".".join("a" * 50_000) + "]", DEEP),
        ("a = " + "9" * 5_000, LARGE),
        ("a = 9223372036854775808", LARGE),
        ("a = 0x" + "f" * 1_000_000, LARGE),
        ("a = [[{b = 0o" + "7" * 30 + "}]]", LARGE),
    ],
)
def test_invalid_user_toml_is_rejected(text: str, message: str) -> None:
    with pytest.raises(toml.TomlError, match=message):
        toml.parse(text)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 40 + "]" * 40, "a = -9223372036854775808", "a = 1e999", 'a = "\\n\\t\\r"']
)
def test_valid_toml_is_parsed(text: str) -> None:
    assert "a" in toml.parse(text)


def test_non_finite_number_is_rejected() -> None:
    for value in (10**400, -(10**400), float("inf"), float("nan")):
        with pytest.raises(ScenarioError, match="expected a number"):
            Number().check(value, "x", DocumentErrors(error=ScenarioError))


@pytest.mark.parametrize("setting", ["a" + ".a" * 5_000 + "=1", f"user.{'9' * 5_000}.x=1"])
def test_invalid_scenario_path(setting: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenario.apply_setting({"user": [{"name": "A"}]}, setting)
    assert len(str(raised.value)) < 300
