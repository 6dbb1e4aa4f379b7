"""Subjects: measures whose rows are users of the processors, and how the page shows them.

One file of `subjects/` per measure; copy `_skeleton.toml` to add one. The classes below explain the keys.
Units and texts are those of the measure's columns.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from msgspec import Struct, field, to_builtins

from zlens.schema.facts import FACTS

_COLUMN = re.compile(r"\{(\w+)\}")
Pieces = tuple[str, ...]


class SubjectFigure(Struct, frozen=True):
    """A column of the table of subjects: a statistic of a column of the measure, or a text from several.

    key       name in the answer; for a text a name of its own
    pieces    for a text: its parts, with {column} for the last value; a part without a value is left out
    scale     the factor that converts a number to `unit`
    """

    key: str
    heading: str
    type: str
    unit: str
    text: str
    explain: str
    column: str = ""
    statistic: str = ""
    pieces: Pieces = ()
    scale: float = 1.0


class ChartLine(Struct, frozen=True):
    column: str
    name: str


class SubjectChart(Struct, frozen=True):
    """Columns of one subject over time; `most` is the minimum upper end of the axis."""

    name: str
    title: str
    unit: str
    explain: str
    lines: tuple[ChartLine, ...]
    note: str = ""
    most: float | None = None
    scale: float = 1.0


class SubjectSeries(Struct, frozen=True):
    """The column charted in each row of the table: a statistic of each part of the window."""

    column: str
    heading: str
    statistic: str = "max"


class SummableRows(Struct, frozen=True):
    """Rows that may be added to each other, in a measure that also has others."""

    key: str
    name: str
    where: dict[str, list[str]]


class SampleState(Struct, frozen=True):
    """Columns with shares of samples that are shown as one; in a state with `waits` the subject waits."""

    key: str
    name: str
    columns: tuple[str, ...]
    waits: bool = False


class SampleStates(Struct, frozen=True):
    """The states in which samples found a subject: together 100 % of the samples."""

    title: str
    unit: str
    explain: str
    note: str
    lacks: str
    state: tuple[SampleState, ...]


class SubjectPart(Struct, frozen=True):
    """The measure of the parts of a subject, such as its virtual processors."""

    table: str
    pieces: Pieces
    chart: SubjectChart
    keys: tuple[str, ...] = ()


class OwnerGroup(Struct, frozen=True):
    """What subjects are grouped by; `none` is the name for those without."""

    key: str
    name: str
    pieces: Pieces
    none: str


class OwnedTime(Struct, frozen=True):
    """A time that is owned; `lacks` says why there may be none."""

    column: str
    name: str
    lacks: str = ""


class TimeOwners(Struct, frozen=True):
    """How time is owned: groups, below them `level` after level, below these the parts of the subject.

    by      columns of the levels
    where   rows to add; if empty, the records that the reader chose
    """

    note: str
    group: tuple[OwnerGroup, ...]
    time: tuple[OwnedTime, ...]
    level: tuple[Pieces, ...]
    by: tuple[str, ...] = ()
    where: dict[str, list[str]] = field(default_factory=dict)


class NameColumn(Struct, frozen=True):
    column: str
    heading: str


class Subject(Struct, frozen=True):
    """One kind of subject.

    order      its position among the kinds
    view       the view of the page that shows it
    sources    sources of the systems that have it
    many       its plural
    name       columns that name one
    spent      the column whose total is the amount used, described by spent_text
    expected   the model that computes what was to be expected
    """

    table: str
    order: int
    view: str
    sources: tuple[str, ...]
    title: str
    many: str
    name: tuple[NameColumn, ...]
    spent: str
    spent_text: str
    course: SubjectSeries
    figure: tuple[SubjectFigure, ...]
    chart: tuple[SubjectChart, ...]
    owners: TimeOwners
    records: tuple[SummableRows, ...] = ()
    part: SubjectPart | None = None
    states: SampleStates | None = None
    expected: str = ""


@cache
def declared() -> tuple[Subject, ...]:
    """The kinds in their order; CatalogError if a file is wrong."""
    from zlens.catalog.subject_file import parse

    paths = sorted((FACTS / "subjects").glob("[!_]*.toml"))
    subjects = [parse(path.read_text(encoding="utf-8"), str(path)) for path in paths]
    return tuple(sorted(subjects, key=lambda subject: subject.order))


def columns_of(pieces: Pieces) -> list[str]:
    """The columns that a text is made of."""
    return list(dict.fromkeys(name for piece in pieces for name in _COLUMN.findall(piece)))


def entries() -> list[dict[str, Any]]:
    """The kinds in JSON form."""
    return [to_builtins(subject) for subject in declared()]
