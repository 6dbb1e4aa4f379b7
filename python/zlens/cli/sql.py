"""Run a SQL query (DuckDB dialect) over the measures and raw tables of the input. `zlens explain TABLE`
describes the columns of a measure; "show tables" lists all tables.

Examples:
  zlens sql monwrite.data -q "select interval_end, busy_pct from load order by busy_pct desc limit 5"
  zlens sql rmf.xml -q "from partition where cpu_type = 'IFL'" --format csv
  zlens sql monwrite.data -q @query.sql --format parquet -o result.parquet
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, TextIO

from zlens.cli import inputs, output
from zlens.cli.streams import print_message
from zlens.errors import QueryError
from zlens.schema.plain_text import format_count

if TYPE_CHECKING:
    from zlens.engine.results import QueryResult
    from zlens.session.session import CoreSession

OPTIONS = f"""{inputs.INPUTS}
-q --query SQL!  the query, or @FILE to read it from a file
--format {{table,csv,json,parquet}} [table]  output format (table); parquet needs -o
{output.FILE}
--rows N:int     rows of a table to show (60 on a terminal, else all; 0: all)
{inputs.SELECTING}"""

#: Maximum bytes read from a file with a query.
_LONGEST_FILE = 16_000_000


def run(arguments: argparse.Namespace) -> int:
    from zlens.rendering.atomic_file import atomic_write, is_special_file

    if arguments.format == "parquet" and not arguments.output:
        raise QueryError("Parquet cannot be written to a terminal", cure="name a file with -o FILE")
    if arguments.format == "parquet" and is_special_file(arguments.output):
        raise QueryError(
            "Parquet needs a file", cure=f"{arguments.output} is not a file; name one with -o FILE"
        )
    query = _query(arguments.query)
    with inputs.open_session(arguments.inputs, inputs.parse_options(arguments)) as (session, progress):
        if arguments.format == "parquet":
            with atomic_write(arguments.output) as temporary:
                session.queries.write_parquet(query, temporary)
        elif arguments.format == "table":
            result = session.sql(query)
            progress.close()
            with output.open_output(arguments.output) as out:
                _table(out, session, result, arguments)
        else:
            chunks = session.sql(query).text(arguments.format)
            output.write_chunks(chunks, arguments.output, arguments.format, progress.close)
        return inputs.finish(session, strict=arguments.strict)


def _table(out: TextIO, session: CoreSession, result: QueryResult, arguments: argparse.Namespace) -> None:
    """Write rows as a table; on a terminal, limit their number and width."""
    from zlens._native import count_rows
    from zlens.rendering import rows

    if result.columns == ["explain_key", "explain_value"]:
        # A query plan has its own layout of lines.
        out.writelines(f"{plan.rstrip()}\n" for _, plan in result.rows)
        return
    terminal = arguments.output is None and sys.stdout.isatty()
    max_rows = rows.MAX_TERMINAL_ROWS if terminal else 0
    if arguments.rows is not None:
        max_rows = max(0, arguments.rows)
    if max_rows:
        # Further rows are only counted.
        shown, more = result.first(max_rows, longest=sys.maxsize, most=sys.maxsize)
    else:
        shown, more = result.rows, False
    clock = rows.time_formatter(session, result.columns)
    max_width = rows.WIDEST if terminal else None
    rows.write_table(out, result.columns, result.types, shown, clock, max_width)
    if more:
        count = result.read(count_rows)
        out.flush()
        print_message(f"{len(shown)} of {format_count(count, 'row')}; --rows 0 shows all")


def _query(text: str) -> str:
    if not text.startswith("@"):
        return text
    from zlens.schema import user_files

    try:
        with user_files.open_user_file(text[1:]) as file:
            # Limited, because the file may be endless; a longer query is rejected later.
            return file.read(_LONGEST_FILE).decode("utf-8")
    except UnicodeDecodeError as error:
        raise QueryError("the query is not UTF-8 text", file=text[1:], offset=error.start) from None
