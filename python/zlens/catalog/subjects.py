"""Subjects: measures whose rows are users of the processors, and their presentation in the web UI.

There is one file of `subjects/` per measure; copy `_skeleton.toml` to add one. The classes below are the
keys. Units and texts are those of the measure's columns.
"""

import re
from functools import cache
from typing import Annotated, Any

from msgspec import Meta, to_builtins

from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc

_COLUMN = re.compile(r"\{(\w+)\}")
Pieces = tuple[str, ...]
#: Columns that select rows, each with one or several values.
Rows = dict[str, str | Annotated[list[str], Meta(min_length=1)]]
_Some = Annotated[Pieces, Meta(min_length=1, description="parts of a text, with {column} for the last value")]


class FigureKeys(FactTable, frozen=True):
    """A column of the table of subjects: a statistic of a column of the measure, or a text from `pieces`.

    A part of a text without a value is omitted. Missing attributes are those of the column.
    """

    heading: Annotated[str, doc("heading")]
    column: Annotated[str, doc("a column")] = ""
    statistic: Annotated[str, doc("the statistic to show")] = ""
    text: Annotated[str | None, doc("description")] = None
    unit: Annotated[str | None, doc("its unit")] = None
    scale: Annotated[float | None, doc("factor that converts a number to its unit")] = None
    key: Annotated[str, doc("of a text: its name in the response")] = ""
    pieces: Annotated[Pieces, doc("parts of a text")] = ()


class SubjectFigure(FigureKeys, frozen=True, kw_only=True):
    """A figure with all attributes that follow from its column."""

    type: str
    explain: str


class ChartLine(FactTable, frozen=True):
    """A column in a chart."""

    column: Annotated[str, doc("a column")]
    name: Annotated[str, doc("display name")]


class SubjectChart(FactTable, frozen=True):
    """Columns of one subject over time."""

    name: Annotated[str, doc("its name")]
    title: Annotated[str, doc("title")]
    lines: Annotated[tuple[ChartLine, ...], Meta(min_length=1, description="its columns")]
    unit: Annotated[str | None, doc("its unit")] = None
    explain: Annotated[str | None, doc("the column that explains it")] = None
    note: Annotated[str, doc("a note")] = ""
    most: Annotated[float | None, doc("the minimum upper end of the axis")] = None
    scale: Annotated[float, doc("factor that converts it to its unit")] = 1.0


class SubjectSeries(FactTable, frozen=True):
    """The column charted in each row of the table."""

    column: Annotated[str, doc("a column")]
    heading: Annotated[str, doc("heading")]
    statistic: Annotated[str, doc("the statistic of each part of the window")] = "max"


class SummableRows(FactTable, frozen=True):
    """Rows that may be added, in a measure that also has others."""

    key: Annotated[str, doc("its name")]
    name: Annotated[str, doc("display name")]
    where: Annotated[Rows, doc("which rows these are")]


class SampleState(FactTable, frozen=True):
    """Columns with shares of samples that are shown as one."""

    key: Annotated[str, doc("its name")]
    name: Annotated[str, doc("display name")]
    columns: Annotated[tuple[str, ...], doc("its columns")]
    waits: Annotated[bool, doc("whether the subject waits in it")] = False


class SampleStates(FactTable, frozen=True):
    """States in which samples found a subject, 100% of the samples in total."""

    title: str
    unit: str
    explain: str
    note: str
    missing_note: Annotated[str, doc("why it may be missing")]
    state: Annotated[tuple[SampleState, ...], doc("the states")]


class PartKeys(FactTable, frozen=True):
    """The measure of the parts of a subject, such as its virtual CPUs."""

    table: Annotated[str, doc("the measure of the parts")]
    pieces: Annotated[_Some, doc("title of a part")]
    chart: Annotated[SubjectChart, doc("its chart")]


class SubjectPart(PartKeys, frozen=True, kw_only=True):
    """The parts, with the columns that distinguish them."""

    keys: tuple[str, ...]


class OwnerGroup(FactTable, frozen=True):
    """A grouping of subjects."""

    key: Annotated[str, doc("its name")]
    name: Annotated[str, doc("display name")]
    pieces: Annotated[_Some, doc("its parts")]
    none: Annotated[str, doc("the name for subjects without one")]


class OwnedTime(FactTable, frozen=True):
    """A time that is owned."""

    column: Annotated[str, doc("a column")]
    name: Annotated[str, doc("title")]
    missing_note: Annotated[str, doc("why it may be missing")] = ""


class OwnerKeys(FactTable, frozen=True):
    """Owners of time: groups, each `level` below them, and below these the parts of the subject."""

    note: Annotated[str, doc("the value shown")]
    group: Annotated[tuple[OwnerGroup, ...], doc("column that groups subjects")]
    time: Annotated[tuple[OwnedTime, ...], doc("times that are owned")]
    level: Annotated[tuple[_Some, ...], doc("the levels below the group")]
    where: Annotated[Rows, doc("rows to add; if empty, the rows that the reader selected")] = {}


class TimeOwners(OwnerKeys, frozen=True, kw_only=True):
    """The owners, with the columns of the levels."""

    by: tuple[str, ...]


class NameColumn(FactTable, frozen=True):
    """A column of a name."""

    column: Annotated[str, doc("a column")]
    heading: Annotated[str, doc("heading")]


class Subject(FactTable, frozen=True):
    """One kind of subject."""

    table: Annotated[str, doc("the measure")]
    order: Annotated[int, doc("its position among the kinds")]
    view: Annotated[str, doc("the view that shows it")]
    sources: Annotated[tuple[str, ...], doc("sources of the systems that have it")]
    title: Annotated[str, doc("title")]
    plural: Annotated[str, doc("its plural")]
    name: Annotated[tuple[NameColumn, ...], doc("columns that name one")]
    use_column: Annotated[str, doc("the column whose total is the amount used")]
    use_text: Annotated[str, doc("description")]
    series: Annotated[SubjectSeries, doc("the chart in each row")]
    figure: Annotated[tuple[FigureKeys, ...], doc("the columns of the table")]
    chart: Annotated[tuple[SubjectChart, ...], doc("the charts of one")]
    owners: Annotated[OwnerKeys, doc("how time is owned")]
    records: Annotated[tuple[SummableRows, ...], doc("rows that may be added")] = ()
    part: Annotated[PartKeys | None, doc("the parts of one")] = None
    states: Annotated[SampleStates | None, doc("states in which samples found it")] = None
    expected: Annotated[str, doc("the model that computes what was to be expected")] = ""


@cache
def declared() -> tuple[Subject, ...]:
    """Return the kinds in their order; CatalogError if a file is invalid."""
    from zlens.catalog.subject_file import parse

    paths = sorted((FACTS / "subjects").glob("[!_]*.toml"))
    subjects = [parse(path.read_text(encoding="utf-8"), str(path)) for path in paths]
    return tuple(sorted(subjects, key=lambda subject: subject.order))


def columns_of(pieces: Pieces) -> list[str]:
    """Return the columns that a text contains."""
    return list(dict.fromkeys(name for text in pieces for name in _COLUMN.findall(text)))


def entries() -> list[dict[str, Any]]:
    """Return the kinds in JSON form."""
    return [to_builtins(subject) for subject in declared()]
