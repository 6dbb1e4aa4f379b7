"""zlens import: decode once, into a lake."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from collections import Counter
from typing import TYPE_CHECKING

from zlens.cli import inputs

if TYPE_CHECKING:
    from zlens.inputs.problems import Problem
    from zlens.lake import Added

DESCRIPTION = """\
Decode files and store their raw tables, with counter differences, as Parquet files in a folder, by table,
system and day. A lake is an input like any other. Data already in the lake are skipped, and the order of
imports does not matter. After an interruption, run the same command again: nothing partial is kept.
"""
EXAMPLES = """\
Examples:
  zlens import monwrite.data --lake lake
  zlens import 'march/*.data' --lake lake
  zlens report prclog lake --system ZVM1 --from 2026-03-02 --to 2026-03-03
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_inputs(parser)
    parser.add_argument("--lake", required=True, metavar="DIR", help="folder of the lake; created if missing")
    inputs.add_options(parser, selection=False, throughput=False)


def run(arguments: argparse.Namespace) -> int:
    from zlens import lake
    from zlens.cli import output
    from zlens.progress import Progress

    options = inputs.options_of(arguments)
    found: list[Problem] = []
    with output.opened(None) as out, inputs.files_of(arguments.inputs) as files, Progress() as progress:

        def told(one: Added) -> None:
            progress.close()
            out.write(f"{_safe(line(one))}\n")
            out.flush()
            found.extend(one.problems)

        _, problems = lake.add(files, arguments.lake, options=options, progress=progress, report=told)
    for problem in problems:
        print(f"zlens: {_safe(f'{problem.file}: {problem.detail}')}", file=sys.stderr)
    return inputs.status_of([*problems, *found], strict=arguments.strict)


def line(one: Added) -> str:
    """What became of a file."""
    from zlens.progress import bytes_text

    if one.again:
        known = f" as {one.known_as}" if one.known_as != one.path else ""
        return f"{one.path}: in the lake already{known}; nothing added"
    span = ""
    if one.first_us is not None and one.last_us is not None:
        first, last = (
            dt.datetime.fromtimestamp(us // 1_000_000, dt.UTC) for us in (one.first_us, one.last_us)
        )
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        span = f", {first:%Y-%m-%d %H:%M} to {end} UTC"
    counts = Counter(problem.kind for problem in one.problems)
    problems = f"; {sum(counts.values()):,} problems" if counts else ""
    return (
        f"{one.path}: {', '.join(one.systems)}{span}, {one.rows:,} rows of {one.tables} tables, "
        f"{bytes_text(one.bytes)}{problems}"
    )


def _safe(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
