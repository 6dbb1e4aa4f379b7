"""Translates DuckDB's message about an invalid query to a QueryError."""

from __future__ import annotations

import difflib
import errno
import os
import re

from zlens.catalog import measures
from zlens.engine.memory_limits import memory_text
from zlens.errors import QueryError
from zlens.schema.wording import phrase

_LAKE_FILE = re.compile(r'Cannot (?:access|open) file "[^"]*/system=[^"]*/day=[^"]*\.parquet')


_NO_MEMORY = re.compile(
    r"bad alloc|[Aa]llocation failure|[Oo]ut of [Mm]emory|[Ff]ailed to (?:allocate|pin|offload)"
    r"|could not allocate"
)


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

_DEEP = re.compile(r"Max expression depth limit of (\d+) exceeded")


def missing_table(name: str, text: str = "") -> QueryError:
    """Return the error of a table that does not exist, with similar names."""
    near = difflib.get_close_matches(name.lower(), measures.measure_names(), 3)
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    return QueryError(
        text or f"Table with name {name} does not exist",
        cure=f"{suggestion}`SHOW TABLES` lists the tables, `DESCRIBE <table>` their columns",
    )


def query_error(error: Exception) -> QueryError:
    """Return one sentence of the engine's message, without its sketch of the query and its suggestions."""
    text = str(error).split("\n\nLINE ")[0].split("\nDid you mean")[0].replace("\n", " ").strip()
    text = _STREAM.sub("", re.sub(r"^[A-Za-z ]+ Error: ", "", text))
    text = re.sub(r"^[A-Za-z ]*Error: ", "", text).rstrip("!")
    if isinstance(error, MemoryError) or _NO_MEMORY.search(text):
        return out_of_memory()
    cure = None
    column = re.match(r'Referenced column "([^"]+)" not found in FROM clause', text)
    missing = re.match(r"Table with name (\S+) does not exist", text)
    if missing:
        return missing_table(missing[1], text)
    if column:
        # The engine knows the materialized columns; the catalog knows all.
        text = column[0]
        column_names = {column.name for _, column in measures.all_columns()}
        near = difflib.get_close_matches(column[1].lower(), column_names, 3)
        suggestion = f"did you mean {' or '.join(near)}? " if near else ""
        cure = f"{suggestion}`DESCRIBE <table>` lists the columns of a table"
    elif os.strerror(errno.EMFILE) in text:
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
