"""Aggregation: SQL over rows of a measure, from the kind and weight of its columns.

Input and output are text. See docs/aggregation.md for the rules and their reasons. In short:

over time        counters and times are added; ratios and gauges are sum(value * weight) / sum(weight)
over subjects    within one interval, as `over_subjects` says; the result is then aggregated over time
exposure         a row counts for its own seconds: a subject with part of an interval counts for that part
unknown          a sum with an unknown part is NULL; a mean covers the rows that have both value and weight
flagged          rows flagged short or gap count in totals, but in no mean, percentile, minimum or maximum
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from zlens.catalog import expressions, measures
from zlens.catalog.expressions import quote
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.errors import CatalogError, QueryError

#: Statistics of columns.
STATISTICS = ("mean", "total", "share", "rate", "min", "max", "p50", "p95", "first", "last", "mode", "count")
#: Statistics by kind of column.
_GIVES: Mapping[str, tuple[str, ...]] = {
    "counter": ("mean", "total", "min", "max", "p50", "p95", "first", "last", "count"),
    "time": ("mean", "total", "rate", "min", "max", "p50", "p95", "first", "last", "count"),
    "ratio": ("mean", "min", "max", "p50", "p95", "first", "last", "count"),
    "gauge": ("mean", "min", "max", "p50", "p95", "first", "last", "count"),
    "state": ("first", "last", "mode", "count"),
    "key": ("first", "last", "mode", "count"),
}
#: Units of amounts, which are added over subjects.
_AMOUNTS = frozenset(
    {"/s", "bytes/s", "bytes", "count", "frames", "pages", "slots", "processors", "cores", "MSU/h"}
)
_LENGTH = "seconds"
#: Statistics that divide a total by the total of another column, and their factors.
QUOTIENTS = {"share": 100, "rate": 1}
TOTALS = frozenset({"total", *QUOTIENTS})
#: The column whose total is the time that a rate refers to: a subject without rows counts as zero.
_ELAPSED = "load.seconds"
#: The columns that identify an interval of a system.
_INTERVAL = ("system", "source", "interval_end")
#: Kinds that have no value yet in a subject's first sample.
COUNTED = frozenset({"counter", "time", "ratio"})
#: Column of rows that a measure's statement adds on request: whether sums include a row. Measures may have
#: dozens of columns that show it.
KNOWN = "#known"
#: In its place: whether the other requested columns show that sums include a row. Otherwise KNOWN depends on
#: columns that may need further tables.
KNOWN_BY_OTHERS = "#known by others"
#: Whether sums over subjects include a row.
_INCLUDED = '"#takes part"'
#: Lengths of intervals.
INTERVAL_LENGTHS = """(
    SELECT system AS of_system, source AS of_source, interval_end AS of_end, max(seconds) AS of_seconds
    FROM "interval" GROUP BY ALL
)"""
_SAME_INTERVAL = "of_system = system AND of_source = source AND of_end = interval_end"
#: Length of the interval that contains a row.
_OF_INTERVAL = f"(SELECT max(of_seconds) FROM {INTERVAL_LENGTHS} WHERE {_SAME_INTERVAL})"
#: Columns of `interval` that INTERVAL_LENGTHS reads.
INTERVAL_READS = (*_INTERVAL, _LENGTH)
#: Interval length of a sum, and whether the sum is the first one with that time.
_WHOLE, _ONCE = '"#whole"', '"#once"'


def default_statistic(column: MeasureColumn) -> str:
    """Return the default statistic of a column over time: total, mean or last value."""
    if column.aggregate in ("counter", "time"):
        return "total"
    return "mean" if column.aggregate in ("ratio", "gauge") else "last"


def available_statistics(column: MeasureColumn) -> tuple[str, ...]:
    """Return the statistics of a column."""
    if column.type not in ("int", "float"):
        return _GIVES["state"]
    return (*_GIVES[column.aggregate], *(["share"] if column.share_of else []))


def subject_rule(column: MeasureColumn) -> str:
    """Return how subjects of one interval are aggregated: one of measures.ACROSS, or `by` and a formula."""
    if column.over_subjects:
        return column.over_subjects
    kind = column.aggregate
    if kind in ("counter", "time"):
        return "sum"
    if kind in ("ratio", "gauge"):
        if column.unit in _AMOUNTS and (column.weight or _LENGTH) == _LENGTH and not column.unweighted:
            return "sum"
        return "mean" if column.weight else "none"
    return "same" if kind == "state" else "none"


def unflagged_sql(alias: str = "") -> str:
    """Return the condition on rows that means and extremes cover: neither short nor after a gap."""
    return f"{_qualified('flag', alias)} IS NULL"


def weight_sql(column: MeasureColumn, alias: str = "") -> str | None:
    """Return SQL of a column's weight over the columns of its row; None if it has no weight."""
    if column.aggregate == "ratio" and not column.weight:
        return None
    formula = column.weight or _LENGTH
    if "/" in formula:
        return expressions.compile_sql(formula, lambda name: _qualified(name, alias), "float")
    if formula == _LENGTH:
        return _qualified(formula, alias)
    # Sums and products of finite columns are finite.
    return expressions.compile_raw(formula, lambda name: _qualified(name, alias), "float")


