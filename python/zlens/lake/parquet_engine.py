"""Writes a lake's Parquet files, with zlens' own statements: no user's SQL comes here."""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

from zlens.catalog import expressions
from zlens.engine import connection as engine

#: Rows of a row group: an hour or two of a large table, so that a part of a day can be read alone.
ROW_GROUP = 61_440

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Written(NamedTuple):
    """A Parquet file: its partition key, rows, bytes, and the range and NULLs of a time column."""

    path: str
    key: str
    rows: int
    bytes: int
    first_us: int | None
    last_us: int | None
    nulls: int


class ParquetEngine:
    """A private database. Its single thread keeps the order of rows, and a partition in one file."""

    def __init__(self, spill: str) -> None:
        self._connection = engine.workbench(spill)
        self.rows("SET threads = 1")
        # A partition's rows leave memory when they fill half a row group.
        self.rows(f"SET partitioned_write_flush_threshold = {ROW_GROUP // 2}")

    def close(self) -> None:
        self._connection.close()

    def bring(self, name: str, stream: object) -> None:
        """Register a stream under a name."""
        self._connection.register(name, stream)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return engine.run(self._connection, sql)

    def stream(self, sql: str) -> object:
        """An answer as an Arrow stream."""
        return self._connection.sql(sql)

    def write(self, sql: str, folder: str, key: str, time: str) -> list[Written]:
        """Write an answer as Parquet into a new folder, one file for each value of the column `key`."""
        # No dictionary: counters hardly repeat. Texts that are the same in a whole file are enumerations,
        # and these have one anyway.
        rows = self.rows(
            f"COPY ({sql}) TO {expressions.literal(folder)} (FORMAT parquet, COMPRESSION zstd, "
            f"DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE {ROW_GROUP}, PARTITION_BY ({key}), RETURN_STATS true)"
        )
        return [_written(row, key, expressions.quote(time)) for row in rows]

    def copy(self, sql: str, path: str) -> None:
        """Write an answer as one small Parquet file."""
        self.rows(f"COPY ({sql}) TO {expressions.literal(path)} (FORMAT parquet, COMPRESSION zstd)")


def _written(row: tuple[Any, ...], key: str, time: str) -> Written:
    path, count, size, _, statistics, keys, *_ = row
    facts = statistics.get(time, {})
    ends = [
        None if end is None else (dt.datetime.fromisoformat(end) - _EPOCH) // dt.timedelta(microseconds=1)
        for end in (facts.get("min"), facts.get("max"))
    ]
    return Written(path, keys[key], int(count), int(size), ends[0], ends[1], int(facts.get("null_count", 0)))
