"""Queries over windows of long tables, from blocks that all windows share and that are cached."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import time_blocks
from zlens.catalog.expressions import quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.catalog.time_blocks import BlockQuery, TimeWindow
from zlens.server.workspace import Workspace

#: Rows of a window from which it is read in cached blocks; fewer are read as fast without them.
LONG_WINDOW_ROWS = 100_000
#: Number of blocks that divide the time range of a table.
BLOCKS = 48


class WindowQueries(Struct, frozen=True):
    """Queries of one measure over a window.

    read     columns of the measure that the queries read
    groups   SQL conditions on the columns that the queries group by
    """

    place: Workspace
    table: str
    read: Sequence[str]
    window: TimeWindow
    groups: Sequence[str]

    def sql(self, query: MeasureQuery) -> str:
        """Return the SELECT of a query whose own condition does not include the window."""
        if self._rows() < LONG_WINDOW_ROWS:
            return self._narrower(query).sql()
        if query.merged:
            cached_table = self.place.materialized_query(query.over_intervals(), self.table, self.read)
            return (
                self._narrower(query).sql()
                if cached_table is None
                else self._of_intervals(query, cached_table)
            )
        if query.bucket:
            return self._narrower(query).sql()
        divisible, others = time_blocks.split_statistics(query)
        if divisible is None:
            return self._of_all_rows(query)
        width = self._width()
        if not width or not self.window.contains_blocks(width):
            return self._narrower(query).sql()
        blocked = BlockQuery(divisible, width)
        cached_table = self.place.materialized_query(blocked.block_sql(), self.table, self.read)
        if cached_table is None:
            return self._narrower(query).sql()
        blocked_sql = blocked.sql(self.window, cached_table, self.groups)
        return (
            blocked_sql
            if others is None
            else time_blocks.join_results_sql(query, blocked_sql, self._of_all_rows(others))
        )

    def full_scan_sql(self, query: MeasureQuery) -> str:
        """Return the same SELECT over the rows of the measure only, as a user may run it."""
        return replace(self._narrower(query), known=False).sql()

    def _narrower(self, query: MeasureQuery) -> MeasureQuery:
        conditions = [query.where, *self.groups, self.window.condition()]
        return replace(
            query, where=" AND ".join(condition for condition in conditions if condition != "true") or "true"
        )

    def _of_all_rows(self, query: MeasureQuery) -> str:
        """Return the SELECT of statistics that need every row; those of the complete time are cached."""
        complete = self.window == TimeWindow()
        cached_table = self.place.materialized_query(query.sql(), self.table, self.read) if complete else None
        if cached_table is None:
            return self._narrower(query).sql()
        columns = ", ".join(map(quote, [*query.keys(), *query.names()]))
        return f"SELECT {columns} FROM {cached_table} WHERE {' AND '.join(self.groups) or 'true'}"

    def _of_intervals(self, query: MeasureQuery, cached_table: str) -> str:
        where = " AND ".join([*self.groups, self.window.condition()])
        return query.grouped(query.statistics(), cached_table, where)

    def _rows(self) -> float:
        """Return about how many rows of the measure the window has."""
        rows, (span, _) = self.place.row_count(self.table, self.read), self._span()
        if not span or self.window.start is None or self.window.end is None:
            return rows
        return rows * min(1.0, (self.window.end - self.window.start) / span)

    def _width(self) -> float:
        """Return seconds of a block, a multiple of the nominal interval; 0 if no interval is known."""
        span, nominal = self._span()
        return math.ceil(span / nominal / BLOCKS) * nominal if nominal else 0.0

    def _span(self) -> tuple[float, float]:
        """Return seconds of the longest recording and of the shortest interval; 0 if no interval is known."""
        infos = [info for info in self.place.session.systems if info.nominal_s and info.first_us is not None]
        if not infos:
            return 0.0, 0.0
        span = max((info.last_us or 0) - (info.first_us or 0) for info in infos) / 1e6
        return span, min(info.nominal_s or 0.0 for info in infos)
