"""The metrics of an exporter of the Hardware Management Console: `hmc/metrics.toml`."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog.columns import Column
from zlens.schema import document
from zlens.schema.facts import FACTS

#: The subjects of the metrics.
PARTS = ("partition", "processor", "pool")


class Metric(Struct, frozen=True):
    """One metric: its subject, its column, and its processor type (None: in a label, or all types)."""

    part: str
    column: str
    kind: str
    cpu_type: str | None
    scale: float
    none: float | None
    alone: bool


class Facts(Struct, frozen=True):
    metrics: dict[str, Metric]
    columns: dict[str, tuple[Column, ...]]
    types: dict[str, str]


@cache
def facts() -> Facts:
    """The facts of the catalog."""
    path = FACTS / "hmc" / "metrics.toml"
    data = document.facts(path)
    types: dict[str, str] = data["types"]
    metrics: dict[str, Metric] = {}
    columns: dict[str, tuple[Column, ...]] = {}
    for part in PARTS:
        part_columns: dict[str, Column] = {}
        for entry in data[part]:
            column = _column(entry["column"])
            part_columns.setdefault(column.name, column)
            typed = "{type}" in entry["metric"]
            for word, cpu_type in types.items() if typed else (("", None),):
                metrics[entry["metric"].replace("{type}", word)] = Metric(
                    part,
                    column.name,
                    column.type,
                    cpu_type,
                    float(entry.get("scale", 1)),
                    entry.get("none"),
                    entry.get("alone", False),
                )
        columns[part] = tuple(part_columns.values())
    return Facts(metrics, columns, types)


def _column(entry: dict[str, Any]) -> Column:
    return Column(entry["name"], entry["type"], entry.get("unit", ""), entry["text"])
