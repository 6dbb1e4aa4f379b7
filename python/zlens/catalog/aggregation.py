"""Aggregation: from the kind and weight that the catalog states of a column to SQL over rows of its measure.

Text in, SQL text out. docs/aggregation.md has the rules and their reasons; in short:

over time        counters and times are added; ratios and gauges are sum(value * weight) / sum(weight)
over subjects    of one interval, as `across` says; the result is then taken over time
unknown          a sum with an unknown part is NULL; a mean is of the rows that have both value and weight
flagged          rows flagged short or gap are in no mean, percentile, minimum or maximum, but in totals
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens.catalog import expressions, metrics
from zlens.catalog.expressions import literal, quote
from zlens.catalog.metrics import Column, Table
from zlens.errors import CatalogError, QueryError

#: What can be asked of a column.
STATISTICS = ("mean", "total", "share", "min", "max", "p50", "p95", "first", "last", "mode", "count")
#: What each kind gives.
_GIVES: Mapping[str, tuple[str, ...]] = {
    "counter": ("mean", "total", "share", "min", "max", "p50", "p95", "first", "last", "count"),
    "time": ("mean", "total", "share", "min", "max", "p50", "p95", "first", "last", "count"),
    "ratio": ("mean", "min", "max", "p50", "p95", "first", "last", "count"),
    "gauge": ("mean", "min", "max", "p50", "p95", "first", "last", "count"),
    "state": ("first", "last", "mode", "count"),
    "key": ("first", "last", "mode", "count"),
}
#: Units of amounts: several subjects have together what each of them has.
_AMOUNTS = frozenset(
    {"/s", "bytes/s", "bytes", "count", "frames", "pages", "slots", "processors", "cores", "MSU/h"}
)
_LENGTH = "seconds"
#: What an interval of a system is called by, and what is told of it.
_INTERVAL = ("system", "source", "interval_end")
_HEADS = (*_INTERVAL, _LENGTH, "flag")
#: Kinds of which a subject's first sample knows nothing yet.
COUNTED = frozenset({"counter", "time", "ratio"})
_KNOWN = "#known"


def usual(column: Column) -> str:
    """What a column gives over time when nothing else is asked for: its total, its mean or its last value."""
    if column.aggregate in ("counter", "time"):
        return "total"
    return "mean" if column.aggregate in ("ratio", "gauge") else "last"


def gives(column: Column) -> tuple[str, ...]:
    """The statistics that a column has."""
    if column.type not in ("int", "float"):
        return _GIVES["state"]
    return _GIVES[column.aggregate]


def across(column: Column) -> str:
    """What several subjects of one interval give: one of metrics.ACROSS, or `by` and a formula."""
    if column.across:
        return column.across
    kind = column.aggregate
    if kind in ("counter", "time"):
        return "sum"
    if kind in ("ratio", "gauge"):
        if column.unit in _AMOUNTS and (column.weight or _LENGTH) == _LENGTH and not column.unweighted:
            return "sum"
        return "mean" if column.weight else "none"
    return "same" if kind == "state" else "none"


def kept(alias: str = "") -> str:
    """The rows that means and extremes are taken of: neither a stub nor a span with samples missing."""
    return f"{_named('flag', alias)} IS NULL"


def weight(column: Column, alias: str = "") -> str | None:
    """SQL of a column's weight over the columns of its row; None where it has none."""
    if column.aggregate == "ratio" and not column.weight:
        return None
    formula = column.weight or _LENGTH
    if "/" in formula:
        return expressions.compile_sql(formula, lambda name: _named(name, alias), "float")
    # Sums and products of columns are finite, as these are.
    return f"CAST({expressions.compile_sql(formula, lambda name: _named(name, alias))} AS DOUBLE)"


def columns(table: Table, column: Column, *, subjects: bool = False) -> list[str]:
    """The columns of a row that its mean is made of; with `subjects` also those of means over subjects."""
    formulas = [column.weight or _LENGTH]
    how = across(column)
    if subjects:
        formulas += [part for part in (how.partition("by ")[2], column.among) if part]
    found = [column.name, *(name for formula in formulas for name in expressions.names(formula))]
    return [name for name in dict.fromkeys(found) if table.column(name) is not None]


def _of(function: str, value: str, among: str = "true", more: str = "") -> str:
    """SQL of an aggregate over some of the rows: CASE costs DuckDB half of what FILTER does."""
    return f"{function}({value if among == 'true' else f'CASE WHEN {among} THEN {value} END'}{more})"


#: How an aggregate is written: function, value, the rows that take part, further arguments.
Of = Callable[..., str]


