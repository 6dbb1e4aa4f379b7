"""Rows of a report: builds queries from a definition and fetches the blocks.

The engine computes means and totals. Rows do not become Python values, except a few means of buckets: Arrow
streams are read into sections, which know the properties of all rows before the first is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field
from msgspec.structs import replace

from zlens._native import Section
from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.reports.definition import ReportColumn, ReportDefinition, ReportTable, RowKind
from zlens.catalog.reports.titles import fill_title
from zlens.inputs.unix_time import EPOCH
from zlens.reports.style import Value
from zlens.session import kept_days

if TYPE_CHECKING:
    from zlens.engine.results import QueryResult
    from zlens.session.session import CoreSession


#: A missing time or flag, of the type in which it is read: no projection has to convert it.
_NO_TEXT = "NULL::VARCHAR"
#: Rules of means over intervals.
AVERAGES = ("mean", "plain")


class RowSection(Struct, frozen=True):
    """Rows of one kind and block, in print order.

    printed   the rows of all blocks, and the index of this block among them; None: it has none
    values    number of rows with a value, for each column of the table
    longest   characters of the longest text of each column, at least the column's width
    times     earliest and latest time, in microseconds since 1970 UTC
    """

    rows: RowKind
    printed: tuple[Section, int | None]
    count: int = 0
    values: Sequence[int] = ()
    longest: Sequence[int] = ()
    times: tuple[int, int] | None = None
    flags: Sequence[str] = ()

    def __len__(self) -> int:
        return self.count


#: Sections printed together: one section, or interval rows and the rows that follow each interval.
Part = list[RowSection]


class Block(Struct):
    """Contents of the report for one system (or one machine)."""

    name: str
    systems: list[dict[str, Value]]  # rows of the table `system`
    start: datetime | None
    end: datetime | None
    tables: list[tuple[ReportTable, list[Part]]]
    #: Footnotes of the definition that apply to this block.
    notes: list[str] = field(default_factory=list)
    #: Problems found in the inputs so far.
    problems: int = 0

    @property
    def shown(self) -> list[tuple[ReportTable, list[Part]]]:
        """Tables with rows; the others apply to other kinds of machine."""
        return [
            (table, parts)
            for table, parts in self.tables
            if any(len(section) for part in parts for section in part)
        ]

    @property
    def empty(self) -> bool:
        return not self.shown

    @property
    def synthetic(self) -> bool:
        """Whether any of the data is synthetic."""
        return any(system.get("synthetic") is True for system in self.systems)

    @property
    def system(self) -> str:
        """System whose local time is shown."""
        return str(self.systems[0]["system"]) if self.systems else self.name


def rows_in_order(part: Part) -> list[tuple[Section, int | None]]:
    """Return the rows of a part: for each time, the rows of each section in turn."""
    return [section.printed for section in part]


def offset_us(block: Block, session: CoreSession) -> int:
    """Return the UTC offset of the block's system in microseconds."""
    offset = session.display(EPOCH, block.system).utcoffset()
    return offset // timedelta(microseconds=1) if offset else 0


def columns_without_values(block: Block) -> list[ReportColumn]:
    """Return columns without any value in this block; rows with a fixed text in the column do not count."""
    columns = []
    for table, parts in block.tables:
        sections = [section for part in parts for section in part if len(section)]
        for index, column in enumerate(table.columns):
            counted = [section for section in sections if column.key not in section.rows.cells]
            if counted and not any(section.values[index] for section in counted):
                columns.append(column)
    return columns


