"""Decode files and store their raw tables, with counter differences, as Parquet files in a folder, by table,
system and day. A lake is an input like any other. Data already in the lake are skipped, and the order of
imports does not matter. After an interruption, run the same command again: partial data is discarded.

With --stage, nothing becomes part of a lake: each input is decoded into a folder of its own in DIR, by any
number of processes and machines, and `zlens lake commit` joins them.

Examples:
  zlens import monwrite.data --lake lake
  zlens import 'march/*.data' --lake lake
  zlens import 'march/*.data' --lake s3://bucket/zlens
  zlens import monwrite.data --stage staged && zlens lake commit lake staged
  zlens report prclog lake --system ZVM1 --from 2026-03-02 --to 2026-03-03
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections import Counter
from typing import TYPE_CHECKING

from zlens.cli import inputs, private_files
from zlens.cli.options import add_arguments
from zlens.cli.streams import print_message
from zlens.schema.plain_text import format_count, replace_controls

if TYPE_CHECKING:
    from zlens.inputs.problems import Problem
    from zlens.lake import ImportResult

OPTIONS = inputs.INPUTS
TARGETS = """
--lake DIR   folder of the lake, or URL of object storage; created if missing
--stage DIR  folder for decoded inputs; created if missing
"""
OTHERS = f"""{private_files.option("a new lake")}
{inputs.reading()}"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser.add_mutually_exclusive_group(required=True), TARGETS)
    add_arguments(parser, OTHERS)


def run(arguments: argparse.Namespace) -> int:
    from zlens import lake
    from zlens.cli import output
    from zlens.progress import Progress

    options = inputs.parse_options(arguments)
    import_problems: list[Problem] = []
    with (
        private_files.private_files(arguments.lake, shared=arguments.shared),
        output.open_output(None) as out,
        inputs.input_files(arguments.inputs) as files,
        Progress() as progress,
    ):

        def report(added: ImportResult) -> None:
            progress.close()
            target_name = "the lake" if arguments.stage is None else arguments.stage
            out.write(f"{replace_controls(result_line(added, target_name))}\n")
            out.flush()
            import_problems.extend(added.problems)

        add, target = (lake.add, arguments.lake) if arguments.stage is None else (lake.stage, arguments.stage)
        _, problems = add(files, target, options=options, progress=progress, report=report)
    for problem in problems:
        print_message(f"{problem.file}: {problem.detail}")
    return inputs.exit_status([*problems, *import_problems], strict=arguments.strict)


def result_line(added: ImportResult, target: str = "the lake") -> str:
    """Return the result of importing a file into a target, on one line."""
    from zlens.progress import bytes_text

    if added.again:
        name = f" as {added.known_as}" if added.known_as != added.path else ""
        return f"{added.path}: already in {target}{name}; nothing added"
    span = ""
    if added.first_us is not None and added.last_us is not None:
        first, last = (
            dt.datetime.fromtimestamp(us // 1_000_000, dt.UTC) for us in (added.first_us, added.last_us)
        )
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        span = f", {first:%Y-%m-%d %H:%M} to {end} UTC"
    counts = Counter(problem.kind for problem in added.problems)
    problems = f"; {format_count(sum(counts.values()), 'problem')}" if counts else ""
    return (
        f"{added.path}: {', '.join(added.systems)}{span}, {format_count(added.rows, 'row')} of "
        f"{format_count(added.tables, 'table')}, {bytes_text(added.bytes)}{problems}"
    )
