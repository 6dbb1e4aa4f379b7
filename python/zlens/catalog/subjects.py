"""Subjects: measures whose rows are who uses the processors, and how the page shows them.

One file of `subjects/` per measure; `_skeleton.toml` is one to copy, and the classes below say what the keys
mean. Units and texts are those of the measure's columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from typing import Any

from zlens.catalog import aggregation, metrics
from zlens.catalog.metrics import Column, Table
from zlens.errors import CatalogError, QueryError
from zlens.schema import toml
from zlens.schema.facts import FACTS

#: What a statistic is called behind the text of its column.
_WORDS: Mapping[str, str] = {
    "mean": "mean over the window",
    "total": "sum over the window",
    "share": "sum over the window in percent of that of all",
    "min": "smallest of the intervals",
    "max": "largest of the intervals",
    "p50": "median of the intervals",
    "p95": "95th percentile of the intervals",
    "first": "first in the window",
    "last": "last in the window",
}
_COLUMN = re.compile(r"\{(\w+)\}")
Pieces = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of the table of subjects: a statistic of a column of the measure, or a text of several.

    key       name in the answer; of a text a name of its own
    pieces    of a text: its parts, with {column} for the last value; without it the part is left out
    scale     what a number is multiplied with for `unit`
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
    decimals: int | None = None
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    column: str
    name: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns of one subject over time; `most` is what the axis reaches at least."""

    name: str
    title: str
    unit: str
    explain: str
    lines: tuple[Line, ...]
    note: str = ""
    most: float | None = None
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Course:
    """The column that is drawn in each row of the table, a statistic of each part of the window."""

    column: str
    heading: str
    statistic: str = "max"


@dataclass(frozen=True, slots=True)
class Records:
    """Rows that may be added to each other, of a measure which also has others."""

    key: str
    name: str
    where: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class State:
    """Columns with shares of samples that are shown as one; in a state with `waits` the subject waits."""

    key: str
    name: str
    columns: tuple[str, ...]
    waits: bool = False


@dataclass(frozen=True, slots=True)
class States:
    """What samples found a subject doing: together 100 % of them."""

    title: str
    unit: str
    explain: str
    note: str
    lacks: str
    state: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The measure of the parts of a subject, such as its virtual processors."""

    table: str
    pieces: Pieces
    chart: Chart
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """What subjects are grouped by; `none` stands for those without."""

    key: str
    name: str
    pieces: Pieces
    none: str


@dataclass(frozen=True, slots=True)
class Time:
    """A time that is owned; `lacks` says why there may be none."""

    column: str
    name: str
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Owners:
    """How time is owned: groups, below them `level` after level, below these the parts of the subject.

    by      columns of the levels
    where   rows that are added; where it says nothing, the records that the reader chose
    """

    note: str
    group: tuple[Group, ...]
    time: tuple[Time, ...]
    level: tuple[Pieces, ...]
    by: tuple[str, ...] = ()
    where: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Name:
    column: str
    heading: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of subject.

    order      kinds stand in this order
    view       the view of the page that shows it
    sources    sources of the systems that have it
    many       several of them
    name       columns that name one
    spent      the column whose total is what was used, and in spent_text what that is
    expected   the model that is asked what should have happened
    """

    table: str
    order: int
    view: str
    sources: tuple[str, ...]
    title: str
    many: str
    name: tuple[Name, ...]
    spent: str
    spent_text: str
    course: Course
    figure: tuple[Figure, ...]
    chart: tuple[Chart, ...]
    owners: Owners
    records: tuple[Records, ...] = ()
    part: Part | None = None
    states: States | None = None
    expected: str = ""


@cache
def declared() -> tuple[Subject, ...]:
    """The kinds in their order; CatalogError where a file is wrong."""
    root = FACTS / "subjects"
    found = [parse(path.read_text(encoding="utf-8"), str(path)) for path in sorted(root.glob("[!_]*.toml"))]
    return tuple(sorted(found, key=lambda one: one.order))


def parse(text: str, path: str) -> Subject:
    """One kind from the text of its file."""
    try:
        data = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise CatalogError(f"not valid TOML: {error}", file=path) from None
    return _File(path).subject(data)


def columns_of(pieces: Pieces) -> list[str]:
    """The columns that a text is made of."""
    return list(dict.fromkeys(name for piece in pieces for name in _COLUMN.findall(piece)))