def fetch(definition: ReportDefinition, session: CoreSession) -> list[Block]:
    """Query the session for all data of the report."""
    if definition.kept:
        session = session.with_kept_days
    tables = [table for table in definition.tables if has_table_data(table, session)]
    results = _Results()
    results.add(
        session,
        (
            query
            for query in (
                definition.members,
                *(note.when for note in definition.notes),
                *(table.title_values for table in definition.tables),
            )
            if query and session.queries.query_has_data(query)
        ),
    )
    statements = {
        table.key: [_statement(table, rows, definition.block, session) for rows in table.rows]
        for table in tables
    }
    for table in tables:
        for rows, statement in zip(table.rows, statements[table.key], strict=True):
            results.add(_source(rows, session), [statement])
    blocks = _blocks(definition, session, results)
    fetched = [
        [
            (rows, *_read(table, rows, results.of(_source(rows, session), statement)))
            for rows, statement in zip(table.rows, statements.get(table.key, ()), strict=False)
        ]
        for table in definition.tables
    ]
    for sections_by_rows in fetched:
        for _, _, by_block in sections_by_rows:
            for name in by_block:
                blocks.setdefault(name, Block(name, [], None, None, []))
    for table, sections_by_rows in zip(definition.tables, fetched, strict=True):
        titles = _values(table.title_values, definition.block, session, results)
        for block in blocks.values():
            parts: list[Part] = []
            for rows, printed, by_block in sections_by_rows:
                section = by_block.get(block.name) or RowSection(rows, (printed, None))
                if parts and rows.kind != "interval" and has_times(rows):
                    parts[-1].append(section)
                else:
                    parts.append([section])
            titled = _titled(table, block, titles, session) if parts else table
            block.tables.append((titled, parts))
    problems = len(session.problems)
    for block in blocks.values():
        block.problems = problems
        if not definition.describes(system["release"] for system in block.systems):
            block.tables = [(table, []) for table, _ in block.tables]
    for block in blocks.values() if definition.kept else ():
        kept = kept_days.note(session.kept_days, (str(system["system"]) for system in block.systems))
        block.notes += [kept] if kept else []
    for note in definition.notes:
        values = _values(note.when, definition.block, session, results)
        for block in blocks.values():
            # Notes on rows need rows; a known recording error may explain why there are none.
            note_values = (
                values.get(block.name, values.get(None)) if note.when else None if block.empty else {}
            )
            if note_values is not None:
                block.notes.append(_filled(note.text, note_values, block, session))
    return list(blocks.values())


class _Results:
    """Results of the queries of a report, from several sessions; each computes once what they share."""

    def __init__(self) -> None:
        self._queries: dict[int, tuple[CoreSession, list[str]]] = {}
        self._results: dict[int, dict[str, QueryResult]] = {}

    def add(self, session: CoreSession, queries: Iterable[str]) -> None:
        self._queries.setdefault(id(session), (session, []))[1].extend(queries)

    def of(self, session: CoreSession, query: str) -> QueryResult:
        """Return the result of an added query; the first call computes what all of the session share."""
        if id(session) not in self._results:
            _, queries = self._queries[id(session)]
            self._results[id(session)] = dict(
                zip(queries, session.answers(queries, streamed=True), strict=True)
            )
        return self._results[id(session)][query]


def has_table_data(table: ReportTable, session: CoreSession) -> bool:
    """Return whether the input has data for a table, without decoding any."""
    queries = {rows.query or table.query for rows in table.rows}
    return any(session.queries.query_has_data(query) for query in queries)


def _values(
    query: str, column: str, session: CoreSession, results: _Results
) -> dict[object, dict[str, Value]]:
    """Return the values of a title or footnote, by block; under None if the query has no block."""
    by_block: dict[object, dict[str, Value]] = {}
    if query and session.queries.query_has_data(query):
        result = results.of(session, query)
        for row in result.rows:
            values = dict(zip(result.columns, row, strict=True))
            by_block.setdefault(values.get(column), values)
    return by_block


def _filled(text: str, values: dict[str, Value], block: Block, session: CoreSession) -> str:
    return fill_title(text, values, lambda time: session.display(time, block.system))


def _titled(
    table: ReportTable, block: Block, titles: dict[object, dict[str, Value]], session: CoreSession
) -> ReportTable:
    """Return the table with the block's values in its title."""
    if not table.title_values:
        return table
    return replace(table, title=_filled(table.title, titles.get(block.name, {}), block, session))


