"""Translates DuckDB's message about an invalid query to a QueryError."""

from __future__ import annotations

import difflib
import errno
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence

from zlens.catalog import measures
from zlens.engine.connection import spill_limits
from zlens.engine.memory_limits import memory_text
from zlens.errors import QueryError, truncate
from zlens.schema import temporary_folder
from zlens.schema.wording import phrase

_LAKE_FILE = re.compile(r'Cannot (?:access|open) file "[^"]*/system=[^"]*/day=[^"]*\.parquet')


_NO_MEMORY = re.compile(
    r"bad alloc|[Aa]llocation failure|[Oo]ut of [Mm]emory|[Ff]ailed to (?:allocate|pin|offload)"
    r"|could not allocate"
)


#: The engine's message when data on disk reach a limit, or the room of the disk if that is less.
_SPILLED = re.compile(r"failed to offload [^(]*\([^/]*/(?P<limit>[\d.]+ \w+) used\)")


def out_of_memory() -> QueryError:
    return QueryError(
        f"the query needs more than its {memory_text()} of memory",
        cure="select fewer rows and columns, or build shorter texts and lists",
    )


#: Messages about files that are not Parquet, and about corrupt Parquet pages.
_PARQUET = re.compile(r"""['"](/[^'"]*/system=[^'"]+\.parquet)['"]""")
_PAGES = re.compile(r"don't know what type|TProtocolException|ZSTD Decompression|Failed to decompress|Snappy")

#: Prefix of the error of a stream that the engine reads.
_STREAM = re.compile(
    r"^(?:exporting a|reading the) stream (?:from the object )?registered as '[^']*' failed: "
)

#: Messages about a column that no table, or no table with some alias, has.
_COLUMN = re.compile(
    r'Referenced column "(?P<column>.+?)" not found in FROM clause'
    r'|Table "(?P<table>.+?)" does not have a column named "(?P<other>.+?)"'
)
#: Number of columns that the error of a missing one lists, those with similar names first.
_LISTED = 12

_DEEP = re.compile(r"Max expression depth limit of (\d+) exceeded")


def column_of(error: Exception) -> str | None:
    """Return the column that an error of the engine says is missing."""
    column = _COLUMN.search(str(error))
    return column and (column["column"] or column["other"])


def missing_table(name: str, text: str = "") -> QueryError:
    """Return the error of a table that does not exist, with similar names."""
    near = difflib.get_close_matches(name.lower(), measures.measure_names(), 3)
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    return QueryError(
        text or f"Table with name {name} does not exist",
        cure=f"{suggestion}`SHOW TABLES` lists the tables, `DESCRIBE <table>` their columns",
    )


def missing_column(column: str, tables: Mapping[str, Sequence[str]]) -> QueryError:
    """Return the error of a column that none of these tables has; `tables` are their columns."""
    if not tables or any(column.lower() in columns for columns in tables.values()):
        # A subquery between the table and the name leaves the column out.
        return QueryError(f"column {column} not found in what the query selects from")
    parts = []
    for table, columns in tables.items():
        near = difflib.get_close_matches(column.lower(), columns, 3)
        own = [name for name in columns if name not in measures.LEADING_NAMES]
        listed = list(dict.fromkeys([*near, *own]))[:_LISTED]
        who = table if len(tables) > 1 else "it"
        parts.append(f"{who} has {', '.join(listed)}{', ...' if len(columns) > len(listed) else ''}")
    return QueryError(
        f"column {column} not found in {' or '.join(tables)}",
        cure=f"{'; '.join(parts)}; `DESCRIBE {next(iter(tables))}` lists all",
    )


def query_error(
    error: Exception,
    tables: Mapping[str, Sequence[str]] | None = None,
    aliases: Mapping[str, Collection[str]] | None = None,
) -> QueryError:
    """Return one sentence of the engine's message, without its sketch of the query and its suggestions.

    tables   columns of the tables that the query names
    aliases  the tables of each alias
    """
    text = truncate(str(error)).split("\n\nLINE ")[0].split("\nDid you mean")[0].replace("\n", " ").strip()
    text = _STREAM.sub("", re.sub(r"^[A-Za-z ]+ Error: ", "", text))
    text = re.sub(r"^[A-Za-z ]*Error: ", "", text).rstrip("!")
    spilled = _SPILLED.search(text)
    if spilled and spilled["limit"] not in spill_limits():
        return QueryError(temporary_folder.FULL_DISK, file=tempfile.gettempdir(), cure=temporary_folder.CURE)
    if isinstance(error, MemoryError) or _NO_MEMORY.search(text):
        return out_of_memory()
    cure = None
    column = _COLUMN.match(text)
    missing = re.match(r"Table with name (\S+) does not exist", text)
    if missing:
        return missing_table(missing[1], text)
    if column:
        known = tables or {}
        among = (aliases or {}).get(str(column["table"]).lower(), {*known})
        columns = {table: known[table] for table in sorted(among) if table in known}
        return missing_column(column["column"] or column["other"], columns)
    if os.strerror(errno.EMFILE) in text:
        cure = phrase("fewer_files")
    elif _LAKE_FILE.match(text):
        # The engine considers a missing file a pattern that it may not expand; its message would not help.
        text = "a file of the lake can no longer be read"
        cure = phrase("lake_gone")
    elif depth := _DEEP.match(text):
        # The engine suggests a setting that no query may change.
        return QueryError(
            "the query is nested too deeply",
            expected=f"at most {int(depth[1]):,} expressions within each other",
            cure="split long chains of AND, OR or +, or use IN and lists",
        )
    elif named := _PARQUET.search(text):
        cure = phrase("lake_check", lake="LAKE")
        return QueryError("this file of the lake is damaged", file=named[1], cure=cure)
    elif _PAGES.match(text):
        text = "a file of the lake is damaged"
        cure = phrase("lake_check", lake="LAKE")
    return QueryError(text or "the query failed", cure=cure)