def mean_inputs(table: Measure, column: MeasureColumn, *, subjects: bool = False) -> list[str]:
    """Return the columns of a row that a mean needs; with `subjects` also those of means over subjects."""
    formulas = [column.weight or _LENGTH]
    how = subject_rule(column)
    if subjects:
        formulas += [part for part in (how.partition("by ")[2], column.subject_filter) if part]
    names = [column.name, *(name for formula in formulas for name in expressions.names(formula))]
    names += [name for part in column.mean_columns for name in mean_inputs(table, part)]
    return [name for name in dict.fromkeys(names) if table.column(name) is not None]


def conditional_aggregate(function: str, value: str, among: str = "true", more: str = "") -> str:
    """Return SQL of an aggregate over some of the rows: CASE costs DuckDB half as much as FILTER."""
    return f"{function}({value if among == 'true' else f'CASE WHEN {among} THEN {value} END'}{more})"


#: Writer of an aggregate: function, value, included rows, further arguments.
Of = Callable[..., str]


def mean_sql(
    column: MeasureColumn, alias: str = "", *, weighs: str | None = None, of: Of = conditional_aggregate
) -> str:
    """Return SQL of a column's mean over the rows of one subject; NULL if the column has no weight.

    The mean of a counter or a time is its mean per interval. A mean that is a formula over other means
    covers the rows that have a value.

    weighs   SQL of the weight, instead of the declared one
    of       writer of aggregates
    """
    if column.mean and weighs is None:
        parts = {part.name: part for part in column.mean_columns}
        known = f"{_qualified(column.name, alias)} IS NOT NULL"

        def of_known(function: str, value: str, among: str = "true", more: str = "") -> str:
            return of(function, value, known if among == "true" else f"{among} AND {known}", more)

        return expressions.compile_sql(
            column.mean, lambda name: f"({mean_sql(parts[name], alias, of=of_known)})", "float"
        )
    weighs = weighs or weight_sql(column, alias)
    if weighs is None or "mean" not in available_statistics(column):
        return "NULL"
    if column.aggregate in ("counter", "time"):
        return of("avg", _qualified(column.name, alias), unflagged_sql(alias))
    above, below = _sums(column, alias, weighs, of)
    return f"{above} / nullif({below}, 0)"


def sum_and_weight_sql(column: MeasureColumn) -> tuple[str, str] | None:
    """Return SQL of the sum and the weight of a column's mean; both can be added over any rows.

    The mean is the ratio of both. None if the column has no mean.
    """
    weighs = weight_sql(column)
    if weighs is None or "mean" not in available_statistics(column):
        return None
    if column.aggregate in ("counter", "time"):
        weighs = "1"
    return _sums(column, "", weighs, conditional_aggregate)


def _sums(column: MeasureColumn, alias: str, weighs: str, of: Of) -> tuple[str, str]:
    value, unflagged = _qualified(column.name, alias), unflagged_sql(alias)
    weighted = f"{unflagged} AND {value} IS NOT NULL"
    return of("sum", f"{value} * ({weighs})", unflagged), of("sum", weighs, weighted)


def has_differences_sql(table: Measure, alias: str = "", among: Sequence[str] | None = None) -> str:
    """Return the condition on rows that sums include: a subject's first sample has no differences.

    Such a row has no counters, times or rates. `among` are the columns to consider, instead of all.
    """
    columns = difference_columns(table) if among is None else among
    names = ", ".join(_qualified(name, alias) for name in columns)
    return f"coalesce({names}) IS NOT NULL" if names else "true"


