"""Run scenarios with known results, and compare: solve each, run it, reduce its monitor data by the
ordinary measures, and judge the differences by the scenario's own bands. SCENARIO is a file, a folder of
files, or the name of one that zlens ships.

  run    run scenarios and judge them; exit status 1 if one is not as expected
  list   list the scenarios
  show   show a scenario: its source, cases, expected numbers and bands
  suite  run many scenarios at two levels: mean and deviation of the ratios of ETR and ITR, groups and
         outliers; SCENARIO is a file of dimensions (the suite of 120 scenarios that zlens ships)

Examples:
  zlens rig list
  zlens rig show unequal-shares
  zlens rig run unequal-shares
  zlens rig run --all
  zlens rig run my-scenarios/ -o results --jobs 1
  zlens rig run unequal-shares --runner 'command:./run-on-zvm.sh {scenario} {out}'
  zlens rig run unequal-shares --runner files:results
  zlens rig run unequal-shares --policy lottery.py:Lottery -o lottery
  zlens rig run smt-ideal --uncertain 20 -o worlds
  zlens rig suite -o levels
  zlens rig run unequal-shares --set cp.dispatch_user=50 -o costly
  zlens serve rig/limits/hard-1.data
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from zlens.cli import model_output, output
from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.progress import Progress
    from zlens.rendering.answer import Answer
    from zlens.rig.definition import RigDefinition
    from zlens.rig.runners import Runner

OPTIONS = f"""
ACTION {{run,list,show,suite}}  run, list, show or suite
SCENARIO*                   files, folders, or names from list
--all                       run all scenarios that zlens ships
-o --output DIR [rig] -> folder  folder for monitor data and report.html (rig); completed runs in it are
                            reused
--runner RUNNER [simulate]  source of the monitor data: simulate; 'command:PROGRAM {{scenario}} {{out}}', also
                            {{seed}}; files:DIR for existing data (simulate)