def mean(column: Column, alias: str = "", *, weighs: str | None = None, of: Of = _of) -> str:
    """SQL of a column's mean over the rows of one subject; NULL where it has no weight.

    The mean of a counter or a time is that of an interval.

    weighs   SQL of the weight, in place of the declared one
    of       how aggregates are written
    """
    weighs = weighs or weight(column, alias)
    if weighs is None or "mean" not in gives(column):
        return "NULL"
    value, held = _named(column.name, alias), kept(alias)
    if column.aggregate in ("counter", "time"):
        return of("avg", value, held)
    known = f"{held} AND {value} IS NOT NULL"
    return f"{of('sum', f'{value} * ({weighs})', held)} / nullif({of('sum', weighs, known)}, 0)"


def known(table: Table, alias: str = "") -> str:
    """The rows that take part in sums: a subject's first sample has no differences, and so no part yet.

    Such a row has none of its counters, times and rates.
    """
    return " OR ".join(f"{_named(name, alias)} IS NOT NULL" for name in counted(table)) or "true"


def counted(table: Table) -> list[str]:
    """The columns that tell whether a row has differences: counters, times and rates, else ratios."""
    numbers = [column for column in table.columns if column.name not in _HEADS]
    found = [
        number for number in numbers if number.aggregate in ("counter", "time") or number.weight == _LENGTH
    ]
    found = found or [column for column in numbers if column.aggregate == "ratio"]
    return [column.name for column in found]


def total(table: Table, column: Column, alias: str = "", *, among: str | None = None, of: Of = _of) -> str:
    """SQL of a column's sum over rows of one subject: NULL where a part of it is unknown.

    among   the rows that take part, in place of those that are known
    of      how aggregates are written
    """
    if "total" not in gives(column):
        return "NULL"
    value, among = _named(column.name, alias), among or known(table, alias)
    every = f"{of('count', value)} = {of('count', '1', among)}"
    return f"CASE WHEN {every} THEN {of('sum', value)} END"


def share(
    table: Table, column: Column, keys: Sequence[str] = (), *, among: str | None = None, of: Of = _of
) -> str:
    """SQL of a column's total in percent of that of all groups which have the same `keys`, SQL of each.

    A subject that has no part yet leaves the whole known, as it does a total.
    """
    if "share" not in gives(column):
        return "NULL"
    value, among = quote(column.name), among or known(table)
    over = "OVER (" + (f"PARTITION BY {', '.join(keys)}" if keys else "") + ")"
    every = f"sum({of('count', value)}) {over} = sum({of('count', '1', among)}) {over}"
    whole = f"nullif(CASE WHEN {every} THEN sum({of('sum', value)}) {over} END, 0)"
    return f"100 * {total(table, column, among=among, of=of)} / {whole}"


def statistic(table: Table, column: Column, what: str) -> str:
    """SQL of one of STATISTICS over the rows of one subject."""
    of_all = {"mean": lambda: mean(column), "total": lambda: total(table, column)}
    of_all["share"] = lambda: share(table, column)
    return of_all[what]() if what in of_all else _of_values(column, what)


def _of_values(column: Column, what: str, of: Of = _of) -> str:
    """SQL of a statistic of a column that asks for nothing beside its values and their times."""
    if what not in STATISTICS:
        raise CatalogError(f"there is no statistic {what!r}", expected=", ".join(STATISTICS))
    if what not in gives(column):
        return "NULL"
    value = quote(column.name)
    if what in ("first", "last"):
        return of("arg_min" if what == "first" else "arg_max", value, "true", ", interval_end")
    if what in ("min", "max", "mode", "count"):
        return of(what, value, kept())
    return of("quantile_cont", value, kept(), f", {int(what[1:]) / 100}")


@dataclass(frozen=True, slots=True)
class Part:
    """A column of one interval, over its subjects: the value, and what it weighs in a mean over time."""

    value: str
    weight: str


