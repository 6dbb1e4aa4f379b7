"""Writes a lake's Parquet files. It runs only statements of zlens, never SQL of the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from zlens.catalog import expressions
from zlens.engine import connection as engine
from zlens.lake.parquet_streams import read_parquet_sql

#: Rows of a row group: an hour or two of a large table, so that parts of a day can be read separately.
ROW_GROUP = 61_440


class WrittenFile(NamedTuple):
    """A Parquet file: partition key, rows, bytes, range of a time column, and rows without a time."""

    path: str
    key: str
    rows: int
    bytes: int
    first_us: int | None
    last_us: int | None
    nulls: int


class ParquetEngine:
    """A private database. Its single thread preserves the order of rows and writes one file per partition."""

    def __init__(self, spill: str | os.PathLike[str]) -> None:
        self._connection = engine.connect_with_files(os.fspath(spill))
        self.rows("SET threads = 1")
        # Limits memory: a partition's rows are written when they fill half a row group.
        self.rows(f"SET partitioned_write_flush_threshold = {ROW_GROUP // 2}")

    def __enter__(self) -> ParquetEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def register(self, name: str, stream: object) -> None:
        """Register a stream as a table."""
        self._connection.register(name, stream)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return engine.run(self._connection, sql)

    def stream(self, sql: str) -> object:
        """Return the result of a query as an Arrow stream."""
        return self._connection.sql(sql)

    def write(self, sql: str, folder: str, key: str, time: str | None) -> list[WrittenFile]:
        """Write a result as Parquet into a new folder, one file for each value of the column `key`.

        `time` is the time column of the result, if it has one.
        """
        # No dictionary, because counters rarely repeat. Texts that are constant in a file are enumerations,
        # which always have one. Statistics of all columns would take as long as writing them.
        ((_, paths),) = self.rows(
            f"COPY ({sql}) TO {expressions.literal(folder)} (FORMAT parquet, COMPRESSION zstd, "
            f"DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE {ROW_GROUP}, PARTITION_BY ({key}), RETURN_FILES true)"
        )
        if not paths:
            return []
        times = "NULL, NULL, count(*)"
        if time is not None:
            column = expressions.quote(time)
            times = f"min(epoch_us({column})), max(epoch_us({column})), count(*) - count({column})"
        facts = self.rows(
            f"SELECT filename, count(*), {times} FROM {read_parquet_sql(paths, 'filename = true')} "
            "GROUP BY filename"
        )
        by_path = {path: values for path, *values in facts}
        return [_written(path, key, *by_path[path]) for path in paths]

    def copy(self, sql: str, path: str) -> None:
        """Write a result as one small Parquet file."""
        self.rows(f"COPY ({sql}) TO {expressions.literal(path)} (FORMAT parquet, COMPRESSION zstd)")


def _written(
    path: str, key: str, rows: int, first_us: int | None, last_us: int | None, nulls: int
) -> WrittenFile:
    # The folder name contains the key and its value.
    value = unquote(Path(path).parent.name).removeprefix(f"{key}=")
    return WrittenFile(path, value, rows, os.path.getsize(path), first_us, last_us, nulls)
