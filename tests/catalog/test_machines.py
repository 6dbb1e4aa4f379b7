"""Tests of the machine capability facts, and of the issues that their check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zlens.catalog import capacity_curves, generations
from zlens.checks import records as check
from zlens.errors import CatalogError

GOOD = """\
text = "a generation"
cfvn = 3
csvn = 5
extended_counters = 0
status = "verified"
source = "made"
basis = "made"
workload_hint = false
rni = { status = "unverified", source = "made" }
counters = {}

[types]
3906 = { name = "made" }

[curves.made]
text = "a machine"
type = "3906"
model = "M01"
factors = { 1 = 1.0, 2 = 0.94, 4 = 0.9 }
source = "made"
status = "verified"
note = ""
"""


@pytest.fixture
def generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Function that writes files of generations instead of the catalog's."""
    caches = (generations._files, generations.names, capacity_curves.capacity_curves)
    monkeypatch.setattr(generations, "FOLDER", tmp_path)

    def write(**texts: str) -> None:
        for name, text in texts.items():
            (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
        for each in caches:
            each.cache_clear()

    yield write
    for each in caches:
        each.cache_clear()


def test_machine_files_are_valid() -> None:
    assert list(capacity_curves.check()) == []
    assert not [what for what in check.check_catalog() if what.startswith("machines/")]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('type = "3906"', 'type = "3900"', "3900 is not a machine type of the z14"),
        ('status = "verified"', 'status = "sure"', "status is 'sure'"),
        ('source = "made"', 'source = ""', "no source"),
        ("1 = 1.0", "1 = 0.99", "the factor of one processor must be 1"),
        ("1 = 1.0, ", "", "the factor of one processor must be 1"),
        ("4 = 0.9", "4 = 0.95", "the factor of 4 processors is not above 0, or above that of 2"),
        ("4 = 0.9", "4 = 0.0", "not above 0, or above that of"),
        ("4 = 0.9", "4 = 0.4", "4 processors have less capacity than 2"),
        ('text = "a machine"\n', "", "curves.made.text is missing"),
        ("factors = { 1 = 1.0, 2 = 0.94, 4 = 0.9 }\n", "", "write adjustments or factors"),
        ("2 = 0.94", "two = 0.94", "curves.made.factors"),
    ],
)
def test_invalid_curve_is_found(generation: Callable[..., None], old: str, new: str, said: str) -> None:
    generation(z14=GOOD)
    assert list(capacity_curves.check()) == []
    generation(z14=GOOD.replace(old, new))
    wrong = list(capacity_curves.check())
    assert len(wrong) == 1
    assert said in wrong[0]


def test_incomplete_curve_is_rejected(generation: Callable[..., None]) -> None:
    generation(z14=GOOD.replace('text = "a machine"\n', ""))
    with pytest.raises(CatalogError, match=r"curves\.made\.text is missing"):
        capacity_curves.capacity_curves()


def test_curve_belongs_to_one_generation(generation: Callable[..., None]) -> None:
    generation(z14=GOOD, z15=GOOD.replace("csvn = 5", "csvn = 6"))
    with pytest.raises(CatalogError, match="the curve made is also in z14"):
        capacity_curves.capacity_curves()


def test_curve_is_found_by_type_and_capability() -> None:
    def name(type: str, capability: int | None) -> str | None:
        found = capacity_curves.curve_of_type(type, capability)
        return None if found is None else found.name

    assert name("2964", 492) == "z13-nc9"
    assert name("2964", 3296) == "z13-n63-400"
    assert name("2964", 500) is None
    assert name("2964", None) is None
    assert name("3906", None) == name("3906", 400) == "z14-m05"
    assert name("9175", 100) is None


def test_complete_curves_are_those_of_full_speed() -> None:
    assert sorted(len(curve) for curve in capacity_curves.complete_curves()) == [69, 129]
