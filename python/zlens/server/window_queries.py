"""Queries over windows of long tables: the part that all windows share is computed once and kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import time_blocks
from zlens.catalog.aggregation import MeasureQuery
from zlens.catalog.time_blocks import BlockQuery, TimeWindow
from zlens.server.workspace import Workspace

#: Rows of a table from which parts of answers are kept; shorter tables are read as fast.
LONG_TABLE_ROWS = 100_000
#: Blocks that the time of a table is divided into.
BLOCKS = 48


class WindowQueries(Struct, frozen=True):
    """Queries of one measure over a window.

    read     the columns of the measure that they read
    groups   SQL conditions on the columns that queries group by
    """

    place: Workspace
    table: str
    read: Sequence[str]
    window: TimeWindow
    groups: Sequence[str]

    def sql(self, question: MeasureQuery) -> str:
        """SELECT of a question, whose own condition does not include the window."""
        if not self.place.is_long(self.table, self.read, LONG_TABLE_ROWS):
            return self.full_scan_sql(question)
        if question.merged:
            kept = self.place.materialized_query(question.over_intervals(), self.table, self.read)
            return self.full_scan_sql(question) if kept is None else self._of_intervals(question, kept)
        divisible, others = time_blocks.split_statistics(question)
        width = self._width()
        if question.bucket or divisible is None or not width or not self.window.contains_blocks(width):
            return self.full_scan_sql(question)
        blocked = BlockQuery(divisible, width)
        kept = self.place.materialized_query(blocked.block_sql(), self.table, self.read)
        if kept is None:
            return self.full_scan_sql(question)
        first = blocked.sql(self.window, kept, self.groups)
        return (
            first
            if others is None
            else time_blocks.join_results_sql(question, first, self.full_scan_sql(others))
        )

    def full_scan_sql(self, question: MeasureQuery) -> str:
        """The same SELECT over the rows of the measure alone."""
        return self._narrower(question).sql()

    def _narrower(self, question: MeasureQuery) -> MeasureQuery:
        conditions = [question.where, *self.groups, self.window.condition()]
        return replace(
            question,
            where=" AND ".join(condition for condition in conditions if condition != "true") or "true",
        )

    def _of_intervals(self, question: MeasureQuery, kept: str) -> str:
        where = " AND ".join([*self.groups, self.window.condition()])
        return question.grouped(question.statistics(), kept, where)

    def _width(self) -> float:
        """Seconds of a block: a multiple of the nominal interval; 0 if no interval is known."""
        infos = [info for info in self.place.session.systems if info.nominal_s and info.first_us is not None]
        if not infos:
            return 0.0
        nominal = min(info.nominal_s or 0.0 for info in infos)
        span = max((info.last_us or 0) - (info.first_us or 0) for info in infos) / 1e6
        return math.ceil(span / nominal / BLOCKS) * nominal
