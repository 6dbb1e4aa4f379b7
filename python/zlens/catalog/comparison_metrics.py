"""Metrics that `zlens compare` compares, and facts that must match for runs to be comparable."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.catalog import aggregation, measures
from zlens.errors import CatalogError, QueryError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Boolean, Choice, Integer, Key, ListOf, MapOf, Number, Spec, Text

_ROOT = FACTS / "compare"
_FACTS = _ROOT.parent / "comparability.toml"
FORMS = ("ratio", "points")
DIRECTIONS = ("higher", "lower", "none")


class ComparedMetric(Struct, frozen=True):
    """One row of the comparison (or one for each value of `by`): see facts/compare/_skeleton.toml."""

    group: str
    table: str
    column: str
    heading: str
    unit: str
    by: tuple[str, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    form: str = "ratio"
    direction: str = "none"
    criterion: bool = False
    across: bool = False
    scale: float = 1.0
    published: str = ""
    most: int = 0

    @property
    def key(self) -> str:
        return f"{self.table}.{self.column}"


class ComparabilityFact(Struct, frozen=True):
    """A fact that must match for runs to be comparable, the reason, and the query of it for each system."""

    name: str
    table: str
    why: str
    query: str


@cache
def compared_metrics() -> tuple[ComparedMetric, ...]:
    """Return all metrics in their order; CatalogError if a file is invalid."""
    return read(_ROOT)


_TEXT = Text()
_WORDS = Text(200, 0, re.compile(r"[\w *.-]*"), "a name, without quotes and commas")
_METRIC = Spec(
    (
        Key("table", _TEXT, "the measure"),
        Key("column", _TEXT, "its column"),
        Key("heading", _TEXT, "its title"),
        Key("unit", _TEXT, "its unit", default=None),
        Key("by", ListOf(_TEXT, into=tuple), "columns whose values get rows of their own", default=()),
        Key("where", MapOf(_WORDS), "the values that columns must have", default={}),
        Key("form", Choice(FORMS), "how it is compared", default="ratio"),
        Key("direction", Choice(DIRECTIONS), "which direction is better", default="none"),
        Key("criterion", Boolean(), "whether IBM's criterion is about it", default=False),
        Key("across", Boolean(), "whether it is compared across generations", default=False),
        Key("scale", Number(), "factor that converts it to its unit", default=1.0),
        Key("most", Integer(0, 1000), "maximum rows of `by`, by size of the difference; 0: all", default=0),
        Key("published", _TEXT, "where the comparison is published", default=""),
    )
)
_GROUP = Spec(
    (
        Key("title", _TEXT, "title of the group"),
        Key("order", Number(), "position among the groups"),
        Key("metric", ListOf(_METRIC), "its rows"),
    )
)
_FACT = Spec(
    (
        Key("name", _TEXT, "description"),
        Key("table", _TEXT, "the measure"),
        Key("why", _TEXT, "why it must be alike"),
        Key("query", _TEXT, "the query that returns it for each system"),
    ),
    ComparabilityFact,
)


def read(root: Path) -> tuple[ComparedMetric, ...]:
    """Return the metrics in the files of a folder."""
    files = [(path, document.load(path, _GROUP, "the group")) for path in sorted(root.glob("[!_]*.toml"))]
    files.sort(key=lambda file: file[1]["order"])
    metric_list = [
        _metric(data["title"], entry, str(path)) for path, data in files for entry in data["metric"]
    ]
    keys = [(metric.key, metric.by) for metric in metric_list]
    for key in keys:
        if keys.count(key) > 1:
            raise CatalogError(f"{key[0]} is compared twice", file=str(root), cure="leave one of them out")
    return tuple(metric_list)


def _metric(group: str, entry: dict[str, Any], path: str) -> ComparedMetric:
    name = f"{entry['table']}.{entry['column']}"
    table = measures.load_measure(entry["table"])
    columns = {column.name: column for column in table.columns}
    column = columns.get(entry["column"])
    if column is None or column.type not in ("int", "float"):
        raise CatalogError(f"{name} is not a numeric column", file=path)
    unit = column.unit if entry["unit"] is None else entry["unit"]
    metric = ComparedMetric(group, **entry | {"unit": unit, "where": tuple(entry["where"].items())})
    for condition in (*metric.by, *(name for name, _ in metric.where)):
        if condition not in columns:
            raise CatalogError(f"{name}: {table.name} has no column {condition!r}", file=path)
    if "mean" not in aggregation.available_statistics(column) or column.unweighted:
        raise CatalogError(f"{name} has no mean", file=path, expected="a column with a weight")
    if set(metric.by) - set(table.key):
        raise CatalogError(f"{name}: by accepts columns of the key", file=path, expected=", ".join(table.key))
    try:
        merges = aggregation.merges_subjects(table, metric.by, [name for name, _ in metric.where])
    except QueryError as error:
        raise CatalogError(f"{name}: {error.message}", file=path, expected=error.expected) from None
    if merges and aggregation.subject_rule(column) == "none":
        raise CatalogError(f"{name}: rows of several {', '.join(table.key)} return no value", file=path)
    return metric


@cache
def comparability_facts() -> tuple[ComparabilityFact, ...]:
    """Return the facts that must match for two runs to be comparable."""
    entries: list[ComparabilityFact] = document.load(_FACTS, Spec((Key("fact", ListOf(_FACT), default=[]),)))[
        "fact"
    ]
    return tuple(entries)


def check() -> list[str]:
    """Return catalog issues of these files, one sentence each."""
    try:
        compared_metrics()
        comparability_facts()
    except CatalogError as error:
        return [str(error)]
    return []
