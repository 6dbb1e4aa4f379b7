"""What is compared, as the catalog declares it: groups of metrics, and the facts that must be alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import aggregation, metrics
from zlens.errors import CatalogError, QueryError
from zlens.schema import toml
from zlens.schema.facts import FACTS

_ROOT = FACTS / "compare"
_FACTS = _ROOT.parent / "comparable.toml"
FORMS = ("ratio", "points")
DIRECTIONS = ("higher", "lower", "none")
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "table": str, "column": str, "heading": str, "by": list, "where": dict, "form": str, "direction": str,
    "criterion": bool, "across": bool, "scale": (int, float), "unit": str, "published": str,
}  # fmt: skip
_WORD = re.compile(r"[\w *.-]*")


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the comparison (one for each value of `by`): see facts/compare/_skeleton.toml."""

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

    @property
    def key(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must be alike, why, and the query over a table that tells it of each system."""

    name: str
    table: str
    why: str
    query: str


@cache
def declared() -> tuple[Metric, ...]:
    """All metrics in their order; CatalogError where a file is wrong."""
    return read(_ROOT)


def read(root: Path) -> tuple[Metric, ...]:
    """The metrics of the files of a folder."""
    files = [(path, _toml(path)) for path in sorted(root.glob("[!_]*.toml"))]
    for path, data in files:
        if set(data) != {"title", "order", "metric"}:
            raise CatalogError("is no group of metrics", file=str(path), expected="title, order and metrics")
    files.sort(key=lambda each: each[1]["order"])
    found = [_metric(data["title"], entry, str(path)) for path, data in files for entry in data["metric"]]
    keys = [metric.key for metric in found]
    for key in keys:
        if keys.count(key) > 1:
            raise CatalogError(f"{key} is compared twice", file=str(root), cure="leave one of them out")
    return tuple(found)


def _metric(group: str, entry: dict[str, Any], path: str) -> Metric:
    name = f"{entry.get('table', '?')}.{entry.get('column', '?')}"
    for key, value in entry.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise CatalogError(
                f"{name}: {key} = {value!r} is not understood", file=path, expected=", ".join(_KEYS)
            )
    missing = {"table", "column", "heading"} - set(entry)
    if missing:
        raise CatalogError(f"{name} lacks {sorted(missing)[0]}", file=path)
    table = metrics.table(entry["table"])
    columns = {column.name: column for column in table.columns}
    column = columns.get(entry["column"])
    if column is None or column.type not in ("int", "float"):
        raise CatalogError(f"{name} is no column of numbers", file=path)
    facts: dict[str, Any] = {"unit": column.unit, **entry}
    facts["by"] = tuple(entry.get("by", ()))
    facts["where"] = tuple(entry.get("where", {}).items())
    metric = Metric(group, **facts)
    for other in (*metric.by, *(name for name, _ in metric.where)):
        if other not in columns:
            raise CatalogError(f"{name}: {table.name} has no column {other!r}", file=path)
    allowed = (
        ("form", metric.form, FORMS),
        ("direction", metric.direction, DIRECTIONS),
    )
    for key, value, known in allowed:
        if value not in known:
            raise CatalogError(f"{name}: {key} is {value!r}", file=path, expected=" or ".join(known))
    if "mean" not in aggregation.gives(column) or column.unweighted:
        raise CatalogError(f"{name} has no mean", file=path, expected="a column with a weight")
    if not all(isinstance(value, str) and _WORD.fullmatch(value) for _, value in metric.where):
        raise CatalogError(f"{name}: where takes names", file=path)
    if set(metric.by) - set(table.key):
        raise CatalogError(f"{name}: by takes columns of the key", file=path, expected=", ".join(table.key))
    try:
        together = aggregation.merged(table, metric.by, [name for name, _ in metric.where])
    except QueryError as error:
        raise CatalogError(f"{name}: {error.message}", file=path, expected=error.expected) from None
    if together and aggregation.across(column) == "none":
        raise CatalogError(f"{name}: rows of several {', '.join(table.key)} give no value", file=path)
    return metric


@cache
def facts() -> tuple[Fact, ...]:
    """What must be alike for two runs to be comparable."""
    entries = _toml(_FACTS).get("fact", [])
    try:
        return tuple(Fact(**entry) for entry in entries)
    except TypeError:
        raise CatalogError("a fact has a name, a table, a why and a query", file=str(_FACTS)) from None


def check() -> list[str]:
    """What is wrong in these files, a sentence each."""
    try:
        declared()
        facts()
    except CatalogError as error:
        return [str(error)]
    return []


def _toml(path: Path) -> dict[str, Any]:
    try:
        return toml.load(path)
    except toml.TOMLDecodeError as error:
        raise CatalogError(f"not valid TOML: {error}", file=str(path)) from None
