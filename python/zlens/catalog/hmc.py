"""What an exporter of the Hardware Management Console tells: `hmc/metrics.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from zlens.catalog.columns import Column
from zlens.schema import document
from zlens.schema.facts import FACTS

#: What the metrics are of.
PARTS = ("partition", "processor", "pool")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: of what, in which column, of which type of processor (None: in a label, or of all)."""

    part: str
    column: str
    kind: str
    cpu_type: str | None
    scale: float
    none: float | None
    alone: bool


@dataclass(frozen=True, slots=True)
class Facts:
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
        found: dict[str, Column] = {}
        for entry in data[part]:
            column = _column(entry["column"])
            found.setdefault(column.name, column)
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
        columns[part] = tuple(found.values())
    return Facts(metrics, columns, types)


def _column(entry: dict[str, Any]) -> Column:
    return Column(entry["name"], entry["type"], entry.get("unit", ""), entry["text"])
