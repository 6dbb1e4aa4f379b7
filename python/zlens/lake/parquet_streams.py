"""Arrow streams of a lake's Parquet files, and the limit of open files."""

from __future__ import annotations

import resource
from contextlib import suppress

from msgspec import Struct

from zlens.catalog.expressions import literal
from zlens.inputs.source import ParquetTable
from zlens.readers.row_tables import RowStream


class ParquetStream(Struct):
    """Some columns of a table as an Arrow stream that can be read repeatedly."""

    table: ParquetTable
    columns: list[str]

    def __arrow_c_schema__(self) -> object:
        return RowStream(self.table.columns, lambda _: (), self.columns).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from zlens.engine import connection as engine

        return engine.stream(self.table.sql(self.columns), self.table.paths)


def read_parquet_sql(paths: list[str], *options: str, named: bool = False) -> str:
    """Return the FROM item of some Parquet files; with `named` their systems are those of their paths."""
    listed = ", ".join(map(literal, paths))
    partitions = "true, hive_types = {'system': VARCHAR, 'day': VARCHAR}" if named else "false"
    return f"read_parquet([{listed}], {', '.join((*options, f'hive_partitioning = {partitions}'))})"


#: Open files for a query of a lake; counting the files of the lake would be slow.
_MOST = 65_536


def raise_file_limit() -> None:
    """Raise the limit of open files if permitted, because the engine opens all files of a table."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MOST if resource.RLIM_INFINITY in (soft, hard) else min(_MOST, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