def difference_columns(table: Measure) -> list[str]:
    """Return the columns that show whether a row has differences: counters, times and rates, else ratios.

    Rows of amounts of other measures (`repeats`) all take part in sums: none is of a first sample.
    """
    if table.repeats:
        return []
    numbers = [column for column in table.columns if column.name not in measures.LEADING_NAMES]
    counters = [
        number for number in numbers if number.aggregate in ("counter", "time") or number.weight == _LENGTH
    ]
    counters = counters or [column for column in numbers if column.aggregate == "ratio"]
    return [column.name for column in counters]


def total_sql(
    table: Measure, column: MeasureColumn, *, among: str | None = None, of: Of = conditional_aggregate
) -> str:
    """Return SQL of a column's sum over rows of one subject; NULL if a part is unknown.

    among   the included rows, instead of the known ones
    of      writer of aggregates
    """
    if "total" not in available_statistics(column):
        return "NULL"
    value, among = quote(column.name), among or has_differences_sql(table)
    complete = f"{of('count', value)} = {of('count', '1', among)}"
    return f"CASE WHEN {complete} THEN {of('sum', value)} END"


def of_totals_sql(table: Measure, column: MeasureColumn) -> str:
    """Return SQL of a column's formula over the totals of the columns that it names."""
    totals_by_name = {each.name: f"({total_sql(table, each)})" for each in table.columns}
    return expressions.compile_sql(column.formula, totals_by_name.__getitem__, "float")


def whole_of(column: MeasureColumn, statistic: str = "share") -> tuple[Measure, MeasureColumn]:
    """Return the measure and the column whose total divides a column's total in a share or a rate."""
    divisor = column.share_of if statistic == "share" else _ELAPSED
    name, _, whole = divisor.partition(".")
    table = measures.load_measure(name)
    found = table.column(whole)
    if found is None:
        raise CatalogError(f"{column.name}: share_of is {divisor!r}", expected="MEASURE.COLUMN")
    return table, found


def statistic_sql(table: Measure, column: MeasureColumn, statistic: str) -> str:
    """Return SQL of one of STATISTICS over the rows of one subject."""
    builders = {"mean": lambda: mean_sql(column), "total": lambda: total_sql(table, column)}
    return builders[statistic]() if statistic in builders else value_statistic_sql(column, statistic)


def value_statistic_sql(column: MeasureColumn, statistic: str, of: Of = conditional_aggregate) -> str:
    """Return SQL of a statistic that needs only the values of a column and their times."""
    if statistic not in STATISTICS:
        raise CatalogError(f"there is no statistic {statistic!r}", expected=", ".join(STATISTICS))
    if statistic not in available_statistics(column):
        return "NULL"
    value = quote(column.name)
    if statistic in ("first", "last"):
        return of("arg_min" if statistic == "first" else "arg_max", value, "true", ", interval_end")
    if statistic in ("min", "max", "mode", "count"):
        return of(statistic, value, unflagged_sql())
    return of("quantile_cont", value, unflagged_sql(), f", {int(statistic[1:]) / 100}")


def _complete(value: str, among: str) -> str:
    """Return the condition that all included rows have a value."""
    return " = ".join(conditional_aggregate("count", each, among) for each in (value, "1"))


def _if_complete(value: str, among: str, sql: str) -> str:
    """Return SQL that is NULL if one of the included rows has no value."""
    return f"CASE WHEN {_complete(value, among)} THEN {sql} END"


def _added(value: str, among: str) -> str:
    """Return SQL of a sum over subjects, each for its own seconds; NULL if a part is unknown."""
    return _if_complete(value, among, conditional_aggregate("sum", f"{value} * {quote(_LENGTH)}", among))


def together_s(name_sql: Callable[[str], str] = lambda sql: sql) -> str:
    """Return SQL of the seconds that the subjects of an interval cover: the longest, but not more than the
    interval, or than the shortest row if all span several intervals.

    A subject whose samples are missing has a row that spans several intervals; so have all rows of a record
    type whose intervals are longer than those of another. `name_sql` replaces the SQL of the interval length.
    """
    seconds = quote(_LENGTH)
    return f"least(max({seconds}), greatest(min({seconds}), max({name_sql(_OF_INTERVAL)})))"


