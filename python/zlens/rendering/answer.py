"""Answers: the result of a model, study, comparison or check, independent of its format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.rendering.charts import Chart

#: Formats of an answer.
FORMATS = ("text", "csv", "json", "html")

Value = str | int | float | bool | None


class AnswerColumn(Struct, frozen=True):
    """A column of a table. key: its name in JSON and CSV. heading: one or more lines. unit: "" for none.

    decimals  shown in text output
    numeric   texts of the column are numbers, right-aligned
    """

    key: str
    heading: str
    unit: str = ""
    text: str = ""
    decimals: int = 1
    numeric: bool = False


class AnswerTable(Struct, frozen=True):
    """Rows with one value per column; None for a value that cannot be computed.

    groups  group of each row, shown above its first row
    depths  indentation of each row, if the rows are a tree
    bars    number of each row that is also drawn as a bar; None: no bar
    """

    key: str
    title: str
    columns: tuple[AnswerColumn, ...]
    rows: Sequence[tuple[Value, ...]]
    groups: Sequence[str] = ()
    depths: Sequence[int] = ()
    bars: Sequence[float | None] = ()

    def column(self, key: str) -> list[Value]:
        """Return the values of one column."""
        index = [column.key for column in self.columns].index(key)
        return [row[index] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries by column."""
        names = [column.key for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def is_text(self, index: int) -> bool:
        """Return whether a column contains words, which are left-aligned."""
        column = self.columns[index]
        return not (column.unit or column.numeric) and any(isinstance(row[index], str) for row in self.rows)

    def labels(self) -> list[str]:
        """Return a label for each row: its name, with its type if the name repeats (LINUX1.IFL)."""
        names = [str(row[0]) for row in self.rows]
        if len(set(names)) == len(names) or all(column.key != "type" for column in self.columns):
            return names
        count = Counter(names)
        kinds = zip(names, self.column("type"), strict=True)
        return [f"{name}.{kind}" if count[name] > 1 else name for name, kind in kinds]


class AnswerFigure(Struct, frozen=True):
    """One number that answers the entire scenario; sweeps show it."""

    key: str
    value: float | None
    unit: str
    text: str
    decimals: int = 2


class Assumption(Struct, frozen=True):
    """A value that the scenario omits and no public text settles."""

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
    """Labeled sentences under a title. aside: right of the title. kind: HTML style. facts: label and text."""

    title: str
    facts: Sequence[tuple[str, str]]
    aside: str = ""
    kind: str = ""


class Answer(Struct):
    """The complete answer of a model.

    lead    lines below the title
    notes   notes on the numbers
    follow  table and column whose values a sweep shows with the figures, named after the first column
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

    def render(self, form: str) -> str:
        """Return the answer in one of FORMATS."""
        # Imported on demand: text needs none of the others.
        if form == "text":
            from zlens.rendering import answer_text

            return answer_text.render(self)
        if form == "html":
            from zlens.rendering import answer_html

            return answer_html.render(self)
        from zlens.rendering import answer_data

        return answer_data.to_csv(self) if form == "csv" else answer_data.to_json(self)

    def table(self, key: str) -> AnswerTable:
        """Return the table with this key."""
        return next(table for table in self.tables if table.key == key)

    def figure(self, key: str) -> float | None:
        """Return the value of the figure with this key."""
        return next(figure.value for figure in self.figures if figure.key == key)

    def worded(self, wording: Callable[[str], str]) -> Answer:
        """Return the answer with notes and cells worded for an interface (see Wording.for_command_line)."""

        def row_of(row: tuple[Value, ...]) -> tuple[Value, ...]:
            return tuple(wording(cell) if isinstance(cell, str) else cell for cell in row)

        tables = [replace(table, rows=[*map(row_of, table.rows)]) for table in self.tables]
        return replace(self, tables=tables, notes=[wording(note) for note in self.notes])


def by_name(table: AnswerTable) -> dict[Value, dict[str, Value]]:
    """Return the rows of a table as dictionaries, by the value of the first column."""
    return {row[0]: record for row, record in zip(table.rows, table.records(), strict=True)}
