"""Statistics of a window from blocks of time: the sums and extremes of each block are computed once.

A window then consists of the blocks inside it and the rows at its two ends. Percentiles and the most
frequent value need every row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.aggregation import statistic_name
from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery

#: Aggregates that combine the aggregates of parts.
_TOGETHER = {
    "sum": "sum",
    "count": "sum",
    "min": "min",
    "max": "max",
    "arg_min": "arg_min",
    "arg_max": "arg_max",
}
#: Statistics that need every row.
_OF_ALL_ROWS = frozenset({"p50", "p95", "mode"})


class AggregateParts:
    """Writes aggregates over parts, and collects the parts that they need."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __call__(self, function: str, value: str, among: str = "true", more: str = "") -> str:
        if function == "avg":
            return f"{self('sum', value, among)} / nullif({self('count', value, among)}, 0)"
        value = value if among == "true" else f"CASE WHEN {among} THEN {value} END"
        part = self._name(f"{function}({value}{more})")
        if function in ("arg_min", "arg_max"):
            order = more.removeprefix(", ")
            time = self._name(
                f"{function.removeprefix('arg_')}(CASE WHEN {value} IS NOT NULL THEN {order} END)"
            )
            return f"{function}({part}, {time})"
        total = f"{_TOGETHER[function]}({part})"
        # A sum of integers has a wider type than they do.
        return f"CAST({total} AS BIGINT)" if function == "count" else total

    def _name(self, part: str) -> str:
        return self._names.setdefault(part, quote(f"part{len(self._names)}"))

    def select_list(self) -> list[str]:
        """Return SQL of all parts, each with its name."""
        return [f"{part} AS {name}" for part, name in self._names.items()]


class TimeWindow(Struct, frozen=True):
    """Times after `start` up to `end`, in seconds since 1970; None: unbounded."""

    start: float | None = None
    end: float | None = None

    def condition(self) -> str:
        """Return SQL of the condition on its rows."""
        limits = ((">", self.start), ("<=", self.end))
        return " AND ".join(_end_sql(sign, at) for sign, at in limits if at is not None) or "true"

    def blocks(self, width: float) -> tuple[str, str]:
        """Return SQL of the blocks entirely inside it, and of its rows outside of them."""
        blocks, rows = [], []
        if self.start is not None:
            first = math.floor(self.start / width) + 1
            blocks.append(f"block >= {first}")
            rows.append(f"{_end_sql('>', self.start)} AND {_end_sql('<', first * width)}")
        if self.end is not None:
            last = math.floor(self.end / width)
            blocks.append(f"block < {last}")
            rows.append(f"{_end_sql('<=', self.end)} AND NOT {_end_sql('<', last * width)}")
        return " AND ".join(blocks) or "true", " OR ".join(f"({row})" for row in rows) or "false"

    def contains_blocks(self, width: float) -> bool:
        """Return whether it contains blocks."""
        if self.start is None or self.end is None:
            return True
        return math.floor(self.start / width) + 1 < math.floor(self.end / width)


def _end_sql(sign: str, seconds: float) -> str:
    return f"interval_end {sign} make_timestamptz({round(seconds * 1e6)})"


def split_statistics(query: MeasureQuery) -> tuple[MeasureQuery | None, MeasureQuery | None]:
    """Return the statistics that blocks can provide, and those that need every row."""

    def with_statistics(names: Sequence[str]) -> MeasureQuery | None:
        selected = [
            (column, [statistic for statistic in statistics if statistic in names])
            for column, statistics in query.wanted
        ]
        selected = [(column, statistics) for column, statistics in selected if statistics]
        return replace(query, wanted=selected) if selected else None

    requested = {statistic for _, requested in query.wanted for statistic in requested}
    return with_statistics([*(requested - _OF_ALL_ROWS)]), with_statistics([*(requested & _OF_ALL_ROWS)])


class BlockQuery(Struct, frozen=True):
    """A query in blocks of `width` seconds, without buckets, whose rows are not merged."""

    question: MeasureQuery
    width: float

    def block_sql(self) -> str:
        """Return a SELECT of the parts of each block: the same for all windows."""
        parts, _ = self._parts()
        block = f"CAST(floor(epoch_us(interval_end) / {round(self.width * 1e6)}) AS BIGINT) AS block"
        grouped = self.question.grouped(parts.select_list(), *self.question.source(), block)
        # By time, so that a window decompresses only its own blocks.
        return f"{grouped}\nORDER BY block"

    def sql(self, window: TimeWindow, parts_table: str, groups: Sequence[str] = ()) -> str:
        """Return a SELECT of the result for a window.

        parts_table   the table of parts
        groups        SQL of conditions on the columns that the query groups by
        """
        parts, items = self._parts()
        blocks, rows = (" AND ".join([*groups, f"({block})"]) for block in window.blocks(self.width))
        ends = replace(self.question, where=f"{self.question.where} AND {rows}")
        keys = ", ".join(map(quote, self.question.keys()))
        names = ", ".join(quote(f"part{index}") for index in range(len(parts.select_list())))
        inside = f"SELECT {keys}, {names} FROM {parts_table} WHERE {blocks}"
        union = f"({inside}\nUNION ALL\n{ends.grouped(parts.select_list(), *ends.source())})"
        return self.question.grouped(items, union, "true")

    def _parts(self) -> tuple[AggregateParts, list[str]]:
        parts = AggregateParts()
        return parts, self.question.statistics(parts)


def join_results_sql(query: MeasureQuery, first: str, second: str) -> str:
    """Return a SELECT of a query's statistics from two results, each with some of them."""
    keys = list(map(quote, query.keys()))
    same = " AND ".join(f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in keys)
    blockwise, _ = split_statistics(query)
    from_blocks = {
        statistic_name(column, statistic)
        for column, statistics in (blockwise.wanted if blockwise else ())
        for statistic in statistics
    }
    items = [f"a.{key}" for key in keys]
    items += [f"{'a' if name in from_blocks else 'b'}.{quote(name)}" for name in query.names()]
    return f"SELECT {', '.join(items)} FROM (\n{first}\n) AS a JOIN (\n{second}\n) AS b ON {same}"
