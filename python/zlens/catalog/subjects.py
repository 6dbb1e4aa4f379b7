"""Subjects: measures whose rows are users of the processors, and their presentation in the web UI.

There is one file of `subjects/` per measure; copy `_skeleton.toml` to add one. The classes below are the
keys. Units and texts are those of the measure's columns.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any

from msgspec import Meta, to_builtins

from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable

_COLUMN = re.compile(r"\{(\w+)\}")
Pieces = tuple[str, ...]
#: Columns that select rows, each with one or several values.
Rows = dict[str, str | Annotated[list[str], Meta(min_length=1)]]
_Some = Annotated[Pieces, Meta(min_length=1, description="parts of a text, with {column} for the last value")]


class FigureKeys(FactTable, frozen=True):
    """A column of the table of subjects: a statistic of a column of the measure, or a text from `pieces`.

    A part of a text without a value is omitted. Missing attributes are those of the column.
    """

    heading: Annotated[str, Meta(description="heading")]
    column: Annotated[str, Meta(description="a column")] = ""
    statistic: Annotated[str, Meta(description="the statistic to show")] = ""
    text: Annotated[str | None, Meta(description="description")] = None
    unit: Annotated[str | None, Meta(description="its unit")] = None
    scale: Annotated[float | None, Meta(description="factor that converts a number to its unit")] = None
    key: Annotated[str, Meta(description="of a text: its name in the response")] = ""
    pieces: Annotated[Pieces, Meta(description="parts of a text")] = ()


class SubjectFigure(FigureKeys, frozen=True, kw_only=True):
    """A figure with all attributes that follow from its column."""

    type: str
    explain: str


class ChartLine(FactTable, frozen=True):
    """A column in a chart."""

    column: Annotated[str, Meta(description="a column")]
    name: Annotated[str, Meta(description="display name")]


class SubjectChart(FactTable, frozen=True):
    """Columns of one subject over time."""

    name: Annotated[str, Meta(description="its name")]
    title: Annotated[str, Meta(description="title")]
    lines: Annotated[tuple[ChartLine, ...], Meta(min_length=1, description="its columns")]
    unit: Annotated[str | None, Meta(description="its unit")] = None
    explain: Annotated[str | None, Meta(description="the column that explains it")] = None
    note: Annotated[str, Meta(description="a note")] = ""
    most: Annotated[float | None, Meta(description="the minimum upper end of the axis")] = None
    scale: Annotated[float, Meta(description="factor that converts it to its unit")] = 1.0


class SubjectSeries(FactTable, frozen=True):
    """The column charted in each row of the table."""

    column: Annotated[str, Meta(description="a column")]
    heading: Annotated[str, Meta(description="heading")]
    statistic: Annotated[str, Meta(description="the statistic of each part of the window")] = "max"


class SummableRows(FactTable, frozen=True):
    """Rows that may be added, in a measure that also has others."""

    key: Annotated[str, Meta(description="its name")]
    name: Annotated[str, Meta(description="display name")]
    where: Annotated[Rows, Meta(description="which rows these are")]


class SampleState(FactTable, frozen=True):
    """Columns with shares of samples that are shown as one."""

    key: Annotated[str, Meta(description="its name")]
    name: Annotated[str, Meta(description="display name")]
    columns: Annotated[tuple[str, ...], Meta(description="its columns")]
    waits: Annotated[bool, Meta(description="whether the subject waits in it")] = False


class SampleStates(FactTable, frozen=True):
    """States in which samples found a subject, 100% of the samples in total."""

    title: str
    unit: str
    explain: str
    note: str
    missing_note: Annotated[str, Meta(description="why it may be missing")]
    state: Annotated[tuple[SampleState, ...], Meta(description="the states")]


class PartKeys(FactTable, frozen=True):
    """The measure of the parts of a subject, such as its virtual CPUs."""

    table: Annotated[str, Meta(description="the measure of the parts")]
    pieces: Annotated[_Some, Meta(description="title of a part")]
    chart: Annotated[SubjectChart, Meta(description="its chart")]


class SubjectPart(PartKeys, frozen=True, kw_only=True):
    """The parts, with the columns that distinguish them."""

    keys: tuple[str, ...]


class OwnerGroup(FactTable, frozen=True):
    """A grouping of subjects."""

    key: Annotated[str, Meta(description="its name")]
    name: Annotated[str, Meta(description="display name")]
    pieces: Annotated[_Some, Meta(description="its parts")]
    none: Annotated[str, Meta(description="the name for subjects without one")]


class OwnedTime(FactTable, frozen=True):
    """A time that is owned."""

    column: Annotated[str, Meta(description="a column")]
    name: Annotated[str, Meta(description="title")]
    missing_note: Annotated[str, Meta(description="why it may be missing")] = ""


class OwnerKeys(FactTable, frozen=True):
    """Owners of time: groups, each `level` below them, and below these the parts of the subject."""

    note: Annotated[str, Meta(description="the value shown")]
    group: Annotated[tuple[OwnerGroup, ...], Meta(description="column that groups subjects")]
    time: Annotated[tuple[OwnedTime, ...], Meta(description="times that are owned")]
    level: Annotated[tuple[_Some, ...], Meta(description="the levels below the group")]
    where: Annotated[Rows, Meta(description="rows to add; if empty, the rows that the reader selected")] = {}


class TimeOwners(OwnerKeys, frozen=True, kw_only=True):
    """The owners, with the columns of the levels."""

    by: tuple[str, ...]


class NameColumn(FactTable, frozen=True):
    """A column of a name."""

    column: Annotated[str, Meta(description="a column")]
    heading: Annotated[str, Meta(description="heading")]


class Subject(FactTable, frozen=True):
    """One kind of subject."""

    table: Annotated[str, Meta(description="the measure")]
    order: Annotated[int, Meta(description="its position among the kinds")]
    view: Annotated[str, Meta(description="the view that shows it")]
    sources: Annotated[tuple[str, ...], Meta(description="sources of the systems that have it")]
    title: Annotated[str, Meta(description="title")]
    plural: Annotated[str, Meta(description="its plural")]
    name: Annotated[tuple[NameColumn, ...], Meta(description="columns that name one")]
    use_column: Annotated[str, Meta(description="the column whose total is the amount used")]
    use_text: Annotated[str, Meta(description="description")]
    series: Annotated[SubjectSeries, Meta(description="the chart in each row")]
    figure: Annotated[tuple[FigureKeys, ...], Meta(description="the columns of the table")]
    chart: Annotated[tuple[SubjectChart, ...], Meta(description="the charts of one")]
    owners: Annotated[OwnerKeys, Meta(description="how time is owned")]
    records: Annotated[tuple[SummableRows, ...], Meta(description="rows that may be added")] = ()
    part: Annotated[PartKeys | None, Meta(description="the parts of one")] = None
    states: Annotated[SampleStates | None, Meta(description="states in which samples found it")] = None
    expected: Annotated[str, Meta(description="the model that computes what was to be expected")] = ""


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
