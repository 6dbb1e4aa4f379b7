"""What the catalog says of the capability of machines, and what its check finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.catalog import machines
from zlens.catalog.check import records as check
from zlens.errors import CatalogError

GOOD = """\
text = "a machine"
type = "3906"
model = "M01"
factors = { 1 = 1.0, 2 = 0.94, 4 = 0.9 }
source = "made"
status = "verified"
note = ""
"""


def test_the_files_are_in_order() -> None:
    assert list(machines.check()) == []
    assert not [what for what in check.everything() if what.startswith("machines/")]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('type = "3906"', 'type = "3900"', "3900 is no machine type"),
        ('status = "verified"', 'status = "sure"', "status is 'sure'"),
        ('source = "made"', 'source = ""', "no source"),
        ("1 = 1.0", "1 = 0.99", "the factor of one processor is 1"),
        ("1 = 1.0, ", "", "the factor of one processor is 1"),
        ("4 = 0.9", "4 = 0.95", "the factor of 4 processors is above that of 2"),
        ("4 = 0.9", "4 = 0.0", "or not above 0"),
        ("4 = 0.9", "4 = 0.4", "4 processors are less than 2"),
        ('text = "a machine"\n', "", "is not whole"),
        ("factors = { 1 = 1.0, 2 = 0.94, 4 = 0.9 }\n", "", "write adjustments or factors"),
        ("2 = 0.94", "two = 0.94", "is not whole"),
    ],
)
def test_a_wrong_file_is_found(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "made.toml").write_text(GOOD, encoding="utf-8")
    assert list(machines.check(tmp_path)) == []
    machines.machines.cache_clear()
    (tmp_path / "made.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    found = list(machines.check(tmp_path))
    assert len(found) == 1
    assert said in found[0]


def test_a_file_that_is_not_whole_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "made.toml").write_text('text = "a machine"\n', encoding="utf-8")
    with pytest.raises(CatalogError, match="not whole"):
        machines.machines(tmp_path)


def test_a_curve_is_found_by_type_and_capability() -> None:
    def name(type: str, capability: int | None) -> str | None:
        found = machines.of_type(type, capability)
        return None if found is None else found.name

    assert name("2964", 492) == "z13-n96"
    assert name("2964", 3296) == "z13-n63-400"
    assert name("2964", 500) is None
    assert name("2964", None) is None
    assert name("3906", None) == name("3906", 400) == "z14-m05"
    assert name("9175", 100) is None


def test_complete_curves_are_those_of_full_speed() -> None:
    assert sorted(len(curve) for curve in machines.complete()) == [54, 96]
