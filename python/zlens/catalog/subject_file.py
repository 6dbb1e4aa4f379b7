"""Files of subjects: consistency of their keys, and values derived from the columns of their measure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict, replace

from zlens.catalog import aggregation, measures
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.catalog.subjects import (
    FigureKeys,
    OwnerKeys,
    PartKeys,
    Pieces,
    Rows,
    SampleStates,
    Subject,
    SubjectChart,
    SubjectFigure,
    SubjectPart,
    SummableRows,
    TimeOwners,
    columns_of,
)
from zlens.errors import QueryError, ZlensError
from zlens.schema import structs
from zlens.schema.validators import DocumentErrors

#: Words for a statistic, after the text of its column.
_WORDS: Mapping[str, str] = {
    "mean": "mean over the window",
    "total": "sum over the window",
    "share": "sum over the window as a percentage of the whole system",
    "rate": "sum over the window per second of it",
    "min": "smallest interval value",
    "max": "largest interval value",
    "p50": "median of the intervals",
    "p95": "95th percentile of the intervals",
    "first": "first in the window",
    "last": "last in the window",
}


def parse(text: str, path: str) -> Subject:
    """Return one kind from the text of its file; CatalogError with the line if it is invalid."""
    problem = DocumentErrors(path, root="the subject", text=text)
    return _SubjectCheck(problem).subject(structs.parse(text, path, Subject, problem.root))


class _SubjectCheck(Struct, frozen=True):
    """Consistency of the parts of a file: columns must exist and have the requested statistics."""

    problem: DocumentErrors

    def subject(self, keys: Subject) -> Subject:
        """Return the subject with all values that follow from the columns of its measure."""
        table = self._table(keys.table, "table")
        for number, name in enumerate(keys.name, 1):
            self._has(table, name.column, "last", f"name[{number}].column")
        self._has(table, keys.use_column, "total", "use_column")
        self._has(table, keys.series.column, keys.series.statistic, "series", number=True)
        figures = [
            self._figure(table, figure, f"figure[{number}]") for number, figure in enumerate(keys.figure, 1)
        ]
        self._once("figure", [figure.key for figure in figures])
        charts = [self._chart(table, chart, f"chart[{number}]") for number, chart in enumerate(keys.chart, 1)]
        self._once("chart", [chart.name for chart in charts])
        names = [name.column for name in keys.name]
        records = tuple(
            self._records(table, rows, names, f"records[{number}]")
            for number, rows in enumerate(keys.records, 1)
        )
        if keys.states is not None:
            self._states(table, keys.states)
        part = None if keys.part is None else self._part(keys.part, names)
        owners = self._owners(table, keys.owners, records, part)
        return replace(
            keys, figure=tuple(figures), chart=tuple(charts), records=records, part=part, owners=owners
        )

    def _figure(self, table: Measure, keys: FigureKeys, where: str) -> SubjectFigure:
        if keys.pieces:
            if not keys.key or keys.text is None or keys.column:
                raise self._wrong(f"{where} has pieces", "only key, heading, text and pieces", where)
            self._pieces(table, keys.pieces, where)
            explain = f"{table.name}.{columns_of(keys.pieces)[-1]}"
            return SubjectFigure(**asdict(keys) | {"unit": "", "scale": 1.0}, type="text", explain=explain)
        column = self._column(table, keys.column, where)
        statistic = keys.statistic or aggregation.default_statistic(column)
        self._has(table, column.name, statistic, where)
        is_whole = column.type == "int" and statistic not in ("mean", "share", "p50", "p95")
        fractional = column.type in ("int", "float") and not (is_whole and keys.scale is None)
        return SubjectFigure(
            heading=keys.heading,
            column=column.name,
            statistic=statistic,
            text=f"{column.text}; {_WORDS[statistic]}" if keys.text is None else keys.text,
            unit=("%" if statistic == "share" else column.unit) if keys.unit is None else keys.unit,
            scale=1.0 if keys.scale is None else keys.scale,
            key=aggregation.statistic_name(column, statistic),
            type="float" if fractional else column.type,
            explain=f"{table.name}.{column.name}",
        )

    def _chart(self, table: Measure, chart: SubjectChart, where: str) -> SubjectChart:
        columns = [self._has(table, line.column, "p50", where, number=True) for line in chart.lines]
        if len({column.unit for column in columns}) > 1:
            raise self._wrong(f"{where} has columns of different units", "columns of one unit", where)
        unit = columns[0].unit if chart.unit is None else chart.unit
        explained = self._column(table, chart.explain or columns[0].name, where)
        return replace(chart, unit=unit, explain=f"{table.name}.{explained.name}")

    def _records(self, table: Measure, rows: SummableRows, by: list[str], where: str) -> SummableRows:
        selected = self._where(table, rows.where, f"{where}.where")
        self._together(table, by, selected, where)
        return replace(rows, where=selected)

    def _states(self, table: Measure, states: SampleStates) -> None:
        names = [name for state in states.state for name in state.columns]
        for name in names:
            self._has(table, name, "mean", "states")
        self._once("states", names)

    def _part(self, part: PartKeys, names: list[str]) -> SubjectPart:
        table = self._table(part.table, "part.table")
        self._pieces(table, part.pieces, "part.pieces")
        keys = tuple(columns_of(part.pieces))
        self._together(table, [*names, *keys], {}, "part")
        return SubjectPart(part.table, part.pieces, self._chart(table, part.chart, "part.chart"), keys=keys)

    def _owners(
        self, table: Measure, owners: OwnerKeys, records: tuple[SummableRows, ...], part: SubjectPart | None
    ) -> TimeOwners:
        for number, group in enumerate(owners.group, 1):
            self._pieces(table, group.pieces, f"owners.group[{number}]")
        for number, time in enumerate(owners.time, 1):
            for owned_table in (table, *([measures.load_measure(part.table)] if part else ())):
                self._has(owned_table, time.column, "total", f"owners.time[{number}]")
        for number, level in enumerate(owners.level, 1):
            self._pieces(table, level, f"owners.level[{number}]")
        by = tuple(dict.fromkeys(name for level in owners.level for name in columns_of(level)))
        where = self._where(table, owners.where, "owners.where")
        for condition in [where] if where or not records else [rows.where for rows in records]:
            self._together(table, list(by), condition, "owners")
            if part:
                self._where(measures.load_measure(part.table), condition, "owners.where")
        return TimeOwners(owners.note, owners.group, owners.time, owners.level, where, by=by)

    # -- common checks ---------------------------------------------------------------------------------

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

    def _where(self, table: Measure, entry: Rows, where: str) -> Rows:
        for name in entry:
            self._column(table, name, where)
        return {name: value if isinstance(value, list) else [value] for name, value in entry.items()}

    def _together(self, table: Measure, by: list[str], where: Rows, location: str) -> None:
        try:
            aggregation.merges_subjects(table, by, aggregation.pinned_columns(table, where))
        except QueryError as error:
            raise self._wrong(error.message, error.expected or "", location) from None

    def _column(self, table: Measure, name: str, where: str) -> MeasureColumn:
        column = table.column(name)
        if column is None:
            raise self._wrong(f"{table.name} has no column {name!r}", f"a column of {table.name}", where)
        return column

    def _has(
        self, table: Measure, name: str, statistic: str, where: str, *, number: bool = False
    ) -> MeasureColumn:
        """Return a column; raise an error if it does not have a statistic."""
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