class SubjectAggregate(Struct, frozen=True):
    """A column over the subjects of one interval: its value, and its weight in a mean over time."""

    value: str
    weight: str


def aggregate_subjects(
    column: MeasureColumn,
    among: str = "true",
    *,
    average: bool = False,
    named: Callable[[str], str] = lambda sql: sql,
) -> SubjectAggregate:
    """Return SQL of a column over several subjects of one interval, and of its weight over time.

    among     the included rows; one unknown value among them makes a sum unknown
    average   for added columns, the mean of the subjects
    named     replaces SQL that is used several times: the weight, the interval length
    """
    how, value = subject_rule(column), quote(column.name)
    # A column without a mean over time in its own rows has no mean here.
    length = "CAST(NULL AS DOUBLE)" if column.unweighted else f"max({quote(_LENGTH)})"
    if column.subject_filter:
        among = f"{among} AND coalesce({expressions.compile_sql(column.subject_filter, quote)}, false)"
    if how == "sum":
        weighs = f"max({weight_sql(column)})" if column.weight else length
        if column.aggregate in ("ratio", "gauge") and (column.weight or _LENGTH) == _LENGTH:
            length_s = together_s(named)
            added = f"{_added(value, among)} / {length_s}"
            # A row without a length, such as a first sample, is not known to cover only a part.
            timed = _complete(quote(_LENGTH), among)
            plain = _if_complete(value, among, conditional_aggregate("sum", value, among))
            added = f"CASE WHEN {timed} THEN {added} ELSE {plain} END"
            weighs = weighs if column.unweighted else length_s
            return SubjectAggregate(
                f"{added} / {conditional_aggregate('count', '1', among)}" if average else added, weighs
            )
        added = conditional_aggregate("avg" if average else "sum", value, among)
        return SubjectAggregate(_if_complete(value, among, added), weighs)
    if how in ("max", "min"):
        return SubjectAggregate(_if_complete(value, among, conditional_aggregate(how, value, among)), length)
    if how == "same":
        alike = f"count({value}) = count(*) AND min({value}) = max({value})"
        return SubjectAggregate(f"CASE WHEN {alike} THEN min({value}) END", length)
    if how == "none":
        return SubjectAggregate("NULL", length)
    if how == "mean":
        weighs = named(weight_sql(column) or "NULL")
        over = conditional_aggregate("sum", weighs, f"{among} AND {value} IS NOT NULL")
    else:
        weighs = named(expressions.compile_sql(how.removeprefix("by "), quote, "float"))
        over = length
    # A value with zero weight may be unknown.
    part = f"{among} AND {weighs} > 0"
    complete_parts = f"{_complete(weighs, among)} AND {_complete(value, part)}"
    weighted = conditional_aggregate("sum", f"{value} * ({weighs})", part)
    mean = f"{weighted} / nullif({conditional_aggregate('sum', weighs, part)}, 0)"
    return SubjectAggregate(f"CASE WHEN {complete_parts} THEN {mean} END", over)


def totals(
    rows: str,
    keys: Sequence[str],
    time: str,
    by: Sequence[str],
    columns: Mapping[str, str],
    *,
    whole: str = _LENGTH,
    timed: bool = False,
) -> str:
    """Return a SELECT of sums over all subjects with the same `keys` and `by`: sum(value * seconds) / window.

    The window is the total length of the times that have rows with these keys, except times at which a part
    of the sum is unknown.

    rows     SQL of rows with `seconds`, `flag`, and `known`: whether sums include them
    time     column of their times; with `timed`, there is a sum for each
    columns  the names of the sums, and the columns to add
    whole    column of the length of the interval that contains a row
    """
    groups = list(dict.fromkeys([*keys, time, *by]))
    time_keys = ", ".join(map(quote, [*keys, time]))
    items = [*map(quote, groups), f"max(max({quote(whole)})) OVER (PARTITION BY {time_keys}) AS {_WHOLE}"]
    items += [f"{_added(quote(column), 'known')} AS {quote(name)}" for name, column in columns.items()]
    among, grouped = "true" if timed else unflagged_sql(), ", ".join(map(quote, groups))
    each = f"SELECT {', '.join(items)} FROM ({rows}) WHERE {among} GROUP BY {grouped}"
    names = [quote(name) for name in columns]
    if timed:
        sums = ", ".join(f"{name} / {_WHOLE} AS {name}" for name in names)
        return f"SELECT {grouped}, {sums} FROM ({each})"
    # The length of a time counts once in the window, however many groups have rows at that time.
    once = f"SELECT *, row_number() OVER (PARTITION BY {time_keys}) = 1 AS {_ONCE} FROM ({each})"
    over = ", ".join(map(quote, keys))
    window = f"sum({conditional_aggregate('sum', _WHOLE, _ONCE)}) OVER (PARTITION BY {over})"
    unknown = {name: conditional_aggregate("sum", _WHOLE, f"{name} IS NULL") for name in names}
    sums = ", ".join(
        f"sum({name}) / nullif({window} - coalesce({unknown[name]}, 0), 0) AS {name}" for name in names
    )
    key_columns = ", ".join(map(quote, dict.fromkeys([*keys, *by])))
    return f"SELECT {key_columns}, {sums} FROM ({once}) GROUP BY {key_columns}"


