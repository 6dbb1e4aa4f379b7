"""Tests of the engine's table of counters with formulas and balances of the catalog.

The engine's tests read the tables in crates/sim/tests/expected; `pytest --update` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import expected
from zlens.catalog import cpumf
from zlens.errors import CatalogError
from zlens.simulation import counters

EXPECTED = Path(__file__).parents[2] / "crates/sim/tests/expected"
GENERATIONS = ("z14", "z15", "z16", "z17")


def sourced(table: dict[str, Any]) -> dict[int, list[str]]:
    return {
        counter["number"]: counter["role"]["sourced"]
        for counter in table["counters"]
        if isinstance(counter["role"], dict) and "sourced" in counter["role"]
    }


@pytest.mark.parametrize("generation", GENERATIONS)
def test_simulator_uses_counter_tables_of_catalog(generation: str) -> None:
    path = EXPECTED / f"counters_{generation}.json"
    text = json.dumps(counters.counter_table(generation)) + "\n"
    expected.check(path, text)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_cache_lines_count_once_in_metric_counters(generation: str) -> None:
    sources = sourced(counters.counter_table(generation))
    assert set(sources) <= set(cpumf.l1_source_counters(generation))
    for source in counters._SOURCES:
        sides = {side for side, where in sources.values() if where == source}
        assert sides in ({"both"}, {"data", "instruction"}), source
    metrics = cpumf.generation(generation).metrics
    for metric, level in counters._LEVELS.items():
        for number in cpumf.numbers_in([metrics[metric].formula]):
            if number in sources:
                assert level in sources[number][1]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_report_metrics_have_counters(generation: str) -> None:
    table = counters.counter_table(generation)
    present = {counter["number"] for counter in table["counters"]}
    metrics = cpumf.generation(generation).metrics
    for name in ("cpi", "l1mp", "est_finite_cpi", "est_scpl1m", "tlb_cpu_miss_pct", "tlb_cycles_per_miss"):
        assert set(cpumf.numbers_in([metrics[name].formula])) <= present, name
    first = {number_set["name"]: number_set["first"] for number_set in table["sets"]}
    assert list(first) == ["basic", "problem", "crypto", "extended", "mt_diag"]


def test_simulated_counters_of_z15() -> None:
    table = counters.counter_table("z15")
    assert (table["cfvn"], table["csvn"]) == (3, 6)
    assert [number_set["count"] for number_set in table["sets"]] == [6, 2, 20, 160, 48]
    sources = sourced(table)
    assert sources[133] == ["data", "core"]
    assert sources[164] == ["instruction", "chip_changed"]
    assert sources[158] == ["data", "drawer_changed"]
    assert sources[157] == ["data", "machine"]
    assert sources[148] == ["data", "drawer_memory"]
    assert sourced(counters.counter_table("z16"))[160] == ["both", "drawer_changed"]
    assert sourced(counters.counter_table("z17"))[156] == ["both", "chip_memory"]


@pytest.mark.parametrize("generation", ["z10", "z196", "zEC12", "z13"])
def test_generation_without_counters(generation: str) -> None:
    with pytest.raises(CatalogError, match="cannot be simulated: it has no counters for L1C_TLB2_MISSES"):
        counters.counter_table(generation)
