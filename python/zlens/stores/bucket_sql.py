"""SQL of measures by hour and day, with sums and weights from which means over buckets are computed.

The kind of a column decides what is stored (docs/aggregation.md). Percentiles are omitted: they do not add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from zlens.catalog import aggregation
from zlens.catalog import measures as metrics
from zlens.catalog.expressions import literal, quote
from zlens.catalog.local_days import DAY_US, day_sql, middle_sql
from zlens.catalog.measures import Measure
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.roles import SQL_TYPES
from zlens.lake.rollup_reader import BUCKET_END

#: Bucket lengths in microseconds, by suffix of the table name.
LEVELS = {"hour": DAY_US // 24, "day": DAY_US}


class BucketColumn(NamedTuple):
    """Column of a table by hour or day, and its SQL over the rows of a bucket."""

    column: RawColumn
    sql: str


def measures() -> list[str]:
    """Return the measures that are stored by hour and day: those with rows for intervals."""
    return [name for name in metrics.measure_names() if not metrics.load_measure(name).plain]


def bucket_columns(table: Measure, level: str) -> list[BucketColumn]:
    """Return the columns of a measure by hour or day."""
    end = f"TIMESTAMPTZ '1970-01-01 00:00:00+00' + to_microseconds(coalesce({', '.join(_ends())}))"
    length = "their length, for a subject that existed in all of them"
    columns = [
        (RawColumn("system", "text", "", "system"), "system"),
        (RawColumn("source", "text", "", "where the row comes from"), "source"),
        (RawColumn(BUCKET_END, "time", "", f"end of the {level} of the system's local time, UTC"), end),
        *((RawColumn(key.name, key.type, key.unit, key.text), quote(key.name)) for key in _keys(table)),
        (
            RawColumn("intervals", "int", "count", "intervals, without short intervals and gaps"),
            _unflagged("count", "1"),
        ),
        (RawColumn("seconds", "float", "s", length), _unflagged("sum", "seconds")),
    ]
    for column in table.columns:
        if column.name not in metrics.LEADING_NAMES and column.name not in table.key:
            columns += _kept_columns(table, column)
    return [BucketColumn(column, f"CAST({sql} AS {_type(column)})") for column, sql in columns]


def _keys(table: Measure) -> list[metrics.MeasureColumn]:
    return [column for column in table.columns if column.name in table.key]


def _kept_columns(table: Measure, column: metrics.MeasureColumn) -> list[tuple[RawColumn, str]]:
    name, unit, text = column.name, column.unit, column.text
    usual = aggregation.default_statistic(column) if column.type in ("int", "float") else "last"
    if usual == "total":
        value = aggregation.total_sql(table, column, among="_known")
    else:
        value = aggregation.statistic_sql(table, column, usual)
    # The mean of integers is rarely an integer.
    stored_type = "float" if usual == "mean" else column.type
    columns = [(RawColumn(name, stored_type, unit, f"{text} ({usual})"), value)]
    if usual == "last":
        return columns
    sums = aggregation.sum_and_weight_sql(column)
    if sums is not None:
        weight = "intervals" if usual == "total" else column.weight or "seconds"
        meaning = f"{name}: sum of the values, each times {weight}"
        columns += [
            (RawColumn(f"{name}_sum", "float", "", meaning), sums[0]),
            (RawColumn(f"{name}_weight", "float", "", f"{name}: sum of {weight}"), sums[1]),
        ]
    if column.aggregate == "gauge":
        largest = RawColumn(f"{name}_max", column.type, unit, f"{name}: the largest value")
        columns.append((largest, aggregation.statistic_sql(table, column, "max")))
    return columns


def _unflagged(function: str, value: str) -> str:
    return f"{function}(CASE WHEN {aggregation.unflagged_sql()} THEN {value} END)"


def _type(column: RawColumn) -> str:
    return SQL_TYPES[column.type]


def intervals(
    name: str, systems: Iterable[str], offsets: Mapping[tuple[str, str], int], days: tuple[int, int]
) -> tuple[tuple[RawColumn, ...], str]:
    """Return the columns of a measure plus the local day, and their SELECT; arguments as in `buckets_sql`."""
    table = metrics.load_measure(name)
    day = RawColumn("day", "text", "", "the local day that the interval is in, as YYYY-MM-DD")
    columns = (
        *(RawColumn(column.name, column.type, column.unit, column.text) for column in table.columns),
        day,
    )
    system_list = ", ".join(map(literal, systems))
    rows = f"SELECT *, {_DAY} AS _day FROM ({_local(table, offsets)}) WHERE system IN ({system_list})"
    values = {column.name: quote(column.name) for column in columns}
    values["day"] = "strftime(DATE '1970-01-01' + CAST(_day AS INTEGER), '%Y-%m-%d')"
    selected = ", ".join(f"CAST({values[one.name]} AS {_type(one)}) AS {quote(one.name)}" for one in columns)
    order = ", ".join(["system", "interval_end", "source", *(quote(key.name) for key in _keys(table))])
    within = f"WHERE _day BETWEEN {days[0]} AND {days[1]}"
    return columns, f"SELECT {selected} FROM ({rows}) {within} ORDER BY {order}"


def empty_select(columns: Iterable[RawColumn]) -> str:
    """Return a SELECT of these columns without rows."""
    listed = ", ".join(f"CAST(NULL AS {_type(column)}) AS {quote(column.name)}" for column in columns)
    return f"SELECT {listed} WHERE false"


#: Local day of a row of `_local`, counted from 1970.
_DAY = day_sql("_middle")


def _local(table: Measure, offsets: Mapping[tuple[str, str], int]) -> str:
    """Return a SELECT of a measure with its offset from UTC and local interval middle, in microseconds."""
    cases = " ".join(
        f"WHEN system = {literal(system)} AND source = {literal(source)} THEN {offset * 1_000_000}"
        for (system, source), offset in offsets.items()
        if offset
    )
    offset = f"CASE {cases} ELSE 0 END" if cases else "0"
    column_list = ", ".join(quote(column.name) for column in table.columns)
    return f"SELECT {column_list}, {offset} AS _offset, {middle_sql(offset)} AS _middle FROM {table.name}"


def _ends() -> list[str]:
    """Return the columns with bucket ends of each level; NULL in rows of the other level."""
    return [f"_{level}_end" for level in LEVELS]


def buckets_sql(
    name: str, systems: Iterable[str], offsets: Mapping[tuple[str, str], int], days: tuple[int, int]
) -> str:
    """Return a SELECT of a measure's buckets of all levels, for some systems and local days.

    `_unit` contains the number of the system in `systems` and the day; `_level` the name of the level.

    offsets   seconds between local time and UTC, by system and source
    days      first and last day, counted from 1970
    """
    table = metrics.load_measure(name)
    listed = ", ".join(map(literal, systems))
    ends = ", ".join(
        f"(_middle + {length - 1}) // {length} * {length} - _offset AS {end}"
        for end, length in zip(_ends(), LEVELS.values(), strict=True)
    )
    rows = (
        f"SELECT *, {ends}, {_DAY} AS _day, ({aggregation.has_differences_sql(table)}) AS _known "
        f"FROM ({_local(table, offsets)}) WHERE system IN ({listed})"
    )
    keys = ", ".join(["system", "source", *(quote(key.name) for key in _keys(table))])
    sets = ", ".join(f"({keys}, {end}, _day)" for end in _ends())
    # The columns of all levels are equal except for the text of one.
    selected = ", ".join(f"{item.sql} AS {quote(item.column.name)}" for item in bucket_columns(table, "hour"))
    pairs = zip(LEVELS, _ends(), strict=True)
    levels = " ".join(f"WHEN GROUPING({end}) = 0 THEN {literal(level)}" for level, end in pairs)
    return (
        f"SELECT {selected}, concat(list_position([{listed}], system), ' ', _day) AS _unit, "
        f"CASE {levels} END AS _level "
        f"FROM ({rows}) WHERE _day BETWEEN {days[0]} AND {days[1]} GROUP BY GROUPING SETS ({sets}) "
        f"ORDER BY {keys}, {', '.join(_ends())}"
    )
