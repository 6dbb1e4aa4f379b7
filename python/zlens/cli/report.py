"""Print a classic report. Reports are named by their short name or their FCX number.

Examples:
  zlens report --list
  zlens report cpumenu monwrite.data
  zlens report prclog monwrite.data --shift 'Mon-Fri 08:00-17:00'
  zlens report partition rmf.xml --format csv -o partitions.csv
  zlens report device110 monwrite.data --only 0145
  zlens report user monwrite.data --by-time LINUX01 --every 15m
  zlens report device monwrite.data --sort resp_ms --top 20
"""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from zlens.cli import inputs, output
from zlens.cli.streams import print_message
from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.catalog.reports.menus import Menu
    from zlens.session.session import CoreSession

OPTIONS = f"""
NAME?               name of the report: prclog, fcx304, ...
{inputs.ANY_INPUTS}
--list              list all reports; with INPUT, those with data
--only VALUE...     only this subject of the report: a device, a processor, a user; * and ? match any
                    characters; may be repeated
--by-time VALUE...  like --only, with the rows of every interval, or of every --every: --by-time LINUX01
--sort COLUMN       sort the rows by this column, named by its heading or as in CSV: --sort cpu_pct; numbers
                    from the highest, texts from A
--top N:int         only the first N rows, and the first N of each interval: --sort cpu_pct --top 10
{output.OPTIONS}{inputs.SELECTING}"""


def run(arguments: argparse.Namespace) -> int:
    from zlens.catalog.reports import definition, menus

    menu = menus.find(arguments.name or "")
    if menu is not None:
        return _list(arguments, arguments.inputs, menu)
    if arguments.list:
        return _list(arguments, [arguments.name, *arguments.inputs] if arguments.name else arguments.inputs)
    if arguments.name is None:
        raise QueryError("which report?", cure="zlens report --list lists them")
    if not arguments.inputs:
        # Report an unknown name before a missing input.
        definition.resolve_name(arguments.name)
        raise QueryError("no input", cure=f"zlens report {arguments.name} INPUT")
    from zlens import reports
    from zlens.reports.options import ReportOptions

    with inputs.open_session(arguments.inputs, inputs.parse_options(arguments)) as (session, progress):
        options = ReportOptions.from_values(vars(arguments))
        chunks = reports.chunks(
            arguments.name, session, arguments.format, width=_width(arguments), options=options
        )
        output.write_chunks(chunks, arguments.output, arguments.format, progress.close)
        _print_missing_input(session, arguments)
        return inputs.finish(session, strict=arguments.strict)


def _print_missing_input(session: CoreSession, arguments: argparse.Namespace) -> None:
    """Print on standard error the input that a report without data needs, unless the screen shows it."""
    from zlens import reports

    shown = arguments.format in ("text", "html") and not arguments.output
    if not shown and (needs := reports.missing_input(arguments.name, session)):
        print_message(f"no data for {arguments.name} in this input; it needs: {needs}")


def _width(arguments: argparse.Namespace) -> int | None:
    """Return the terminal width in columns, to fold tables; None for files and pipes."""
    if arguments.output or arguments.format != "text" or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size((132, 24)).columns


def _list(arguments: argparse.Namespace, names: list[str], menu: Menu | None = None) -> int:
    """Print all reports or the reports of a menu; with an input, also their columns with values."""
    from zlens import reports

    if not names:
        entries = reports.list_reports(menu=menu)
    else:
        with inputs.open_session(names, inputs.parse_options(arguments)) as (session, _):
            entries = reports.list_reports(session, menu=menu)
    output.write(reports.format_report_list(entries))
    return 0