def merges_subjects(table: Measure, by: Sequence[str], pinned: Sequence[str] = ()) -> bool:
    """Return whether grouping a measure by some of its columns merges rows of several subjects.

    pinned   columns limited to one value
    QueryError if that would merge rows that the measure never merges.
    """
    dropped_keys = [key for key in table.key if key not in by and key not in pinned]
    mixed = [key for key in dropped_keys if key in table.never_merged]
    if mixed:
        raise QueryError(
            f"rows of {table.name} with different {mixed[0]} are never merged",
            expected=f"{mixed[0]} among the columns to group by, or limited to one value",
        )
    return bool(dropped_keys)


def pinned_columns(table: Measure, where: Mapping[str, Any]) -> list[str]:
    """Return the columns that a condition limits to one value, or to parts of one total."""

    def is_whole(name: str, value: Any) -> bool:
        several = isinstance(value, list) and len(value) != 1
        return not several or (bool(value) and set(value) <= set(table.parts.get(name, ())))

    return [name for name, value in where.items() if is_whole(name, value)]


def subject_rows_sql(
    table: Measure,
    selected: Sequence[MeasureColumn],
    rows: str,
    keys: Sequence[str],
    where: str = "true",
    fixed: Collection[str] = (),
    included: str | None = None,
) -> str:
    """Return a SELECT of one row for each interval and value of `keys`, with each column over the subjects.

    Each weight over time follows its column, named by `weight_column`. Columns in `fixed` have one value in
    all rows and are omitted. `included` is SQL of whether sums include a row, if rows have it as a column.
    """
    key_columns = [key for key in dict.fromkeys([*_INTERVAL, *keys]) if key not in fixed]
    weights: dict[str, str] = {}

    def named(sql: str) -> str:
        return weights.setdefault(sql, quote(f"#weight{len(weights)}"))

    items = [
        *map(quote, key_columns),
        f"{together_s(named)} AS {quote(_LENGTH)}",
        # A short interval or a gap of a single subject does not flag the others.
        "CASE WHEN count(flag) = count(*) THEN max(flag) END AS flag",
        f"bool_or({_INCLUDED}) AS {quote(KNOWN)}",
    ]
    names = [*_INTERVAL, *key_columns, _LENGTH, "flag"]
    for column in selected:
        part = aggregate_subjects(column, _INCLUDED if column.aggregate in COUNTED else "true", named=named)
        items += [f"{part.value} AS {quote(column.name)}", f"{part.weight} AS {quote(weight_column(column))}"]
        names += mean_inputs(table, column, subjects=True)
    # SQL that the statistics use repeatedly is computed once per row.
    inner_items = [
        *map(quote, dict.fromkeys(names)),
        f"({included or has_differences_sql(table)}) AS {_INCLUDED}",
    ]
    # A join instead of the subquery, for which DuckDB would keep all rows in memory.
    inner_items += [
        f"{'of_seconds' if sql == _OF_INTERVAL else sql} AS {name}" for sql, name in weights.items()
    ]
    timed = f"{rows} LEFT JOIN {INTERVAL_LENGTHS} ON {_SAME_INTERVAL}"
    inner = f"SELECT {', '.join(inner_items)} FROM {timed} WHERE {where}"
    return f"SELECT {', '.join(items)} FROM ({inner}) GROUP BY {', '.join(map(quote, key_columns))}"


