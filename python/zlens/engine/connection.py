"""DuckDB connections and the work done on them. The only module that imports DuckDB."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import duckdb

from zlens.catalog import expressions
from zlens.engine.cancellation import interruptible
from zlens.inputs.source import ArrowSource

Connection = duckdb.DuckDBPyConnection
Relation = duckdb.DuckDBPyRelation
Error = duckdb.Error
FileError = duckdb.IOException
RELEASE = duckdb.__version__

#: The engine's memory limit in bytes; the rest spills to a private folder, which is limited too.
_MEMORY = 4 * 1024**3
_SPILL = 16 * 1024**3
#: Shares of these limits: of a store, and of the database that users' queries of a lake run in.
SHARES = (1.0, 0.5)
#: The least size of a database file's blocks in bytes.
_SMALL_BLOCK = 16_384
_memory = _MEMORY
#: A database in memory that compresses its tables, next to that of a large input.
COMPRESSED = "compressed"
#: Optimizers that pay off for many rows only. With few rows they take longer than they save, and there are
#: hundreds of statements.
_FOR_MANY_ROWS = (
    "aggregate_function_rewriter",
    "build_side_probe_side",
    "column_lifetime",
    "common_aggregate",
    "common_subplan",
    "compressed_materialization",
    "distinct_aggregate_rewrite",
    "duplicate_groups",
    "grouping_sets",
    "join_elimination",
    "join_filter_pushdown",
    "join_order",
    "late_materialization",
    "partial_aggregate_pushdown",
    "partitioned_execution",
    "projection_placement",
    "projection_pullup",
    "redundant_order_keys",
    "remote_pushdown",
    "reorder_filter",
    "row_group_pruner",
    "sampling_pushdown",
    "scalar_fn_pushdown",
    "statistics_propagation",
    "top_n",
    "top_n_window_elimination",
    "type_pushdown",
    "window_rewriter",
    "window_self_join",
)


def limit_table_memory(size: int) -> None:
    """Limit the memory of databases opened after this call."""
    global _memory
    _memory = min(size, _MEMORY)


def table_limit() -> str:
    """Return the engine's memory limit, as errors name it."""
    return f"{_memory / 1024**3:.3g} GB"


def spill_limits() -> set[str]:
    """Return the engine's limits of data on disk, as its errors name them; the disk may have less room."""
    return {f"{_SPILL * share / 1024**3:.1f} GiB" for share in SHARES}


def connect(
    spill: str | None,
    files: Sequence[str] = (),
    *,
    folders: Sequence[str] = (),
    threads: int | None = None,
    share: float = 1,
) -> Connection:
    """Open a separate database, which reads no files except these and those in the folders.

    By default it uses all processors. `share` is its part of the limits of memory and disk. Lakes pass
    folders, because setting a hundred thousand names of files takes a second.
    """
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        # Tables are looked up by name here, never among variables of the surrounding Python.
        "python_enable_replacements": "false",
        "memory_limit": f"{int(_memory * share)}B",
    }
    if spill is not None:
        config["temp_directory"] = spill
        config["max_temp_directory_size"] = f"{int(_SPILL * share)}B"
    if threads is not None:
        config["threads"] = threads
    connection = duckdb.connect(config=config)
    # Globally, because every query has a connection of its own to the same tables.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    # Results that cannot be computed are NULL, not errors.
    connection.execute("SET GLOBAL error_on_division_by_zero = false")
    # The engine estimates few rows in a selected time range, and a loop over all pairs takes quadratic time.
    connection.execute("SET GLOBAL asof_loop_join_threshold = 0")
    for setting_name, allowed in (("allowed_paths", files), ("allowed_directories", folders)):
        if allowed:
            # Through a variable, because parsing a long list is slow.
            connection.execute("SET VARIABLE allowed = ?", [list(allowed)])
            connection.execute(f"SET {setting_name} = getvariable('allowed')")
            connection.execute("RESET VARIABLE allowed")
    # From here on no statement can read or write other files, or change that.
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")
    return connection


