"""Metrics of programs that export them as text (`openmetrics/*.toml`)."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog import codes
from zlens.catalog.raw_columns import RawColumn
from zlens.schema import document
from zlens.schema.facts import FACTS

#: Programs whose text is read.
EXPORTERS = ("hmc", "dds")


class MetricLabel(Struct, frozen=True):
    """A label that is a column. `types`: its value is a processor type; `of`: prefix of its metrics."""

    name: str
    column: RawColumn
    types: bool
    of: str


class ExporterTable(Struct, frozen=True):
    """Table of an exporter: columns that identify its rows, their other labels, and the columns of metrics.

    needs   column without which there is no row; None: a row for every subject that has a value
    spread  whether a value without a processor type applies to all types of its subject
    """

    key: tuple[str, ...]
    keep: tuple[str, ...]
    columns: tuple[RawColumn, ...]
    needs: str | None
    spread: bool


class ExporterMetric(Struct, frozen=True):
    """One metric: its part, its column, and its processor type (None: in a label, or all types).

    words   words for its values, which have no other meaning; None: they are numbers
    """

    part: str
    column: str
    kind: str
    cpu_type: str | None
    scale: float
    none: float | None
    words: dict[str, str] | None
    alone: bool


class Exporter(Struct, frozen=True):
    """Metrics that a program exports; `hmc.toml` explains each key."""

    name: str
    title: str
    prefix: str
    example: str
    subject: str
    system: tuple[str, ...]
    interval: str | None
    types: dict[str, str]
    labels: tuple[MetricLabel, ...]
    parts: dict[str, ExporterTable]
    metrics: dict[str, ExporterMetric]


@cache
def load_exporter(program: str) -> Exporter:
    """Return the facts of one of EXPORTERS."""
    data = document.load_unchecked(FACTS / "openmetrics" / f"{program}.toml")
    types: dict[str, str] = data["types"]
    columns: dict[str, dict[str, RawColumn]] = {}
    metrics: dict[str, ExporterMetric] = {}
    for entry in data["metric"]:
        name, part, column = entry["name"], entry["part"], _column(entry["column"])
        columns.setdefault(part, {}).setdefault(column.name, column)
        for word, cpu_type in types.items() if "{type}" in name else (("", None),):
            metrics[name.replace("{type}", word)] = ExporterMetric(
                part,
                column.name,
                column.type,
                cpu_type,
                float(entry.get("scale", 1)),
                entry.get("none"),
                codes.words(entry["codes"]) if "codes" in entry else None,
                entry.get("alone", False),
            )
    parts = {
        entry["name"]: ExporterTable(
            tuple(entry["key"]),
            tuple(entry.get("keep", ())),
            tuple(columns[entry["name"]].values()),
            entry.get("needs"),
            entry.get("spread", False),
        )
        for entry in data["part"]
    }
    return Exporter(
        data["name"],
        data["title"],
        data["prefix"],
        data["example"],
        data["subject"],
        tuple(data["system"]),
        data.get("interval"),
        types,
        tuple(_label(entry) for entry in data["label"]),
        parts,
        metrics,
    )


def _label(entry: dict[str, Any]) -> MetricLabel:
    return MetricLabel(
        entry["label"], _column(entry["column"]), entry.get("types", False), entry.get("of", "")
    )


def _column(entry: dict[str, Any]) -> RawColumn:
    return RawColumn(entry["name"], entry["type"], entry.get("unit", ""), entry["text"])
