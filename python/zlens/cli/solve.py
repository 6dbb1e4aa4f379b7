"""Solve a model of the machine exactly. A scenario is a small TOML file; start from the one --example prints.
--set changes a value for this run; without a file, its values are the scenario. --sweep solves for a range of
values and prints a row for each. --from builds the scenario from a measured interval and prints expected and
observed values.

Examples:
  zlens solve --list
  zlens solve shares --example > shares.toml
  zlens solve shares shares.toml
  zlens solve shares shares.toml --set user.LINUX1.relative=400 --format json
  zlens solve shares --from monwrite.data --at '2026-03-02 09:15'
  zlens solve capacity --set from_machine=z16 --set to_machine=z17
  zlens solve partitions --from rmf-cpu.xml --set partition.PROD.weight=500
  zlens solve shares shares.toml --sweep user.LINUX1.relative=100:1000:100 --format html -o sweep.html
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from zlens.cli import inputs, model_output, output
from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.rendering.answer import Answer

OPTIONS = f"""
MODEL?                     name of the model: shares, ...
SCENARIO.toml?             the scenario; - for standard input
{model_output.options("model", "a scenario of the model", "user.LINUX1.demand=50")}
--sweep KEY=START:STOP[:STEP]  solve for each value of a key and print the values
--from INPUT+ -> measured  build the scenario from a measured interval (shares, aliases, partitions, capacity,
                           smt): the busiest, or the one that contains --at
--at TIME                  a time in that interval: '2026-03-02 09:15'
--system NAME              the system, if the input has several
{output.OPTIONS}
"""


def help_about(arguments: argparse.Namespace) -> str | None:
    return model_output.describe("zlens solve", "model", arguments.model)


def run(arguments: argparse.Namespace) -> int:
    solve = _expected if arguments.measured else _answer
    return model_output.run(arguments, "model", lambda: solve(arguments))


def _answer(arguments: argparse.Namespace) -> Answer:
    from zlens import models
    from zlens.models import sweeps

    values = model_output.values(f"solve {arguments.model}", arguments.scenario, arguments.set)
    if arguments.sweep:
        return sweeps.solve(arguments.model, values, arguments.sweep, file=arguments.scenario)
    return models.solve(arguments.model, values, file=arguments.scenario)


def _expected(arguments: argparse.Namespace) -> Answer:
    """Solve the model for a measured interval and compare it with the measurement."""
    from zlens import models
    from zlens.inputs.options import parse_time_spec
    from zlens.models import interval_choice

    measured = models.measured(arguments.model)
    if arguments.scenario is not None or arguments.sweep:
        raise QueryError("--from replaces the scenario and allows no sweep", cure="leave one of them out")
    with inputs.open_session(arguments.measured) as (session, progress):
        progress.close()
        system = interval_choice.choose_system(session, measured.TABLE, arguments.system)
        time = parse_time_spec(arguments.at) if arguments.at else None
        end = interval_choice.choose_interval(session, system, time, measured.busy(arguments.set))
        answer: Answer = measured.compare(session, system, end, arguments.set)
        return answer