def _blocks(definition: ReportDefinition, session: CoreSession, results: _Results) -> dict[str, Block]:
    shown = ", ".join(quote(column.name) for column in measures.load_measure("system").columns)
    result = session.sql(f'SELECT {shown} FROM "system" ORDER BY "system"')
    # With --every, shown intervals are buckets that may end after the data; these are the recorded ones.
    spans = {
        (str(system), str(source)): (cast("datetime | None", start), cast("datetime | None", end))
        for system, source, start, end in session.sql(
            'SELECT "system", "source", min("interval_start"), max("interval_end") FROM "_interval" '
            'GROUP BY "system", "source"'
        ).rows
        if (system, source) not in session.other_clocks
    }
    blocks: dict[str, Block] = {}
    members: dict[object, object] = {}
    if definition.members and session.queries.query_has_data(definition.members):
        members = {row[0]: row[1] for row in results.of(session, definition.members).rows}
    for row in result.rows:
        system = dict(zip(result.columns, row, strict=True))
        name = str(members.get(system["system"]) or system.get(definition.block) or system["system"])
        block = blocks.setdefault(name, Block(name, [], None, None, []))
        block.systems.append(system)
        start, end = spans.get((str(system["system"]), str(system["source"])), (None, None))
        block.start = min((time for time in (block.start, start) if time), default=None)
        block.end = max((time for time in (block.end, end) if time), default=None)
    return blocks


def has_times(rows: RowKind) -> bool:
    """Return whether each of these rows has a time."""
    return rows.kind == "interval" or (rows.kind in ("total", "query") and rows.of == "interval")


def _source(rows: RowKind, session: CoreSession) -> CoreSession:
    """Return the session to query for rows of a kind.

    Rows over the entire window use recorded intervals regardless of --every, except those of peaks, which are
    among the intervals shown; rows over all members use the members regardless of --group.
    """
    of_intervals = rows.kind == "peak" or "interval" in (rows.kind, rows.of)
    source = session if of_intervals else session.without_buckets
    return source.without_groups if rows.kind == "total" or rows.overall else source


def _statement(table: ReportTable, rows: RowKind, block: str, session: CoreSession) -> str:
    """Return the SQL of one kind of row; counts and times in means are per interval shown."""
    amounts = [i for i, column in enumerate(table.columns) if column.is_amount and column.mean in AVERAGES]
    buckets = bool(session.options.every_s)
    if rows.kind != "mean" or not buckets or not amounts:
        return rows_sql(table, rows, block, buckets=buckets)
    keys = [block, *table.subject]
    means = ", ".join(_mean(table, table.columns[i]) for i in amounts)
    shown = session.sql(
        f"SELECT {_list(keys)}, {means} FROM ({table.query}) AS base "
        f"WHERE {aggregation.unflagged_sql()} GROUP BY {_list(keys)}"
    ).rows
    names = {key: quote(f"#{key}") for key in keys} | {i: quote(f"#{i}") for i in amounts}
    values = ", ".join(f"({', '.join(map(_literal, row))})" for row in shown or [(None,) * len(names)])
    same = " AND ".join(f"CAST({quote(key)} AS VARCHAR) IS NOT DISTINCT FROM {names[key]}" for key in keys)
    joined = f"LEFT JOIN (VALUES {values}) AS shown ({', '.join(names.values())}) ON {same}"
    return rows_sql(table, rows, block, joined, {i: f"any_value({names[i]})" for i in amounts})


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return f"CAST({value!r} AS DOUBLE)" if isinstance(value, float) else literal(str(value))


def _read(table: ReportTable, rows: RowKind, result: QueryResult) -> tuple[Section, dict[str, RowSection]]:
    """Return the rows of one kind, for all blocks and by block."""
    printed = result.read(lambda stream: Section.read(stream, result.types, table.columns))
    by_block = {}
    for index, (name, count, values, longest, times, flags) in enumerate(printed.runs):
        by_block[str(name)] = RowSection(rows, (printed, index), count, values, longest, times, flags)
    return printed, by_block


