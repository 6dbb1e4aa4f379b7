"""Facts about the peak in the overview: subjects whose use may rise, and the views that show them."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import replace

from zlens.catalog import aggregation, measures
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc

_FILE = FACTS / "peaks.toml"
_NAME = re.compile(r"\{([\w.]+)\}")


class SubjectGroup(FactTable, frozen=True):
    """Subjects of one measure whose use may rise."""

    title: Annotated[str, doc("name of the subjects")]
    table: Annotated[str, doc("the measure")]
    column: Annotated[str, doc("the column that grows")]
    statistic: Annotated[
        Literal["total", "mean"],
        doc("an amount per second of elapsed time, or a value compared with its median"),
    ]
    by: Annotated[tuple[str, ...], Meta(min_length=1, description="columns that name a subject")]
    name: Annotated[str, doc("text of a subject, with {column} for the columns of `by`")]
    view: Annotated[str, doc("the view that shows it")]
    unit: Annotated[str, doc("unit after scaling; default: the unit of the column")] = ""
    scale: Annotated[float, doc("factor that converts the value to its unit")] = 1.0
    event: Annotated[str, doc("text of the subject of its events, if it has any")] = ""
    where: Annotated[dict[str, str | list[str]], doc("values that columns must have")] = {}
    settings: Annotated[dict[str, str], doc("settings of the view that select the subject")] = {}

    @property
    def key(self) -> str:
        return f"{self.table}.{self.column}"


class EventView(FactTable, frozen=True):
    """The view that shows the subject of an event."""

    subject: Annotated[str, doc("the first word of the subject of an event")]
    view: Annotated[str, doc("the view that shows it")]
    setting: Annotated[str, doc("the setting that selects it")]


class PeakFacts(FactTable, frozen=True):
    """What the overview shows around the busiest interval."""

    minutes: Annotated[float, Meta(ge=0, description="events this close to the peak are shown")]
    rows: Annotated[int, Meta(ge=1, description="most subjects of a group")]
    frequent: Annotated[int, Meta(ge=1, description="events from which a kind is left out")]
    moved: Annotated[int, Meta(ge=1, description="most metrics that moved with busy")]
    correlation: Annotated[
        float, Meta(ge=0, le=1, description="rank correlation from which a metric moved with busy")
    ]
    parts: Annotated[tuple[str, ...], doc("columns that are parts of busy")]
    group: Annotated[tuple[SubjectGroup, ...], doc("subjects that may grow")]
    views: Annotated[dict[str, str], doc("the view that shows a measure or a column")]
    event: Annotated[tuple[EventView, ...], doc("the view that shows the subject of an event")]

    def view_of(self, table: str, column: str) -> str | None:
        """Return the view that shows a column of a measure."""
        return self.views.get(f"{table}.{column}") or self.views.get(table)

    def view_of_event(self, subject: str) -> tuple[str, dict[str, str]] | None:
        """Return the view and its settings for the subject of an event, such as `user LINUX01`."""
        kind, _, name = subject.partition(" ")
        shown = next((shown for shown in self.event if shown.subject == kind), None)
        return None if shown is None or not name else (shown.view, {shown.setting: name.split()[0]})


def placeholders(text: str) -> list[str]:
    """Return the names in braces of a text, in order."""
    return _NAME.findall(text)


def fill_placeholders(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its {columns} replaced, and missing values omitted."""

    def text_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return "" if value is None else str(value)

    return " ".join(_NAME.sub(text_of, text).split())


@cache
def load_peak_facts() -> PeakFacts:
    """Return the facts; CatalogError if the file is invalid."""
    facts = structs.load(_FILE, PeakFacts)
    return replace(facts, group=tuple(map(_check_group, facts.group)))


def _check_group(group: SubjectGroup) -> SubjectGroup:
    table = measures.load_measure(group.table)
    column = table.column(group.column)
    if column is None or group.statistic not in aggregation.available_statistics(column):
        raise CatalogError(f"{group.key} has no {group.statistic}", file=str(_FILE))
    for name in (*group.by, *group.where):
        if table.column(name) is None:
            raise CatalogError(f"{group.key}: {table.name} has no column {name!r}", file=str(_FILE))
    texts = [group.name, group.event, *group.settings.values()]
    unknown = {name for text in texts for name in placeholders(text)} - set(group.by)
    if unknown:
        raise CatalogError(f"{group.key}: {min(unknown)} is not in by", file=str(_FILE))
    return replace(group, unit=group.unit or column.unit)
