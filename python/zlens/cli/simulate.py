"""\
Simulate a scenario: a machine, its partitions, CP, users and devices as discrete events. FILE receives what
the z/VM system in it would record with MONWRITE (of several systems, FILE-NAME that of each), and
FILE.throughput.csv its transactions. A scenario is a TOML file as for zlens solve; the model "system"
describes a whole machine. The data is synthetic: nothing in them was measured.

Examples:
  zlens simulate --example > machine.toml
  zlens simulate machine.toml -o machine.data
  zlens simulate machine.toml -o machine.data --hours 8 --seed 7 --set user.DB1.relative=800
  zlens simulate shares.toml -o shares.data --runs 10
  zlens simulate machine.toml -o machine.data --policy lottery.py:Lottery
  zlens simulate machine.toml --explain
  zlens report prclog machine.data
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from zlens.cli import INTERRUPTED, model_output, output
from zlens.errors import InputError, QueryError

if TYPE_CHECKING:
    from zlens.simulation.run import PreparedScenario

OPTIONS = f"""
SCENARIO.toml?    the scenario; - for standard input
-o --output FILE  file for the monitor records
--seed N:int      seed of all random numbers (the scenario's, or 1)
--hours N:float   hours to record (the scenario's, or 1)
--runs N:int [1]  simulate with N seeds, one more each, on all processors, into FILE-001 and so on
{model_output.setting("user.LINUX1.demand=50")}{model_output.POLICY}
--explain         list the constants that the scenario uses
--example         print an example of a scenario
--keys            list the keys of a scenario
--format {{text,csv,json,html}} [text]  format of the summary (text)
"""


def run(arguments: argparse.Namespace) -> int:
    from zlens import models
    from zlens.models import scenario

    if arguments.example or arguments.keys:
        system = models.find("system")
        output.write(system.example if arguments.example else "".join(scenario.describe_keys(system.spec)))
        return 0
    from zlens.progress import Progress, duration_text
    from zlens.simulation import custom_policy, tables
    from zlens.simulation import run as simulation

    values = model_output.values("simulate", arguments.scenario, arguments.set)
    prepared = simulation.prepare_seeds(
        values, arguments.runs, file=arguments.scenario, seed=arguments.seed, hours=arguments.hours,
        policy=custom_policy.find(arguments.policy),
    )  # fmt: skip
    if arguments.explain:
        answer, complete = tables.constants(prepared[0]), True
    else:
        if arguments.output in (None, "-"):
            raise QueryError("no file to write to", cure="name one with -o FILE")
        _protect(arguments, prepared)
        with Progress(amount=duration_text) as progress:
            runs = simulation.simulate(prepared, arguments.output, progress=progress)
        answer, complete = tables.summary(prepared[0], runs), len(runs) == len(prepared)
        complete = complete and all(result.complete for result in runs)
    output.write(model_output.render(answer, arguments.format), form=arguments.format)
    return 0 if complete else INTERRUPTED


def _protect(arguments: argparse.Namespace, prepared: list[PreparedScenario]) -> None:
    """Reject names derived from --output that would replace the scenario."""
    from zlens.simulation import run as simulation

    for number, scenario_run in enumerate(prepared, 1):
        for path in simulation.outputs(scenario_run, arguments.output, number, len(prepared)).values():
            exist = os.path.exists(path) and os.path.exists(arguments.scenario)
            if exist and os.path.samefile(path, arguments.scenario):
                raise InputError("the output would replace an input", file=path, cure="write to another file")