def rows_sql(
    table: ReportTable,
    rows: RowKind,
    block: str,
    joined: str = "",
    means: Mapping[int, str] = MappingProxyType({}),
    *,
    buckets: bool = False,
) -> str:
    """Return the SQL of one kind of row: block, time, flag, then one column for each column of the table.

    joined, means   for rows of means: a join with other means, and their SQL by the index of their column
    buckets         times are those of buckets; the last one ends with the data, as the header says
    """
    keys = [block, *([table.time] if has_times(rows) and table.time else [])]
    time = quote(keys[1]) if len(keys) > 1 else _NO_TEXT
    if buckets and len(keys) > 1:
        time = f'least({time}, (SELECT max("interval_end") FROM "_interval"))'
    if rows.kind == "total":
        return _total(table, rows, keys, time)
    if rows.kind == "query":
        shown = ", ".join(quote(column.column) for column in table.columns)
        columns = {column.column for column in table.columns}
        order = _order(table, rows, keys, [*rows.order, *(name for name in table.subject if name in columns)])
        return f"SELECT {quote(block)}, {time}, {_NO_TEXT}, {shown} FROM ({rows.query}) AS own {order}"
    if rows.kind == "peak":
        return _peaks(table, rows, block)
    flag = quote("flag") if rows.kind == "interval" and not rows.query else _NO_TEXT
    if rows.kind == "mean":
        shown = ", ".join(means.get(i) or _mean(table, column) for i, column in enumerate(table.columns))
        return (
            f"SELECT {quote(block)}, {time}, {flag}, {shown} FROM ({table.query}) AS base {joined} "
            f"WHERE {aggregation.unflagged_sql()} GROUP BY {_list([block, *table.subject])} "
            f"{_order(table, rows, keys, table.subject)}"
        )
    shown = ", ".join(quote(column.column) for column in table.columns)
    return (
        f"SELECT {quote(block)}, {time}, {flag}, {shown} FROM ({rows.query or table.query}) AS base "
        f"{_order(table, rows, keys, [*rows.order, *table.subject])}"
    )


def _peaks(table: ReportTable, rows: RowKind, block: str) -> str:
    """Return the row of each subject in the interval in which a column was highest."""
    assert table.time
    (peak,) = [quote(column.column) for column in table.columns if column.key == table.peak]
    columns = [column.column for column in table.columns]
    # Named, because what a statement with a star reads has to be planned.
    named = _list([*dict.fromkeys([block, table.time, *table.subject, *columns])])
    # Rows of a query of their own have no flag: it leaves flagged rows out.
    unflagged = "" if rows.query else f" AND {aggregation.unflagged_sql()}"
    return (
        f"SELECT {quote(block)}, {quote(table.time)}, {_NO_TEXT}, {_list(columns)} FROM ("
        f"SELECT {named} FROM ({rows.query or table.query}) AS base WHERE {peak} IS NOT NULL{unflagged} "
        f"QUALIFY row_number() OVER (PARTITION BY {_list([block, *table.subject])} "
        f"ORDER BY {peak} DESC, {quote(table.time)}) = 1) AS peaks "
        f"{_order(table, rows, [block], table.subject)}"
    )


def _order(table: ReportTable, rows: RowKind, keys: Sequence[str], names: Sequence[str]) -> str:
    """Return the clauses that sort the rows with the same keys, and that limit their number."""
    order = _sorted(names)
    limit = ""
    if table.has_subjects(rows):
        for column in (column for column in table.columns if column.key == table.sort):
            value = _mean(table, column) if rows.kind == "mean" else quote(column.column)
            order = f"{value} {'DESC ' if column.type == 'number' else ''}NULLS LAST, {order}"
        if table.top and order:
            rank = f"row_number() OVER (PARTITION BY {_list(keys)} ORDER BY {order})"
            limit = f"QUALIFY {rank} <= {table.top} "
    return f"{limit}ORDER BY {', '.join(filter(None, (_sorted(keys), order)))}"


