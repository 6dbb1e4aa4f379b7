"""Facts about the peak in the overview: subjects whose use may rise, and the views that show them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from zlens.catalog import aggregation, measures
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Choice, Integer, Key, ListOf, MapOf, Number, OneOf, Spec, Text

_FILE = FACTS / "peaks.toml"
_NAME = re.compile(r"\{(\w+)\}")


class SubjectGroup(Struct, frozen=True):
    """Subjects of one measure whose use may rise.

    statistic   total: an amount per second of elapsed time; mean: a value compared with its median
    name        text of a subject, with {column} for the columns of `by`
    event       text of the subject of its events; "" if it has none
    scale       factor that converts the value to its unit
    settings    settings of the view that select the subject
    """

    title: str
    table: str
    column: str
    statistic: str
    by: tuple[str, ...]
    name: str
    view: str
    unit: str
    scale: float
    event: str
    where: Mapping[str, Any]
    settings: Mapping[str, str]

    @property
    def key(self) -> str:
        return f"{self.table}.{self.column}"


class EventView(Struct, frozen=True):
    """The view that shows the subject of an event, and the setting that selects it."""

    subject: str
    view: str
    setting: str


class PeakFacts(Struct, frozen=True):
    """The facts of the file, which explains each."""

    minutes: float
    rows: int
    frequent: int
    moved: int
    correlation: float
    parts: tuple[str, ...]
    groups: tuple[SubjectGroup, ...]
    views: Mapping[str, str]
    events: tuple[EventView, ...]

    def view_of(self, table: str, column: str) -> str | None:
        """Return the view that shows a column of a measure."""
        return self.views.get(f"{table}.{column}") or self.views.get(table)

    def view_of_event(self, subject: str) -> tuple[str, dict[str, str]] | None:
        """Return the view and its settings for the subject of an event, such as `user LINUX01`."""
        kind, _, name = subject.partition(" ")
        shown = next((shown for shown in self.events if shown.subject == kind), None)
        return None if shown is None or not name else (shown.view, {shown.setting: name.split()[0]})


def fill_placeholders(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its {columns} replaced, and missing values omitted."""

    def text_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return "" if value is None else str(value)

    return " ".join(_NAME.sub(text_of, text).split())


_TEXT = Text()
_GROUP = Spec(
    (
        Key("title", _TEXT, "name of the subjects"),
        Key("table", _TEXT, "the measure"),
        Key("column", _TEXT, "the column that grows"),
        Key("statistic", Choice(("total", "mean")), "its statistic"),
        Key("by", ListOf(_TEXT, 1, into=tuple), "columns that name a subject"),
        Key("name", _TEXT, "text of a subject"),
        Key("view", _TEXT, "the view that shows it"),
        Key("unit", _TEXT, "unit after scaling; default: the unit of the column", default=None),
        Key("scale", Number(), "factor that converts the value to its unit", default=1.0),
        Key("event", _TEXT, "text of the subject of its events", default=""),
        Key("where", MapOf(OneOf(ListOf(_TEXT), _TEXT), 0), "values that columns must have", default={}),
        Key("settings", MapOf(_TEXT, 0), "settings of the view that select the subject", default={}),
    )
)
_SHOWN = Spec(
    (
        Key("subject", _TEXT, "the first word of the subject of an event"),
        Key("view", _TEXT, "the view that shows it"),
        Key("setting", _TEXT, "the setting that selects it"),
    ),
    EventView,
)
_FACTS = Spec(
    (
        Key("minutes", Number(0), "events this close to the peak are shown"),
        Key("rows", Integer(1), "most subjects of a group"),
        Key("frequent", Integer(1), "events from which a kind is left out"),
        Key("moved", Integer(1), "most metrics that moved with busy"),
        Key("correlation", Number(0, 1), "rank correlation from which a metric moved with busy"),
        Key("parts", ListOf(_TEXT, into=tuple), "columns that are parts of busy"),
        Key("group", ListOf(_GROUP), "subjects that may grow"),
        Key("views", MapOf(_TEXT), "the view that shows a measure or a column"),
        Key("event", ListOf(_SHOWN), "the view that shows the subject of an event"),
    )
)


@cache
def load_peak_facts() -> PeakFacts:
    """Return the facts; CatalogError if the file is invalid."""
    data = document.load(_FILE, _FACTS, "the file")
    groups = tuple(_group(entry) for entry in data.pop("group"))
    return PeakFacts(groups=groups, events=tuple(data.pop("event")), **data)


def _group(entry: dict[str, Any]) -> SubjectGroup:
    table = measures.load_measure(entry["table"])
    column = table.column(entry["column"])
    column_name = f"{entry['table']}.{entry['column']}"
    if column is None or entry["statistic"] not in aggregation.available_statistics(column):
        raise CatalogError(f"{column_name} has no {entry['statistic']}", file=str(_FILE))
    for name in (*entry["by"], *entry["where"]):
        if table.column(name) is None:
            raise CatalogError(f"{column_name}: {table.name} has no column {name!r}", file=str(_FILE))
    texts = [entry["name"], entry["event"], *entry["settings"].values()]
    unknown = {name for text in texts for name in _NAME.findall(text)} - set(entry["by"])
    if unknown:
        raise CatalogError(f"{column_name}: {min(unknown)} is not in by", file=str(_FILE))
    return SubjectGroup(**entry | {"unit": column.unit if entry["unit"] is None else entry["unit"]})


def check() -> list[str]:
    """Return catalog issues of the file, one sentence each."""
    try:
        load_peak_facts()
    except CatalogError as error:
        return [str(error)]
    return []
