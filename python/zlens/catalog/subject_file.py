"""The files of subjects: their keys and how these must fit together; `_skeleton.toml` shows every key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from zlens.catalog import aggregation, measures
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.catalog.subjects import (
    ChartLine,
    NameColumn,
    OwnedTime,
    OwnerGroup,
    Pieces,
    SampleState,
    SampleStates,
    Subject,
    SubjectChart,
    SubjectFigure,
    SubjectPart,
    SubjectSeries,
    SummableRows,
    TimeOwners,
    columns_of,
)
from zlens.errors import QueryError, ZlensError
from zlens.schema import document
from zlens.schema.validators import (
    Boolean,
    DocumentErrors,
    Integer,
    Key,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Spec,
    Text,
)

#: The words for a statistic, after the text of its column.
_WORDS: Mapping[str, str] = {
    "mean": "mean over the window",
    "total": "sum over the window",
    "share": "sum over the window as a percentage of that of all",
    "min": "smallest interval value",
    "max": "largest interval value",
    "p50": "median of the intervals",
    "p95": "95th percentile of the intervals",
    "first": "first in the window",
    "last": "last in the window",
}
_TEXT = Text()
_NAMES = ListOf(_TEXT, into=tuple)
_PIECES = ListOf(_TEXT, 1, into=tuple)
_WHERE = MapOf(OneOf(_TEXT, ListOf(_TEXT, 1)), 0)
_NAME = Spec((Key("column", _TEXT, "a column"), Key("heading", _TEXT, "what it is called")), NameColumn)
_LINE = Spec((Key("column", _TEXT, "a column"), Key("name", _TEXT, "what it is called")), ChartLine)
_COURSE = Spec(
    (
        Key("column", _TEXT, "a column"),
        Key("heading", _TEXT, "what it is called"),
        Key("statistic", _TEXT, "the statistic of each part of the window", default="max"),
    ),
    SubjectSeries,
)
#: A figure of several columns, and one of a statistic of a column.
_PIECES_FIGURE = Spec(
    (
        Key("key", _TEXT, "its name in the answer"),
        Key("heading", _TEXT, "what it is called"),
        Key("text", _TEXT, "what it is"),
        Key("pieces", _PIECES, "what it is made of"),
    )
)
_FIGURE = Spec(
    (
        Key("column", _TEXT, "a column"),
        Key("heading", _TEXT, "what it is called"),
        Key("statistic", _TEXT, "the statistic to show", default=None),
        Key("text", _TEXT, "what it is", default=None),
        Key("unit", _TEXT, "its unit", default=None),
        Key("scale", Number(), "factor that converts it to its unit", default=None),
    )
)


class _FigureValidator:
    """Either kind of figure; `pieces` decides."""

    def describe(self) -> str:
        return f"{_FIGURE.describe()}, or {_PIECES_FIGURE.describe()}"

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [_FIGURE.schema(), _PIECES_FIGURE.schema()]}

    def parse(self, text: str) -> Any:
        return text

    def check(self, value: Any, where: str, problem: DocumentErrors) -> dict[str, Any]:
        kind = _PIECES_FIGURE if isinstance(value, dict) and "pieces" in value else _FIGURE
        values: dict[str, Any] = kind.check(value, where, problem)
        return values


_CHART = Spec(
    (
        Key("name", _TEXT, "its name"),
        Key("title", _TEXT, "its title"),
        Key("unit", _TEXT, "its unit", default=None),
        Key("explain", _TEXT, "the column that explains it", default=None),
        Key("lines", ListOf(_LINE, into=tuple), "its columns"),
        Key("note", _TEXT, "a remark", default=""),
        Key("most", Number(), "the minimum upper end of the axis", default=None),
        Key("scale", Number(), "factor that converts it to its unit", default=1.0),
    )
)
_RECORDS = Spec(
    (
        Key("key", _TEXT, "its name"),
        Key("name", _TEXT, "what it is called"),
        Key("where", _WHERE, "which rows these are"),
    )
)
_STATE = Spec(
    (
        Key("key", _TEXT, "its name"),
        Key("name", _TEXT, "what it is called"),
        Key("columns", _NAMES, "its columns"),
        Key("waits", Boolean(), "whether the subject waits in it", default=False),
    ),
    SampleState,
)
_STATES = Spec(
    (
        *(Key(name, _TEXT) for name in ("title", "unit", "explain", "note", "lacks")),
        Key("state", ListOf(_STATE, into=tuple), "the states"),
    ),
    SampleStates,
)
_PART = Spec(
    (
        Key("table", _TEXT, "the measure of the parts"),
        Key("pieces", _PIECES, "what a part is called"),
        Key("chart", _CHART, "its chart"),
    )
)
_GROUP = Spec(
    (
        Key("key", _TEXT, "its name"),
        Key("name", _TEXT, "what it is called"),
        Key("pieces", _PIECES, "what it is made of"),
        Key("none", _TEXT, "the name for subjects without one"),
    ),
    OwnerGroup,
)
_TIME = Spec(
    (
        Key("column", _TEXT, "a column"),
        Key("name", _TEXT, "what it is called"),
        Key("lacks", _TEXT, "why there may be none", default=""),
    ),
    OwnedTime,
)
_OWNERS = Spec(
    (
        Key("note", _TEXT, "what is shown"),
        Key("group", ListOf(_GROUP, into=tuple), "what subjects are grouped by"),
        Key("time", ListOf(_TIME, into=tuple), "times that are owned"),
        Key("level", ListOf(_PIECES, into=tuple), "the levels below the group"),
        Key("where", _WHERE, "rows to add", default={}),
    )
)
_SUBJECT = Spec(
    (
        Key("table", _TEXT, "the measure"),
        Key("order", Integer(), "its position among the kinds"),
        Key("view", _TEXT, "the view that shows it"),
        Key("sources", _NAMES, "sources of the systems that have it"),
        Key("title", _TEXT, "what it is called"),
        Key("many", _TEXT, "its plural"),
        Key("name", ListOf(_NAME, into=tuple), "columns that name one"),
        Key("spent", _TEXT, "the column whose total is the amount used"),
        Key("spent_text", _TEXT, "what that is"),
        Key("course", _COURSE, "the chart in each row"),
        Key("figure", ListOf(_FigureValidator(), into=tuple), "the columns of the table"),
        Key("chart", ListOf(_CHART, into=tuple), "the charts of one"),
        Key("owners", _OWNERS, "how time is owned"),
        Key("records", ListOf(_RECORDS), "rows that may be added to each other", default=[]),
        Key("part", _PART, "the parts of one", default=None),
        Key("states", _STATES, "states in which samples found it", default=None),
        Key("expected", _TEXT, "the model that computes what was to be expected", default=""),
    )
)


def parse(text: str, path: str) -> Subject:
    """One kind from the text of its file; CatalogError with the line if something is wrong."""
    problem = DocumentErrors(path, root="the subject", text=text)
    return _SubjectFileReader(problem).subject(_SUBJECT.check(document.parse_toml(text, path), "", problem))


class _SubjectFileReader(Struct, frozen=True):
    """How the parts of a file must fit together: existing columns, with statistics that they have."""

    problem: DocumentErrors

    def subject(self, facts: dict[str, Any]) -> Subject:
        table = self._table(facts["table"], "table")
        for number, name in enumerate(facts["name"], 1):
            self._has(table, name.column, "last", f"name[{number}].column")
        self._has(table, facts["spent"], "total", "spent")
        course: SubjectSeries = facts["course"]
        self._has(table, course.column, course.statistic, "course", number=True)
        facts["figure"] = tuple(
            self._figure(table, figure, f"figure[{number}]")
            for number, figure in enumerate(facts["figure"], 1)
        )
        self._once("figure", [figure.key for figure in facts["figure"]])
        facts["chart"] = tuple(
            self._chart(table, chart, f"chart[{number}]") for number, chart in enumerate(facts["chart"], 1)
        )
        self._once("chart", [chart.name for chart in facts["chart"]])
        names = [name.column for name in facts["name"]]
        facts["records"] = tuple(
            self._records(table, records, names, f"records[{number}]")
            for number, records in enumerate(facts["records"], 1)
        )
        if facts["states"] is not None:
            self._states(table, facts["states"])
        if facts["part"] is not None:
            facts["part"] = self._part(facts["part"], names)
        facts["owners"] = self._owners(table, facts["owners"], facts["records"], facts["part"])
        return Subject(**facts)

    def _figure(self, table: Measure, facts: dict[str, Any], where: str) -> SubjectFigure:
        if "pieces" in facts:
            self._pieces(table, facts["pieces"], where)
            explain = f"{table.name}.{columns_of(facts['pieces'])[-1]}"
            return SubjectFigure(**facts, type="text", unit="", explain=explain)
        column = self._column(table, facts["column"], where)
        statistic = facts["statistic"] or aggregation.default_statistic(column)
        self._has(table, column.name, statistic, where)
        is_whole = column.type == "int" and statistic not in ("mean", "share", "p50", "p95")
        fractional = column.type in ("int", "float") and not (is_whole and facts["scale"] is None)
        text = f"{column.text}; {_WORDS[statistic]}" if facts["text"] is None else facts["text"]
        unit = ("%" if statistic == "share" else column.unit) if facts["unit"] is None else facts["unit"]
        return SubjectFigure(
            key=aggregation.statistic_name(column, statistic),
            heading=facts["heading"],
            type="float" if fractional else column.type,
            unit=unit,
            text=text,
            explain=f"{table.name}.{column.name}",
            column=column.name,
            statistic=statistic,
            scale=1.0 if facts["scale"] is None else facts["scale"],
        )

    def _chart(self, table: Measure, facts: dict[str, Any], where: str) -> SubjectChart:
        columns = [self._has(table, line.column, "p50", where, number=True) for line in facts["lines"]]
        if not columns:
            raise self._wrong(f"{where} has no lines", "columns of the measure", where)
        if len({column.unit for column in columns}) > 1:
            raise self._wrong(f"{where} has columns of different units", "columns of one unit", where)
        unit = columns[0].unit if facts["unit"] is None else facts["unit"]
        explained = self._column(table, facts["explain"] or columns[0].name, where)
        return SubjectChart(**facts | {"unit": unit, "explain": f"{table.name}.{explained.name}"})

    def _records(self, table: Measure, facts: dict[str, Any], by: list[str], where: str) -> SummableRows:
        facts["where"] = self._where(table, facts["where"], f"{where}.where")
        self._together(table, by, facts["where"], where)
        return SummableRows(**facts)

    def _states(self, table: Measure, states: SampleStates) -> None:
        names = [name for state in states.state for name in state.columns]
        for name in names:
            self._has(table, name, "mean", "states")
        self._once("states", names)

    def _part(self, facts: dict[str, Any], names: list[str]) -> SubjectPart:
        table = self._table(facts["table"], "part.table")
        self._pieces(table, facts["pieces"], "part.pieces")
        keys = tuple(columns_of(facts["pieces"]))
        self._together(table, [*names, *keys], {}, "part")
        return SubjectPart(
            facts["table"], facts["pieces"], self._chart(table, facts["chart"], "part.chart"), keys
        )

    def _owners(
        self,
        table: Measure,
        facts: dict[str, Any],
        records: tuple[SummableRows, ...],
        part: SubjectPart | None,
    ) -> TimeOwners:
        for number, group in enumerate(facts["group"], 1):
            self._pieces(table, group.pieces, f"owners.group[{number}]")
        for number, time in enumerate(facts["time"], 1):
            for owned_table in (table, *([measures.load_measure(part.table)] if part else ())):
                self._has(owned_table, time.column, "total", f"owners.time[{number}]")
        for number, level in enumerate(facts["level"], 1):
            self._pieces(table, level, f"owners.level[{number}]")
        by = tuple(dict.fromkeys(name for level in facts["level"] for name in columns_of(level)))
        where = self._where(table, facts["where"], "owners.where")
        for condition in [where] if where or not records else [owned_table.where for owned_table in records]:
            self._together(table, list(by), condition, "owners")
            if part:
                self._where(measures.load_measure(part.table), condition, "owners.where")
        return TimeOwners(**facts | {"by": by, "where": where})

    # -- common parts ----------------------------------------------------------------------------------

    def _table(self, name: str, where: str) -> Measure:
        if name not in measures.measure_names():
            raise self._wrong(f"there is no measure {name!r}", ", ".join(measures.measure_names()), where)
        return measures.load_measure(name)

    def _pieces(self, table: Measure, pieces: Pieces, where: str) -> None:
        if not columns_of(pieces):
            message = f"{where}: pieces = {[*pieces]!r} name no column"
            raise self._wrong(message, '["{goal_kind}", " {goal}"]', where)
        for name in columns_of(pieces):
            self._has(table, name, "last", where)

    def _where(self, table: Measure, entry: dict[str, Any], where: str) -> dict[str, list[str]]:
        for name in entry:
            self._column(table, name, where)
        return {name: value if isinstance(value, list) else [value] for name, value in entry.items()}

    def _together(self, table: Measure, by: list[str], where: dict[str, list[str]], place: str) -> None:
        try:
            aggregation.merges_subjects(table, by, aggregation.pinned_columns(table, where))
        except QueryError as error:
            raise self._wrong(error.message, error.expected or "", place) from None

    def _column(self, table: Measure, name: str, where: str) -> MeasureColumn:
        column = table.column(name)
        if column is None:
            raise self._wrong(f"{table.name} has no column {name!r}", f"a column of {table.name}", where)
        return column

    def _has(
        self, table: Measure, name: str, statistic: str, where: str, *, number: bool = False
    ) -> MeasureColumn:
        """A column that has a statistic."""
        column = self._column(table, name, where)
        statistics = aggregation.available_statistics(column)
        if statistic not in statistics or (number and column.type not in ("int", "float")):
            raise self._wrong(f"{table.name}.{name} has no {statistic}", ", ".join(statistics), where)
        if statistic == "mean" and column.unweighted:
            message = f"{table.name}.{name} has no mean: {column.unweighted}"
            raise self._wrong(message, "another statistic", where)
        return column

    def _once(self, kind: str, names: list[str]) -> None:
        for name in names:
            if names.count(name) > 1:
                raise self._wrong(f"{kind} {name} is defined twice", "each once", kind)

    def _wrong(self, message: str, expected: str, where: str) -> ZlensError:
        return self.problem.general_error(message, None, expected, where)
