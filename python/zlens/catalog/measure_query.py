"""Queries on a measure: its columns with their statistics, by keys and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from zlens.catalog import aggregation, measures
from zlens.catalog.aggregation import KNOWN, Of
from zlens.catalog.expressions import literal, quote
from zlens.catalog.measures import Measure, MeasureColumn


class MeasureQuery(Struct, frozen=True):
    """Query on a measure: columns with their statistics, by keys and time.

    rows     the table with the measure's rows
    by       columns to group by, in addition to system and source
    pinned   columns that `where` limits to one value
    where    SQL of the condition on the rows
    bucket   SQL of the time bucket of a row; None: one row for the entire window
    fixed    keys with one value in all rows: grouping by them would cost as much as adding the rows
    known    whether the rows have the column KNOWN
    """

    table: Measure
    wanted: Sequence[tuple[MeasureColumn, Sequence[str]]]
    rows: str
    by: Sequence[str] = ()
    pinned: Sequence[str] = ()
    where: str = "true"
    bucket: str | None = None
    fixed: Mapping[str, str] = field(default_factory=dict)
    known: bool = False

    def columns(self) -> list[str]:
        """Return the columns of the measure that the result needs, except those of `where`."""
        names = self._row_columns()
        if self.merged or self._has_totals():
            names += self.difference_columns()
        return list(dict.fromkeys(names))

    def _row_columns(self) -> list[str]:
        """Return the columns that the keys and statistics mention."""
        names = [*measures.LEADING_NAMES, *self.by, *self.pinned]
        for column, _ in self.wanted:
            names += aggregation.mean_inputs(self.table, column, subjects=True)
        return list(dict.fromkeys(names))

    def _has_totals(self) -> bool:
        return any(aggregation.TOTALS & set(statistics) for _, statistics in self.wanted)

    def difference_columns(self) -> list[str]:
        """Return the columns that show whether sums include a row."""
        return [KNOWN] if self.known else aggregation.difference_columns(self.table)

    def keys(self) -> list[str]:
        # Rows of two sources at the same time are never merged.
        return list(dict.fromkeys(["system", "source", *self.by]))

    @property
    def merged(self) -> bool:
        return aggregation.merges_subjects(self.table, self.by, self.pinned)

    def names(self) -> list[str]:
        """Return the columns of the result after the keys and the time."""
        return [
            aggregation.statistic_name(column, statistic)
            for column, statistics in self.wanted
            for statistic in statistics
        ]

    def sql(self) -> str:
        """Return a SELECT of the keys, `t` if there are buckets, and each statistic under its name."""
        rows, where = self.source()
        return self.grouped(self.statistics(), rows, where)

    def wholes(self) -> dict[str, MeasureQuery]:
        """Return the query of the whole of each share and rate by its name: one row of a system, or one per
        bucket.
        """
        return {
            aggregation.statistic_name(column, statistic): MeasureQuery(
                table, [(whole, ["total"])], quote(table.name), bucket=self.bucket, fixed=self.fixed
            )
            for column, statistic in self._quotients()
            for table, whole in [aggregation.whole_of(column, statistic)]
        }

    def _quotients(self) -> list[tuple[MeasureColumn, str]]:
        return [
            (column, statistic)
            for column, statistics in self.wanted
            for statistic in statistics
            if statistic in aggregation.QUOTIENTS
        ]

    def shares_sql(self, rows: str, wholes: Mapping[str, str]) -> str:
        """Return SQL of the result from its rows and the rows of each of `wholes`."""
        if not wholes:
            return rows
        time = ["t"] if self.bucket else []
        shares = {}
        # Each whole is joined once, however many columns it divides.
        joins: dict[str, str] = {}
        factors = [aggregation.QUOTIENTS[statistic] for _, statistic in self._quotients()]
        for factor, (share, query) in zip(factors, self.wholes().items(), strict=True):
            alias = f"whole{list(wholes.values()).index(wholes[share])}"
            whole = f"{alias}.{quote(query.names()[0])}"
            shares[share] = f"{factor} * rows.{quote(share)} / nullif({whole}, 0) AS {quote(share)}"
            keys = ", ".join([*query.keys(), *time])
            joins[alias] = f"LEFT JOIN (\n{wholes[share]}\n) AS {alias} USING ({keys})"
        names = [*self.keys(), *time, *self.names()]
        # Names instead of *, because the columns read must be known without a query plan.
        items = [shares.get(name, f"rows.{quote(name)}") for name in names]
        return f"SELECT {', '.join(items)}\nFROM (\n{rows}\n) AS rows\n" + "\n".join(joins.values())

    def over_intervals(self) -> str:
        """Return a SELECT of one row for each interval and key, for merged rows of several subjects."""
        columns = [column for column, _ in self.wanted]
        included = quote(KNOWN) if self.known else None
        return aggregation.subject_rows_sql(
            self.table, columns, self.rows, self.keys(), self.where, self.fixed, included
        )

    def source(self) -> tuple[str, str]:
        """Return the rows that the statistics cover, and the condition on them."""
        if self.merged:
            return f"({self.over_intervals()})", "true"
        if not self.known and self._has_totals():
            # Computed once, however many sums need to know which rows they include.
            items = [
                *map(quote, self._row_columns()),
                f"{aggregation.has_differences_sql(self.table)} AS {quote(KNOWN)}",
            ]
            return f"(SELECT {', '.join(items)} FROM {self.rows} WHERE {self.where})", "true"
        return self.rows, self.where

    def statistics(self, of: Of = aggregation.conditional_aggregate) -> list[str]:
        """Return SQL of each statistic with its name; `of` writes the aggregates."""
        among = quote(KNOWN)
        items = []
        for column, names in self.wanted:
            for statistic in names:
                if statistic == "mean":
                    sql = aggregation.mean_sql(
                        column,
                        weighs=quote(aggregation.weight_column(column)) if self.merged else None,
                        of=of,
                    )
                elif statistic in aggregation.TOTALS:
                    # `shares_sql` divides shares and rates by their wholes.
                    sql = aggregation.total_sql(self.table, column, among=among, of=of)
                else:
                    sql = aggregation.value_statistic_sql(column, statistic, of)
                items.append(f"{sql} AS {quote(aggregation.statistic_name(column, statistic))}")
        return items

    def grouped(self, items: Sequence[str], rows: str, where: str, *more: str) -> str:
        """Return a SELECT of aggregates over rows, with the keys, the time of buckets, and `more`."""
        keys = self.keys()
        key_items = [
            f"{literal(self.fixed[key])} AS {quote(key)}" if key in self.fixed else quote(key) for key in keys
        ]
        groups = [str(position) for position, key in enumerate(keys, 1) if key not in self.fixed]
        for expression in [*([f"{self.bucket} AS t"] if self.bucket else []), *more]:
            key_items.append(expression)
            groups.append(str(len(key_items)))
        # Without groups, an aggregate would return a row even if there are no rows to add.
        tail = f"GROUP BY {', '.join(groups)}" if groups else "HAVING count(*) > 0"
        return f"SELECT {', '.join([*key_items, *items])}\nFROM {rows}\nWHERE {where}\n{tail}"
