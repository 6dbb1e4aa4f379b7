"""Explain a measure or its column, a report or its column, a role, a record or a field: its meaning,
formula, inputs and status, and why a value may be missing. With --from, show one value of a column
with the fields, file, offset and bytes of its records.

Examples:
  zlens explain cpu.suspend_pct
  zlens explain prclog
  zlens explain SYTPRP_PFXUTIME
  zlens explain cpu.user_pct --from monwrite.data --at '2026-03-02 09:15' --of cpu_id=3
"""

from __future__ import annotations

import argparse

from zlens.errors import QueryError

OPTIONS = """
NAME+ -> names           measure, column, report, record, field
--from INPUT+ -> inputs  show a value of a column with its bytes: the largest, or that of --at
--at TIME                a time in its interval: '2026-03-02 09:15'
--of KEY=VALUE...        its subject: cpu_id=3
--system NAME            its system, if the input has several
"""


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli import output
    from zlens.explain.names import explain

    if arguments.inputs:
        output.write(_origin(arguments))
        return 0
    if arguments.at or arguments.of or arguments.system:
        raise QueryError("--at, --of and --system need an input", cure="name it with --from INPUT")
    with output.open_output(None) as out:
        for number, name in enumerate(arguments.names):
            out.write("\n" * bool(number) + explain(name))
    return 0


def _origin(arguments: argparse.Namespace) -> str:
    """Return a value of a column with its records."""
    from zlens.cli import inputs
    from zlens.explain.origin_text import format_origin
    from zlens.explain.value_origin import find_origin
    from zlens.inputs.options import parse_time_spec

    if len(arguments.names) > 1:
        raise QueryError("--from shows a value of one column", expected="one name, such as cpu.user_pct")
    subject = dict(inputs.split_pair(text) for text in arguments.of)
    at = parse_time_spec(arguments.at) if arguments.at else None
    with inputs.open_session(arguments.inputs) as (session, progress):
        progress.close()
        origin = find_origin(session, arguments.names[0], arguments.system, at, subject)
        return format_origin(origin, lambda time: session.display(time, origin.system, origin.source))
