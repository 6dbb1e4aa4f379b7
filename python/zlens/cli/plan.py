"""Read a measured interval (the busiest, or the one that contains --at), apply --set, and solve it before and
after. The answer marks which numbers are measured, solved or assumed. Without --set: list what can be changed
for INPUT.

Examples:
  zlens plan --list
  zlens plan monwrite.data
  zlens plan monwrite.data --set logical_cores=+1
  zlens plan monwrite.data --set weight=500 --set physical_cores.IFL=+1 --at '2026-03-02 09:15'
  zlens plan monwrite.data --set user.LINUX1.relative=400
  zlens plan rmf-cpu.xml --set partition.PROD.split=2
  zlens plan smf.dump --set vertical_lows=removed --format html -o lows.html
  zlens plan smf.dump --set partition.PROD.defined_capacity=120
  zlens plan smf.dump --set class.BATCHLO.partition=TEST --set weight=200
  zlens plan monwrite.data --set smt=on
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from zlens.cli import inputs, output
from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.rendering.answer import Answer

OPTIONS = f"""{inputs.ANY_INPUTS}
--set KEY=VALUE...  key to change: weight=500, logical_cores=+1; may be repeated
--list --keys       list what can be changed, each with an example
--at TIME           a time in the interval: '2026-03-02 09:15'
--over-time         solve all intervals instead of one: four-hour averages of MSU, caps, work that waits
--system NAME       the system, if the input has several
{output.OPTIONS}"""


def run(arguments: argparse.Namespace) -> int:
    from zlens.cli.model_output import render

    output.write(render(_answer(arguments), arguments.format), arguments.output, arguments.format)
    return 0


def _answer(arguments: argparse.Namespace) -> Answer:
    from zlens.plan import planning

    if arguments.list and arguments.set:
        raise QueryError("--list and --set exclude each other", cure="leave one of them out")
    if not arguments.inputs:
        if not arguments.list:
            raise QueryError("no input", cure="zlens plan --list shows what can be changed")
        return planning.list_settings()
    # Reject settings that no input supports before reading this one.
    planning.parse_question(arguments.set)
    with inputs.open_session(arguments.inputs) as (session, progress):
        progress.close()
        place = {"system": arguments.system, "at": arguments.at}
        if not arguments.set:
            return planning.list_settings(session, **place)
        return planning.plan(session, arguments.set, over_time=arguments.over_time, **place)