--jobs N:int                runs at the same time (one per processor)
--seeds N:int               runs of each case (the scenario's)
{model_output.setting("cp.slice=2")}{model_output.POLICY}
--uncertain N:int           run in N worlds with assumed constants drawn from their ranges: what holds in how
                            many
--numbers                   print every number, not only the summary
{output.FORMAT}
"""
_FAILED = 1


def run(arguments: argparse.Namespace) -> int:
    from zlens.rig import definition, description, jobs, tables

    if arguments.action == "list":
        rigs = _load_definitions(arguments.scenario or list(definition.shipped()))
        runs = [len(jobs.rig_jobs(rig)) for rig in rigs]
        _print(tables.scenario_table(rigs, runs), arguments)
        return 0
    if arguments.action == "show":
        if not arguments.scenario:
            raise QueryError("which scenario?", cure="zlens rig list lists them")
        output.write("\n".join(description.text(rig) for rig in _load_definitions(arguments.scenario)))
        return 0
    _check_numbers(arguments)
    return _run_suite(arguments) if arguments.action == "suite" else _run(arguments)


def _check_numbers(arguments: argparse.Namespace) -> None:
    for name, value, maximum in (
        ("--jobs", arguments.jobs, 1000),
        ("--seeds", arguments.seeds, 999),
        ("--uncertain", arguments.uncertain, 999),
    ):
        if value is not None and not 1 <= value <= maximum:
            raise QueryError(f"{name} is {value}", expected=f"1 to {maximum}")


def _run_suite(arguments: argparse.Namespace) -> int:
    from zlens import studies
    from zlens.cli import UNUSABLE
    from zlens.rig import runners, suite

    if arguments.all or len(arguments.scenario) > 1:
        raise QueryError("several suites", expected="one", cure="run them one after another")
    files = arguments.scenario or [str(suite.SHIPPED)]
    loaded = suite.changed(suite.load(files[0]), arguments.set)
    runner = runners.find(arguments.runner, arguments.policy)
    with _progress() as progress:
        runs = suite.run(
            loaded, runner, arguments.folder,
            seeds=arguments.seeds, workers=arguments.jobs, progress=progress,
        )  # fmt: skip
    if not runs.pairs:
        raise QueryError(f"no run succeeded: {runs.errors[0]}", cure="correct the suite")
    answer = studies.solve("regression", {"title": loaded.rig.title, "pair": runs.pairs})
    answer.notes += [f"Without {error}" for error in runs.errors[:3]]
    _print(answer, arguments)
    return UNUSABLE if runs.errors else 0


def _run(arguments: argparse.Namespace) -> int:
    from zlens.cli import INTERRUPTED, UNUSABLE
    from zlens.rig import definition, results, runners, tables
    from zlens.rig import folder as left

    names = list(definition.shipped()) if arguments.all else arguments.scenario
    if not names:
        raise QueryError("no scenario to run", cure="name one, or --all; zlens rig list lists them")
    rigs = [definition.changed(rig, arguments.set) for rig in _load_definitions(names)]
    runner = runners.find(arguments.runner, arguments.policy)
    if arguments.uncertain is not None:
        return _run_worlds(arguments, rigs, runner)
    is_interrupted = False
    with _progress() as progress:
        try:
            outcomes = results.run(
                rigs, runner, arguments.folder,
                seeds=arguments.seeds, workers=arguments.jobs, progress=progress,
            )  # fmt: skip
        except results.RigInterrupted as interrupt:
            outcomes, is_interrupted = interrupt.results, True
    left.write(outcomes, arguments.folder)
    folder = Path(arguments.folder)
    written = {"html": folder / left.REPORT, "json": folder / left.RESULTS}
    if arguments.format in written:
        output.write(written[arguments.format].read_text(encoding="utf-8") + "\n", form=arguments.format)
    else:
        _print(tables.answer(outcomes, every=arguments.numbers), arguments)
    if arguments.format == "text":
        output.write(f"\nCharts and numbers: {written['html']}\n")
    if is_interrupted:
        return INTERRUPTED
    if any(result.errors for result in outcomes):
        return UNUSABLE
    return 0 if all(result.passed for result in outcomes) else _FAILED


def _run_worlds(arguments: argparse.Namespace, rigs: list[RigDefinition], runner: Runner) -> int:
    """Run in worlds; exit status 1 if a conclusion does not hold in all of them."""
    from zlens.cli import UNUSABLE
    from zlens.rig import tables, uncertainty

    with _progress() as progress:
        found = uncertainty.run(
            rigs, runner, arguments.folder, arguments.uncertain,
            seeds=arguments.seeds, workers=arguments.jobs, progress=progress,
        )  # fmt: skip
    _print(tables.uncertain_answer(found, every=arguments.numbers), arguments)
    if any(result.errors for result in found):
        return UNUSABLE
    held = all(one.holds == one.worlds for result in found for one in result.conclusions)
    return 0 if held else _FAILED


def _progress() -> Progress:
    from zlens.progress import Progress

    return Progress(amount=lambda count: f"{count:.0f} runs")


def _print(answer: Answer, arguments: argparse.Namespace) -> None:
    output.write(model_output.render(answer, arguments.format), form=arguments.format)


def _load_definitions(names: list[str]) -> list[RigDefinition]:
    """Load the scenarios of files, folders and names; raises QueryError if two have the same name."""
    from zlens.rig import definition

    rigs: dict[str, RigDefinition] = {}
    for name in names:
        if os.path.isdir(name):
            files = sorted(str(path) for path in Path(name).glob("*.toml") if not path.stem.startswith("_"))
            if not files:
                raise QueryError(f"{name} has no scenario", expected="files that end with .toml")
        else:
            files = [name]
        for file in files:
            rig = definition.find(file)
            if rig.name in rigs and rigs[rig.name].file != rig.file:
                raise QueryError(f"two scenarios are named {rig.name}", cure="rename one of the files")
            rigs[rig.name] = rig
    return list(rigs.values())
