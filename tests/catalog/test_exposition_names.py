"""Tests of metric names derived from the declarations of measures.

Oracle: Prometheus' naming conventions (base units, suffixes, reserved labels), and OpenMetrics 1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from zlens.catalog import exposition, measures
from zlens.errors import CatalogError
from zlens.readers.recognition import READERS

NEW = """
table = "ticks"
text = "What a new measure is."
grain = "interval x thing"
key = ["thing_id"]
scope = "system"

[[column]]
name = "thing_id"
type = "text"
unit = ""
text = "which thing"
aggregate = "key"
status = "derived"
source = "test"
"""
COLUMN = """
[[column]]
name = "{name}"
type = "{type}"
unit = "{unit}"
text = "some value"
aggregate = "{aggregate}"
status = "derived"
source = "test"
weight = "{weight}"
"""


def column(name: str, type: str, unit: str, aggregate: str) -> str:
    weight = "seconds" if aggregate == "ratio" else ""
    return COLUMN.format(name=name, type=type, unit=unit, aggregate=aggregate, weight=weight)


@pytest.fixture
def with_measure(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Function that adds a catalog measure."""

    def add(text: str) -> exposition.MetricGroup:
        (table,) = measures.parse(text, "ticks.toml")
        tables, others = measures.measure_names(), measures.load_measure
        monkeypatch.setattr(measures, "measure_names", lambda: [*tables, "ticks"])
        monkeypatch.setattr(measures, "load_measure", lambda name: table if name == "ticks" else others(name))
        exposition.names.cache_clear()
        return exposition.names().measure("ticks")

    yield add
    exposition.names.cache_clear()


@pytest.mark.parametrize(
    ("name", "type", "unit", "aggregate", "sample", "kind"),
    [
        ("busy_pct", "float", "%", "ratio", "ticks_busy_ratio", "gauge"),
        ("wait_s", "float", "s", "ratio", "ticks_wait_seconds", "gauge"),
        ("cpu_s", "float", "s", "time", "ticks_cpu_interval_seconds", "gauge"),
        ("done", "int", "count", "counter", "ticks_done_interval", "gauge"),
        ("call_rate", "float", "/s", "ratio", "ticks_call_per_second", "gauge"),
        ("read_rate", "float", "bytes/s", "ratio", "ticks_read_bytes_per_second", "gauge"),
        ("held_pages", "int", "pages", "gauge", "ticks_held_bytes", "gauge"),
        ("ghz", "float", "GHz", "gauge", "ticks_hertz", "gauge"),
        ("online", "bool", "", "state", "ticks_online", "gauge"),
        ("begun", "time", "", "state", "ticks_begun_timestamp_seconds", "gauge"),
        ("threads", "int", "threads", "state", "ticks_threads", "gauge"),
        ("kind", "text", "", "state", "ticks_info", "info"),
        ("slot", "int", "", "state", "ticks_info", "info"),
    ],
)
def test_new_measure_is_exported(
    with_measure: object, name: str, type: str, unit: str, aggregate: str, sample: str, kind: str
) -> None:
    group = with_measure(NEW + column(name, type, unit, aggregate))  # type: ignore[operator]
    [family] = group.families
    assert (family.sample, family.kind) == (sample, kind)
    assert group.labels == {"thing_id": "thing"}
    assert group.info == ({name: name} if kind == "info" else {})
    # The metric may be of any platform.
    assert f"zvm_{sample}" in {*group.names()}


def test_prometheus_label_is_rejected(with_measure: object) -> None:
    with pytest.raises(CatalogError, match="'instance' is one of Prometheus itself"):
        with_measure(NEW.replace("thing_id", "instance"))  # type: ignore[operator]


def test_duplicate_metric_name_is_rejected(with_measure: object) -> None:
    with pytest.raises(CatalogError, match="zvm_ticks_wait_seconds"):
        with_measure(  # type: ignore[operator]
            NEW + column("wait_s", "float", "s", "ratio") + column("wait_seconds", "float", "s", "ratio")
        )


def test_names_follow_prometheus_conventions() -> None:
    for group in exposition.names().groups:
        for family in group.families:
            assert family.name == family.name.lower()
            assert not family.name.endswith(("_total", "_info", "_count", "_sum", "_bucket", "_created"))
            assert family.kind != "counter" or family.sample.endswith("_total")
        assert not {*group.labels.values(), *group.info.values()} & exposition.RESERVED


def test_every_source_has_prefix() -> None:
    """A source without a prefix would not be exported."""
    sources = {import_module(f"zlens.readers.{name}").NAME for name in READERS}
    names = exposition.names()
    assert sources <= {*names.sources}
    used = {*names.sources.values(), *(group.prefix for group in names.groups if group.prefix)}
    assert used == {*names.prefixes}


def test_other_conventions_name_exported_metrics() -> None:
    exported = {family.sample for group in exposition.names().groups for family in group.families}
    labels = {"system", *exposition.names().system_labels}
    for program in exposition.other_conventions():
        assert program.entry
        assert {ours for ours, _ in program.names()} <= exported | labels
