"""Tests that one file adds a machine generation: without a list, all packages know a neighbor's copy."""

from __future__ import annotations

from typing import Any

import pytest

from facts_copy import answers as answers_of
from facts_copy import changed

#: Changes to the copy of the z14 file; one counter is beyond the sets of all other machines.
CHANGES = {
    'text = "IBM z14 and z14 ZR1"': 'text = "IBM z99"',
    "csvn = 5": "csvn = 99",
    "extended_counters = 128": "extended_counters = 192",
    '3906 = { name = "z14"': '9901 = { name = "z99"',
    "3907 = {": "9902 = {",
    "[counters]\n": '[counters]\n300 = { name = "FARTHER_WRITES", text = "lines from farther" }\n',
    "100 * (E133 + E136) / (B2 + B4)": "100 * (E133 + E300) / (B2 + B4)",
    "[curves.z14-m05]": "[curves.z99-m01]",
    'type = "3906"': 'type = "9901"',
}

ASK = """
import json
from smf113_rows import opened, row, values
from zlens.catalog import capacity_curves, cpumf, cpumf_weights, generations
from zlens.checks import cpumf as check
from zlens.explain.cpumf import counter_pages
from zlens.explain.description import format_text


rows = [row({"B0": 2e9, "B1": 1e9, "B2": 3e6, "B4": 1e6, "E133": 0, "E300": 1e6}, generation="z99")]
weights = cpumf_weights.parse("z99 = { rni = [1, 1, 1, 1, 1] }", "mine.toml")
print(json.dumps({
    "order": generations.names(),
    "type": generations.types()["9902"].generation,
    "by type": cpumf.choose_generation("9901", 99),
    "by version": cpumf.choose_generation(None, 99),
    "measure": values(opened(rows), "generation, generation_by, cpi, l2p")[0],
    "explained": format_text(next(counter_pages("FARTHER_WRITES"))),
    "weights": weights.rni["z99"],
    "curve": capacity_curves.curve_of_type("9901", None).name,
    "factor of two": dict(capacity_curves.capacity_curves()["z99-m01"].curve)[2],
    "wrong": [*check.check(), *capacity_curves.check()],
}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Answers of a package whose facts have an additional file."""
    files = {"machines/z99.toml": changed("machines/z14.toml", CHANGES)}
    found: dict[str, Any] = answers_of(tmp_path_factory.mktemp("generation"), files, ASK)
    return found


def test_new_generation_is_recognized(answers: dict[str, Any]) -> None:
    assert answers["order"][-1] == "z99"
    assert answers["type"] == "z99"
    assert answers["by type"] == ["z99", "machine type"]
    assert answers["by version"] == ["z99", "counter version"]


def test_new_generation_formulas_are_compiled(answers: dict[str, Any]) -> None:
    assert answers["measure"] == {
        "generation": "z99",
        "generation_by": "machine type",
        "cpi": 2.0,
        "l2p": 25.0,
    }
    assert "lines from farther" in answers["explained"]
    assert answers["weights"] == [1.0] * 5


def test_new_generation_curve_is_used(answers: dict[str, Any]) -> None:
    assert answers["curve"] == "z99-m01"
    assert answers["factor of two"] == 0.941


def test_new_generation_passes_check(answers: dict[str, Any]) -> None:
    assert answers["wrong"] == []
