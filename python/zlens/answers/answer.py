"""An answer: what a model, study, comparison or check returns, independent of its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.rendering.charts import Chart

Value = str | int | float | bool | None


class AnswerColumn(Struct, frozen=True):
    """key: its name in JSON and CSV. heading: of one or more lines. unit: "" for none.

    decimals  shown in text output
    numeric   texts of the column are numbers, aligned right
    """

    key: str
    heading: str
    unit: str = ""
    text: str = ""
    decimals: int = 1
    numeric: bool = False


class AnswerTable(Struct, frozen=True):
    """Rows with one value per column; None where a value cannot be computed.

    groups  the group of each row, shown above its first row
    bars    a number of each row that is also drawn; None: no bar
    """

    key: str
    title: str
    columns: tuple[AnswerColumn, ...]
    rows: Sequence[tuple[Value, ...]]
    groups: Sequence[str] = ()
    bars: Sequence[float | None] = ()

    def column(self, key: str) -> list[Value]:
        """The values of one column."""
        at = [column.key for column in self.columns].index(key)
        return [row[at] for row in self.rows]

    def is_text(self, at: int) -> bool:
        """Whether a column contains words, which are aligned left."""
        column = self.columns[at]
        return not (column.unit or column.numeric) and any(isinstance(row[at], str) for row in self.rows)

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


class AnswerList(Struct, frozen=True):
    """A title with lines below it."""

    title: str
    lines: Sequence[str] = ()


class AnswerEntry(Struct, frozen=True):
    """Labeled sentences under a title. aside: at its right. kind: style of HTML. facts: label and text."""

    title: str
    facts: Sequence[tuple[str, str]]
    aside: str = ""
    kind: str = ""


class Answer(Struct):
    """Everything a model answers.

    lead    lines below the title
    notes   sentences to read with the numbers
    follow  table and column whose values a sweep shows beside the figures, named after the first column
    """

    model: str
    title: str
    tables: list[AnswerTable] = field(default_factory=list)
    figures: list[AnswerFigure] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    follow: tuple[str, str] | None = None
    lead: list[str] = field(default_factory=list)
    entries: list[AnswerEntry] = field(default_factory=list)
    lists: list[AnswerList] = field(default_factory=list)

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