def interval_rows_sql(
    table: Measure,
    selected: Sequence[MeasureColumn],
    rows: str,
    keys: Sequence[str],
    where: str,
    pinned: Sequence[str],
) -> str:
    """Like `subject_rows_sql`, but also for a measure that has one row for each interval and key."""
    if merges_subjects(table, keys, pinned):
        return subject_rows_sql(table, selected, rows, keys, where)
    items = [quote(name) for name in (*_INTERVAL, *keys)]
    for column in selected:
        items += [quote(column.name), f"{weight_sql(column) or 'NULL'} AS {quote(weight_column(column))}"]
    return f"SELECT {', '.join(items)} FROM {rows} WHERE {where}"


def is_divided(table: Measure) -> bool:
    """Return whether a subject may have several consecutive rows in an interval, one per transaction.

    A key column that does not identify the subject distinguishes such rows.
    """
    return any(
        column.aggregate == "key" and column.name not in (*measures.LEADING_NAMES, *table.key)
        for column in table.columns
    )


def undivided(table: Measure, selected: Sequence[MeasureColumn], where: str) -> tuple[str, list[str]]:
    """Return a SELECT of one row per interval and subject of a divided measure, and the columns it reads.

    Numbers are statistics of the subject over time. The order of states is unknown: the largest is used.
    """
    key_columns = [*_INTERVAL, *table.key]
    # A short interval or a gap among the rows does not flag the others, and counts in totals.
    items = [*map(quote, key_columns), "CASE WHEN count(flag) = count(*) THEN max(flag) END AS flag"]
    reads = dict.fromkeys([*key_columns, _LENGTH, "flag", *difference_columns(table)])
    for column in selected:
        if column.name in (*key_columns, "flag"):
            continue
        value = (
            conditional_aggregate("max", quote(column.name))
            if default_statistic(column) == "last"
            else statistic_sql(table, column, default_statistic(column))
        )
        items.append(f"{value} AS {quote(column.name)}")
        reads |= dict.fromkeys(mean_inputs(table, column))
    groups = ", ".join(map(quote, key_columns))
    return f"SELECT {', '.join(items)} FROM {quote(table.name)} WHERE {where} GROUP BY {groups}", list(reads)


def weight_column(column: MeasureColumn) -> str:
    """Return the name of a column's weight in `subject_rows_sql`."""
    return f"{column.name}#weight"


def statistic_name(column: MeasureColumn, statistic: str) -> str:
    """Return the name of a column's statistic in a result."""
    return f"{column.name}_{statistic}"


_PLACE = re.compile(r"\{(mean|across|total|of_totals) (\w+)\.(\w+)(?: of (\w+))?\}")
_TAKES_PART = re.compile(r"\{known (\w+)(?: of (\w+))?\}")


def expand_references(sql: str) -> str:
    """Return SQL of a report with its references to columns expanded.

    `{mean device.resp_s}` is the mean over time, `{mean device.resp_s of d}` the mean of the rows of `d`;
    `{across device.rate}` covers the subjects of an interval; `{known device}` is whether sums include a row.
    `{total ledger.amount}` is the sum of the rows, and `{of_totals ledger.per_transaction}` the column's
    formula over such sums.
    """

    def expand(match: re.Match[str]) -> str:
        function, table, name, alias = match.groups()
        measure = measures.load_measure(table)
        column = measure.column(name)
        if column is not None and function in ("total", "of_totals"):
            return f"({(total_sql if function == 'total' else of_totals_sql)(measure, column)})"
        if column is None or "mean" not in available_statistics(column):
            raise CatalogError(f"{table}.{name} has no mean", expected="a column with a weight")
        return (
            f"({mean_sql(column, alias or '') if function == 'mean' else aggregate_subjects(column).value})"
        )

    sql = _TAKES_PART.sub(
        lambda match: f"({has_differences_sql(measures.load_measure(match[1]), match[2] or '')})", sql
    )
    return _PLACE.sub(expand, sql)


def _qualified(name: str, alias: str) -> str:
    return f"{alias}.{quote(name)}" if alias else quote(name)
