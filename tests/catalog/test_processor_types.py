"""Tests that processor types in records and measures agree with facts/processor_types.toml."""

from __future__ import annotations

import pytest

from zlens.catalog import codes, measures, processor_types


def test_processor_type_properties() -> None:
    assert processor_types.modeled_types() == ("CP", "IFL", "ZIIP", "ICF")
    assert processor_types.cpu_pool_types() == ("CP", "IFL")
    assert "CP" not in processor_types.full_speed_types()
    assert {"IFL", "ZIIP", "ICF", "ZAAP"} == processor_types.full_speed_types()


@pytest.mark.parametrize("table", ["cpu_type", "rmf_cpu_type", "smf70_cpu_type"])
def test_codes_map_to_types(table: str) -> None:
    assert set(codes.words(table).values()) <= {*processor_types.ProcessorType.by_name()}


def test_system_has_threads_per_modeled_type() -> None:
    columns = {column.name for column in measures.load_measure("system").columns}
    assert {f"mt_{kind.lower()}" for kind in processor_types.modeled_types()} <= columns