def together(column: Column, among: str = "true", *, average: bool = False) -> Part:
    """SQL of a column over several subjects of one interval, and of its weight over time.

    among     the rows that take part; of these, one that is unknown leaves a sum unknown
    average   of what is added, the mean of the subjects
    """
    how, value = across(column), quote(column.name)
    # What has no mean over time in its own rows has none here.
    length = "CAST(NULL AS DOUBLE)" if column.unweighted else f"max({quote(_LENGTH)})"
    if column.among:
        among = f"{among} AND coalesce({expressions.compile_sql(column.among, quote)}, false)"
    every = f"{_of('count', value, among)} = {_of('count', '1', among)}"
    if how == "sum":
        added = _of("avg" if average else "sum", value, among)
        weighs = f"max({weight(column)})" if column.weight else length
        return Part(f"CASE WHEN {every} THEN {added} END", weighs)
    if how in ("max", "min"):
        return Part(f"CASE WHEN {every} THEN {_of(how, value, among)} END", length)
    if how == "same":
        alike = f"count({value}) = count(*) AND min({value}) = max({value})"
        return Part(f"CASE WHEN {alike} THEN min({value}) END", length)
    if how == "none":
        return Part("NULL", length)
    if how == "mean":
        weighs = weight(column) or "NULL"
        over = _of("sum", weighs, f"{among} AND {value} IS NOT NULL")
    else:
        weighs = expressions.compile_sql(how.removeprefix("by "), quote, "float")
        over = length
    # What weighs nothing need not be known.
    part = f"{among} AND {weighs} > 0"
    known = (
        f"{_of('count', weighs, among)} = {_of('count', '1', among)} "
        f"AND {_of('count', value, part)} = {_of('count', '1', part)}"
    )
    mean = f"{_of('sum', f'{value} * ({weighs})', part)} / nullif({_of('sum', weighs, part)}, 0)"
    return Part(f"CASE WHEN {known} THEN {mean} END", over)


def merged(table: Table, by: Sequence[str], pinned: Sequence[str] = ()) -> bool:
    """Whether rows of several subjects come together when a measure is grouped by some of its columns.

    pinned   columns of which one value only is asked for
    QueryError where rows would come together that the measure keeps apart.
    """
    left = [key for key in table.key if key not in by and key not in pinned]
    mixed = [key for key in left if key in table.apart]
    if mixed:
        raise QueryError(
            f"rows of {table.name} of different {mixed[0]} are never put together",
            expected=f"{mixed[0]} among the columns to group by, or one value of it",
        )
    return bool(left)


def pinned(table: Table, where: Mapping[str, Any]) -> list[str]:
    """Columns of which a condition leaves one value, or parts of one whole."""

    def whole(name: str, value: Any) -> bool:
        several = isinstance(value, list) and len(value) != 1
        return not several or (bool(value) and set(value) <= set(table.parts.get(name, ())))

    return [name for name, value in where.items() if whole(name, value)]


def over_subjects(
    table: Table,
    wanted: Sequence[Column],
    rows: str,
    keys: Sequence[str],
    where: str = "true",
    fixed: Collection[str] = (),
) -> str:
    """SELECT of one row for each interval and value of `keys`: each column over the subjects.

    Its weight over time stands beside it, as `parted` names it. Columns that are `fixed` have one value in
    all rows and are left out.
    """
    heads = [key for key in dict.fromkeys([*_INTERVAL, *keys]) if key not in fixed]
    takes_part = known(table)
    shown = [
        *map(quote, heads),
        f"max({quote(_LENGTH)}) AS {quote(_LENGTH)}",
        # A stub or a gap of a single subject leaves the others what they are.
        "CASE WHEN count(flag) = count(*) THEN max(flag) END AS flag",
        f"bool_or({takes_part}) AS {quote(_KNOWN)}",
    ]
    for column in wanted:
        part = together(column, f"({takes_part})" if column.aggregate in COUNTED else "true")
        shown += [f"{part.value} AS {quote(column.name)}", f"{part.weight} AS {quote(parted(column))}"]
    return f"SELECT {', '.join(shown)} FROM {rows} WHERE {where} GROUP BY {', '.join(map(quote, heads))}"


def intervals(
    table: Table, wanted: Sequence[Column], rows: str, keys: Sequence[str], where: str, pinned: Sequence[str]
) -> str:
    """SELECT as that of `over_subjects`, also where a measure has one row for each interval and key."""
    if merged(table, keys, pinned):
        return over_subjects(table, wanted, rows, keys, where)
    shown = [quote(name) for name in (*_INTERVAL, *keys)]
    for column in wanted:
        shown += [quote(column.name), f"{weight(column) or 'NULL'} AS {quote(parted(column))}"]
    return f"SELECT {', '.join(shown)} FROM {rows} WHERE {where}"


