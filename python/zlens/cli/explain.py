"""zlens explain: show the origin of a number."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
Explain a measure or its column, a report or its column, a role, a record or a field: its meaning,
formula, inputs and status, and why a value may be missing.
"""
EXAMPLES = """\
Examples:
  zlens explain cpu.suspend_pct
  zlens explain prclog
  zlens explain SYTPRP_PFXUTIME
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="measure, column, report, record, field")


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output
    from zlens.explain.names import explain

    with output.open_output(None) as out:
        for number, name in enumerate(arguments.names):
            out.write("\n" * bool(number) + explain(name))
    return 0