def _total(table: ReportTable, rows: RowKind, keys: list[str], time: str) -> str:
    """Weight sums by the seconds of each row, as the catalog does; other rules apply to the rows shown."""
    # Columns to add are renamed (c0, c1, ...), because a column may be shown twice under two keys.
    summed = {
        f"c{index}": column.column
        for index, column in enumerate(table.columns)
        if (rows.rule or column.total) == "sum" and _weighted(rows, column)
    }
    groups = [*keys, *(name for name in rows.by if name not in keys)]
    weights = {
        index: weight
        for index, column in enumerate(table.columns)
        if column.total == "mean" and not rows.rule and (weight := _weight(column))
    }
    inner = [quote(name) for name in groups]
    if rows.of == "mean":
        inner += [f"{_mean(table, column)} AS c{index}" for index, column in enumerate(table.columns)]
        inner += [
            f"sum({weight}) FILTER (WHERE {quote(table.columns[index].column)} IS NOT NULL) AS w{index}"
            for index, weight in weights.items()
        ]
        subjects = list(dict.fromkeys([*groups, *table.subject]))
        grouping = f" WHERE {aggregation.unflagged_sql()} GROUP BY {_list(subjects)}"
    else:
        inner += [f"{quote(column.column)} AS c{index}" for index, column in enumerate(table.columns)]
        inner += [f"{weight} AS w{index}" for index, weight in weights.items()]
        grouping = ""
    others = [
        f"{_sum(rows, column, f'c{index}', f'w{index}' if index in weights else None)} AS c{index}"
        for index, column in enumerate(table.columns)
        if f"c{index}" not in summed
    ]
    added = (
        f"SELECT {', '.join([*map(quote, groups), *others])} FROM "
        f"(SELECT {', '.join(inner)} FROM ({table.query}) AS base{grouping}) GROUP BY {_list(groups)}"
    )
    if summed:
        sums = aggregation.totals(
            rows.query or table.query,
            keys[:1],
            table.time or "interval_end",
            rows.by,
            summed,
            whole="whole" if rows.query else "seconds",
            timed=has_times(rows),
        )
        same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM s.{name}" for name in map(quote, groups))
        values = ", ".join(f"s.{name}" for name in summed)
        added = f"SELECT a.*, {values} FROM ({added}) AS a LEFT JOIN ({sums}) AS s ON {same}"
    shown = ", ".join(f"c{index}" for index in range(len(table.columns)))
    return f"SELECT {quote(keys[0])}, {time}, {_NO_TEXT}, {shown} FROM ({added}) ORDER BY {_sorted(groups)}"


def _weighted(rows: RowKind, column: ReportColumn) -> bool:
    """Return whether a column is weighted by the time that each row covers."""
    return rows.of != "row" or column.column in rows.adds


def _mean(table: ReportTable, column: ReportColumn) -> str:
    name = quote(column.column)
    if column.column in table.subject:
        return name
    if column.mean in ("first", "last"):
        return f"{'arg_min' if column.mean == 'first' else 'arg_max'}({name}, {quote(table.time or '')})"
    if column.mean == "mean" and column.averaging_measure:
        return aggregation.mean_sql(replace(column.averaging_measure, name=column.column))
    return _rule(column.mean, name, column)


def _weight(column: ReportColumn) -> str | None:
    """Return the SQL of the weight of a column's values; None if its means are unweighted."""
    if column.mean != "mean" or not column.measures or not column.averaging_measure:
        return None
    return aggregation.weight_sql(column.averaging_measure)


def _sum(rows: RowKind, column: ReportColumn, name: str, weight: str | None) -> str:
    rule = rows.rule if rows.rule and column.type == "number" else column.total
    if rule == "sum":
        # A sum of the known values is not the total: if one value is missing, there is no total.
        return f"CASE WHEN count({name}) = count(*) THEN sum({name}) END"
    if rule == "mean" and weight:
        return f"sum({name} * {weight}) / nullif(sum({weight}) FILTER (WHERE {name} IS NOT NULL), 0)"
    return _rule(rule, name, column)


def _rule(rule: str, name: str, column: ReportColumn) -> str:
    if rule == "none":
        return "NULL"
    if rule == "count":
        return "count(*)"
    if rule == "mix":
        same = f"CASE WHEN min({name}) = max({name}) THEN min({name})"
        return f"{same} WHEN count({name}) > 0 THEN 'MIX' END" if column.type == "text" else f"{same} END"
    return f"{'avg' if rule in ('mean', 'plain') else rule}({name})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(quote(name) for name in names)


def _sorted(names: Sequence[str]) -> str:
    return ", ".join(f"{quote(name)} NULLS LAST" for name in names)