def parted(column: Column) -> str:
    """The name of a column's weight beside it in `over_subjects`."""
    return f"{column.name}#weight"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a measure: columns with their statistics, by keys and time.

    rows     the table that has the measure's rows
    by       columns whose values get rows of their own, beside system and source
    pinned   columns of which `where` leaves one value
    where    SQL of what holds for the rows
    bucket   SQL of the time that a row belongs to; None: one row for the whole window
    fixed    keys that have one value in all rows: grouping by them takes as long as adding the rows
    """

    table: Table
    wanted: Sequence[tuple[Column, Sequence[str]]]
    rows: str
    by: Sequence[str] = ()
    pinned: Sequence[str] = ()
    where: str = "true"
    bucket: str | None = None
    fixed: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """The columns of the measure that the answer is made of, but for those of `where`."""
        names = [*_HEADS, *self.by, *self.pinned]
        for column, told in self.wanted:
            names += columns(self.table, column, subjects=True)
            if self.merged or {"total", "share"} & set(told):
                names += counted(self.table)
        return list(dict.fromkeys(names))

    def keys(self) -> list[str]:
        # What two sources tell of one time is never put together.
        return list(dict.fromkeys(["system", "source", *self.by]))

    @property
    def merged(self) -> bool:
        return merged(self.table, self.by, self.pinned)

    def names(self) -> list[str]:
        """The columns of the answer after those of `by` and the time."""
        return [named(column, what) for column, told in self.wanted for what in told]

    def sql(self) -> str:
        """SELECT of the keys, `t` where there are buckets, and each statistic under its name."""
        rows, where = self.source()
        return self.grouped(self.statistics(), rows, where)

    def over_intervals(self) -> str:
        """SELECT of one row for each interval and key, where rows of several subjects come together."""
        columns = [column for column, _ in self.wanted]
        return over_subjects(self.table, columns, self.rows, self.keys(), self.where, self.fixed)

    def source(self) -> tuple[str, str]:
        """The rows that statistics are of, and what holds for them."""
        if self.merged:
            return f"({self.over_intervals()})", "true"
        if any({"total", "share"} & set(told) for _, told in self.wanted):
            # Said once, however many sums ask which rows take part.
            read = [*map(quote, self.columns()), f"{known(self.table)} AS {quote(_KNOWN)}"]
            return f"(SELECT {', '.join(read)} FROM {self.rows} WHERE {self.where})", "true"
        return self.rows, self.where

    def statistics(self, of: Of = _of) -> list[str]:
        """SQL of each statistic with its name; `of` writes the aggregates."""
        among = quote(_KNOWN)
        whole = [quote(key) for key in _INTERVAL[:2] if key not in self.fixed]
        whole += [self.bucket] if self.bucket else []
        shown = []
        for column, told in self.wanted:
            for what in told:
                if what == "mean":
                    sql = mean(column, weighs=quote(parted(column)) if self.merged else None, of=of)
                elif what == "total":
                    sql = total(self.table, column, among=among, of=of)
                elif what == "share":
                    sql = share(self.table, column, whole, among=among, of=of)
                else:
                    sql = _of_values(column, what, of)
                shown.append(f"{sql} AS {quote(named(column, what))}")
        return shown

    def grouped(self, shown: Sequence[str], rows: str, where: str, *more: str) -> str:
        """SELECT of aggregates of rows, beside the keys, the time where there are buckets, and `more`."""
        keys = self.keys()
        heads = [
            f"{literal(self.fixed[key])} AS {quote(key)}" if key in self.fixed else quote(key) for key in keys
        ]
        groups = [str(place) for place, key in enumerate(keys, 1) if key not in self.fixed]
        for one in [*([f"{self.bucket} AS t"] if self.bucket else []), *more]:
            heads.append(one)
            groups.append(str(len(heads)))
        # Without groups there would be a row also where there is nothing to add.
        last = f"GROUP BY {', '.join(groups)}" if groups else "HAVING count(*) > 0"
        return f"SELECT {', '.join([*heads, *shown])}\nFROM {rows}\nWHERE {where}\n{last}"


def named(column: Column, what: str) -> str:
    """The name of a statistic of a column in an answer."""
    return f"{column.name}_{what}"


_PLACE = re.compile(r"\{(mean|across) (\w+)\.(\w+)(?: of (\w+))?\}")


def expanded(sql: str) -> str:
    """SQL of a report with what it names of columns written out.

    `{mean device.resp_s}` is the mean over time, `{mean device.resp_s of d}` that of the rows of `d`;
    `{across device.rate}` is of the subjects of an interval.
    """

    def put(match: re.Match[str]) -> str:
        what, table, name, alias = match.groups()
        column = metrics.table(table).column(name)
        if column is None or "mean" not in gives(column):
            raise CatalogError(f"{table}.{name} has no mean", expected="a column with a weight")
        return f"({mean(column, alias or '') if what == 'mean' else together(column).value})"

    return _PLACE.sub(put, sql)


def _named(name: str, alias: str) -> str:
    return f"{alias}.{quote(name)}" if alias else quote(name)