@dataclass(frozen=True, slots=True)
class _File:
    path: str

    def subject(self, data: dict[str, Any]) -> Subject:
        facts = self._known(Subject, data, "the subject")
        if facts["table"] not in metrics.tables():
            raise self._wrong(f"there is no measure {facts['table']!r}", ", ".join(metrics.tables()))
        table = metrics.table(facts["table"])
        facts["sources"] = tuple(facts["sources"])
        facts["name"] = tuple(Name(**self._known(Name, one, "a name")) for one in facts["name"])
        for one in facts["name"]:
            self._has(table, one.column, "last")
        self._has(table, facts["spent"], "total")
        facts["course"] = Course(**self._known(Course, facts["course"], "course"))
        self._has(table, facts["course"].column, facts["course"].statistic, number=True)
        facts["figure"] = tuple(self._figure(table, one) for one in facts["figure"])
        self._once("figure", [one.key for one in facts["figure"]])
        facts["chart"] = tuple(self._chart(table, one) for one in facts["chart"])
        self._once("chart", [one.name for one in facts["chart"]])
        names = [one.column for one in facts["name"]]
        facts["records"] = tuple(self._records(table, one, names) for one in facts.get("records", ()))
        if "states" in facts:
            facts["states"] = self._states(table, facts["states"])
        if "part" in facts:
            facts["part"] = self._part(facts["part"], names)
        facts["owners"] = self._owners(table, facts["owners"], facts["records"], facts.get("part"))
        return Subject(**facts)

    def _figure(self, table: Table, entry: dict[str, Any]) -> Figure:
        if "pieces" in entry:
            facts = self._known(
                Figure, entry, f"figure {entry.get('key')}", allowed={"key", "heading", "text", "pieces"}
            )
            facts["pieces"] = self._pieces(table, entry["pieces"])
            explain = f"{table.name}.{columns_of(facts['pieces'])[-1]}"
            return Figure(**facts, type="text", unit="", explain=explain)
        what = f"figure {entry.get('column')}"
        allowed = {"column", "statistic", "heading", "text", "decimals", "scale", "unit"}
        facts = self._known(Figure, entry, what, allowed=allowed, needed={"column", "heading"})
        column = self._column(table, facts["column"])
        told = facts.setdefault("statistic", aggregation.usual(column))
        self._has(table, column.name, told)
        facts.setdefault("text", f"{column.text}; {_WORDS[told]}")
        facts.setdefault("unit", "%" if told == "share" else column.unit)
        whole = column.type == "int" and told not in ("mean", "share", "p50", "p95") and "scale" not in facts
        type = "float" if column.type in ("int", "float") and not whole else column.type
        if (type == "float") != ("decimals" in facts):
            raise self._wrong(f"{what}: decimals are for numbers that are not whole", "decimals, or none")
        key, explain = aggregation.named(column, told), f"{table.name}.{column.name}"
        return Figure(**facts, key=key, type=type, explain=explain)

    def _chart(self, table: Table, entry: dict[str, Any]) -> Chart:
        what = f"chart {entry.get('name')}"
        facts = self._known(Chart, entry, what, needed={"name", "title", "lines"})
        facts["lines"] = tuple(Line(**self._known(Line, one, what)) for one in facts["lines"])
        columns = [self._has(table, one.column, "p50", number=True) for one in facts["lines"]]
        if not columns:
            raise self._wrong(f"{what} has no lines", "columns of the measure")
        if len({column.unit for column in columns}) > 1:
            raise self._wrong(f"{what} has columns of different units", "columns of one unit")
        facts.setdefault("unit", columns[0].unit)
        explained = self._column(table, facts.get("explain", columns[0].name))
        facts["explain"] = f"{table.name}.{explained.name}"
        return Chart(**facts)

    def _records(self, table: Table, entry: dict[str, Any], by: list[str]) -> Records:
        facts = self._known(Records, entry, "records")
        facts["where"] = self._where(table, facts["where"])
        self._together(table, by, facts["where"])
        return Records(**facts)

    def _states(self, table: Table, entry: dict[str, Any]) -> States:
        facts = self._known(States, entry, "states")
        found = []
        for one in facts["state"]:
            state = self._known(State, one, f"state {one.get('key')}")
            state["columns"] = tuple(self._has(table, name, "mean").name for name in state["columns"])
            found.append(State(**state))
        self._once("state", [name for one in found for name in one.columns])
        return States(**{**facts, "state": tuple(found)})

    def _part(self, entry: dict[str, Any], names: list[str]) -> Part:
        facts = self._known(Part, entry, "part", allowed={"table", "pieces", "chart"})
        if facts["table"] not in metrics.tables():
            raise self._wrong(f"there is no measure {facts['table']!r}", ", ".join(metrics.tables()))
        table = metrics.table(facts["table"])
        facts["pieces"] = self._pieces(table, facts["pieces"])
        facts["keys"] = tuple(columns_of(facts["pieces"]))
        self._together(table, [*names, *facts["keys"]], {})
        facts["chart"] = self._chart(table, facts["chart"])
        return Part(**facts)

    def _owners(
        self, table: Table, entry: dict[str, Any], records: tuple[Records, ...], part: Part | None
    ) -> Owners:
        facts = self._known(Owners, entry, "owners", allowed={"note", "group", "time", "level", "where"})
        groups, times = [], []
        for one in facts["group"]:
            group = self._known(Group, one, f"group {one.get('key')}")
            groups.append(Group(**{**group, "pieces": self._pieces(table, group["pieces"])}))
        for one in facts["time"]:
            time = Time(**self._known(Time, one, f"time {one.get('column')}"))
            times.append(time)
            for each in (table, *([metrics.table(part.table)] if part else ())):
                self._has(each, time.column, "total")
        levels = tuple(self._pieces(table, one) for one in facts["level"])
        by = tuple(dict.fromkeys(name for level in levels for name in columns_of(level)))
        where = self._where(table, facts.get("where", {}))
        for condition in [where] if where or not records else [one.where for one in records]:
            self._together(table, list(by), condition)
            if part:
                self._where(metrics.table(part.table), condition)
        return Owners(facts["note"], tuple(groups), tuple(times), levels, by, where)

    # -- what any of them is made of -------------------------------------------------------------------

    def _pieces(self, table: Table, pieces: Any) -> Pieces:
        if not isinstance(pieces, list) or not all(isinstance(one, str) for one in pieces):
            raise self._wrong(f"pieces = {pieces!r}", '["{goal_kind}", " {goal}"]')
        found = tuple(pieces)
        if not columns_of(found):
            raise self._wrong(f"pieces = {pieces!r} name no column", '["{goal_kind}", " {goal}"]')
        for name in columns_of(found):
            self._has(table, name, "last")
        return found

    def _where(self, table: Table, entry: Any) -> dict[str, list[str]]:
        found = {}
        for name, value in entry.items():
            self._column(table, name)
            values = value if isinstance(value, list) else [value]
            if not values or not all(isinstance(one, str) for one in values):
                raise self._wrong(f"{name} = {value!r}", "a text or a list of texts")
            found[name] = values
        return found

    def _together(self, table: Table, by: list[str], where: dict[str, list[str]]) -> None:
        try:
            aggregation.merged(table, by, aggregation.pinned(table, where))
        except QueryError as error:
            raise self._wrong(error.message, error.expected or "") from None

    def _column(self, table: Table, name: str) -> Column:
        column = table.column(name)
        if column is None:
            raise self._wrong(f"{table.name} has no column {name!r}", f"a column of {table.name}")
        return column

    def _has(self, table: Table, name: str, statistic: str, *, number: bool = False) -> Column:
        """A column that has a statistic."""
        column = self._column(table, name)
        given = aggregation.gives(column)
        if statistic not in given or (number and column.type not in ("int", "float")):
            raise self._wrong(f"{table.name}.{name} has no {statistic}", ", ".join(given))
        if statistic == "mean" and column.unweighted:
            raise self._wrong(f"{table.name}.{name} has no mean: {column.unweighted}", "another statistic")
        return column

    def _once(self, what: str, names: list[str]) -> None:
        for name in names:
            if names.count(name) > 1:
                raise self._wrong(f"{what} {name} is there twice", "each once")

    def _known(
        self,
        kind: type,
        entry: Any,
        what: str,
        *,
        allowed: set[str] | None = None,
        needed: set[str] | None = None,
    ) -> dict[str, Any]:
        """The facts of an entry: keys that nobody knows, that are missing or of another type are errors."""
        known = {one.name: one for one in fields(kind)}
        allowed = allowed if allowed is not None else set(known)
        if needed is None:
            needed = {name for name in allowed if _needed(known[name])}
        if not isinstance(entry, dict):
            raise self._wrong(f"{what} is {entry!r}", "a table of TOML")
        for name, value in entry.items():
            if name not in allowed:
                raise self._wrong(f"{what} has the key {name!r}", ", ".join(sorted(allowed)))
            if not isinstance(value, _types(str(known[name].type))) or isinstance(value, bool) != (
                known[name].type == "bool"
            ):
                raise self._wrong(f"{what}: {name} = {value!r}", str(known[name].type))
        for name in sorted(needed - set(entry)):
            raise self._wrong(f"{what} lacks the key {name!r}", ", ".join(sorted(needed)))
        return dict(entry)

    def _wrong(self, message: str, expected: str) -> CatalogError:
        return CatalogError(message, file=self.path, expected=expected)


def _needed(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _types(annotation: str) -> tuple[type, ...]:
    """What TOML has for a type of the classes above."""
    if annotation.startswith("str"):
        return (str,)
    if annotation.startswith(("int", "float", "bool")):
        return {"i": (int,), "f": (int, float), "b": (bool,)}[annotation[0]]
    return (list,) if annotation.startswith(("tuple", "Pieces")) else (dict,)


def entries() -> list[dict[str, Any]]:
    """The kinds as JSON has them."""
    return [asdict(subject) for subject in declared()]