def open_database(
    spill: str,
    *,
    folders: Sequence[str] = (),
    small: bool = False,
    compressed: bool = False,
    share: float = 1,
) -> Connection:
    """Open a database for queries, whose settings no statement changes.

    small        whether its tables are short
    compressed   whether to open the database COMPRESSED next to it
    """
    connection = connect(spill, folders=folders, threads=1 if small else None, share=share)
    if compressed:
        connection.execute(f"ATTACH ':memory:' AS {COMPRESSED} (COMPRESS)")
    if small:
        connection.execute(f"SET GLOBAL disabled_optimizers = '{','.join(_FOR_MANY_ROWS)}'")
    connection.execute("SET lock_configuration = true")
    return connection


def compress(connection: Connection, database: str) -> None:
    """Compress what was written to a database; with the next rows if it is being read."""
    with suppress(duckdb.TransactionException):
        connection.execute(f"CHECKPOINT {database}")


def attach(connection: Connection, path: str, database: str) -> None:
    """Open a file of an allowed folder as another database, to read it."""
    connection.execute(f"ATTACH {expressions.literal(path)} AS {database} (READ_ONLY)")


def create_database(connection: Connection, path: str, database: str, *, short: bool = False) -> None:
    """Create a file of an allowed folder and open it as another database; `short`: of few rows."""
    # By default the smallest file has two blocks of 256 KiB.
    options = f" (BLOCK_SIZE {_SMALL_BLOCK})" if short else ""
    connection.execute(f"ATTACH {expressions.literal(path)} AS {database}{options}")


def detach(connection: Connection, database: str) -> None:
    """Write what remains to the file of a database and close it."""
    connection.execute(f"DETACH {database}")


def stream(sql: str, files: Sequence[str]) -> object:
    """Return the Arrow stream of one of zlens' own statements over some Parquet files."""
    return connect(None, files).sql(sql).__arrow_c_stream__()


def connect_with_files(spill: str) -> Connection:
    """Open a connection that reads and writes files; only for zlens' own statements, through `run`."""
    connection = duckdb.connect(config={"memory_limit": f"{_memory}B", "temp_directory": spill})
    for setting in ("autoload_known_extensions = false", "TimeZone = 'UTC'", "enable_progress_bar = false"):
        connection.execute(f"SET {setting}")
    return connection


def run(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement. System errors of the engine are raised as Python's."""
    try:
        return interruptible(connection, lambda: connection.execute(sql).fetchall())
    except duckdb.IOException as error:
        text = str(error).replace("\n", " ")
        full = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        code = next((code for code in full if os.strerror(code) in text), errno.EIO)
        raise OSError(code, os.strerror(code) if code in full else text) from None
    except duckdb.OutOfMemoryException as error:
        raise MemoryError(str(error)) from None


def write_parquet(answer: ArrowSource, path: str) -> None:
    """Write a result as a Parquet file (zstd), through a file next to it that is renamed at the end.

    It is a stream, because another database does not accept a relation of this one.
    """
    staging = f"{path}.part-{os.getpid()}"
    writer = duckdb.connect(config={"autoload_known_extensions": "false"})
    try:
        writer.register("answer", answer)
        copy = f"COPY answer TO {expressions.literal(staging)} (FORMAT parquet, COMPRESSION zstd)"
        interruptible(writer, lambda: writer.execute(copy))
        os.replace(staging, path)
    finally:
        writer.close()
        if os.path.exists(staging):
            os.unlink(staging)


def statement_kinds(connection: Connection, query: str) -> list[str]:
    """Return the kind of each statement in a text: SELECT, EXPLAIN, COPY and so on."""
    return [statement.type.name for statement in connection.extract_statements(query)]


def words(query: str) -> list[tuple[int, str]]:
    """Return the tokens of a text in lower case with their positions, without comments."""
    tokens = [(start, kind) for start, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
    ends = [*(start for start, _ in tokens[1:]), len(query)]
    return [(start, query[start:end].strip().lower()) for (start, _), end in zip(tokens, ends, strict=True)]
