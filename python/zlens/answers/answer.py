"""The answer of a model: tables, figures, charts and assumptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.rendering.charts import Chart

Value = str | int | float | bool | None


class AnswerColumn(Struct, frozen=True):
    """key: its name in JSON and CSV. unit: "" for none. decimals: shown in text output."""

    key: str
    heading: str
    unit: str = ""
    text: str = ""
    decimals: int = 1


class AnswerTable(Struct, frozen=True):
    """Rows with one value per column; None where a value cannot be computed."""

    key: str
    title: str
    columns: tuple[AnswerColumn, ...]
    rows: Sequence[tuple[Value, ...]]

    def column(self, key: str) -> list[Value]:
        """The values of one column."""
        at = [column.key for column in self.columns].index(key)
        return [row[at] for row in self.rows]

    def labels(self) -> list[str]:
        """A label for each row: its name, with its type if several rows have the name (LINUX1.IFL)."""
        names = [str(row[0]) for row in self.rows]
        if len(set(names)) == len(names) or all(column.key != "type" for column in self.columns):
            return names
        count = Counter(names)
        kinds = zip(names, self.column("type"), strict=True)
        return [f"{name}.{kind}" if count[name] > 1 else name for name, kind in kinds]


class AnswerFigure(Struct, frozen=True):
    """One number that answers the whole scenario; sweeps show it."""

    key: str
    value: float | None
    unit: str
    text: str
    decimals: int = 2


class Assumption(Struct, frozen=True):
    """A value that the scenario leaves out and no public text settles."""

    name: str
    value: Any
    unit: str
    text: str
    status: str
    source: str


class Answer(Struct):
    """Everything a model answers.

    notes   sentences to read with the numbers
    follow  table and column whose values a sweep shows beside the figures, named after the first column
    """

    model: str
    title: str
    tables: list[AnswerTable]
    figures: list[AnswerFigure] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    follow: tuple[str, str] | None = None

    def table(self, key: str) -> AnswerTable:
        """One of the tables by its key."""
        return next(table for table in self.tables if table.key == key)

    def figure(self, key: str) -> float | None:
        """The value of one figure by its key."""
        return next(figure.value for figure in self.figures if figure.key == key)

    def worded(self, face: Callable[[str], str]) -> Answer:
        """The answer with its notes and cells worded for an interface, such as by Wording.as_command."""
        tables = [
            replace(
                table, rows=[tuple(face(x) if isinstance(x, str) else x for x in row) for row in table.rows]
            )
            for table in self.tables
        ]
        return replace(self, tables=tables, notes=[face(note) for note in self.notes])


def by_name(table: AnswerTable) -> dict[Value, dict[str, Value]]:
    """Rows of a table as dictionaries, keyed by the value of the first column."""
    names = [column.key for column in table.columns]
    return {row[0]: dict(zip(names, row, strict=True)) for row in table.rows}
