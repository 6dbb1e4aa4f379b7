"""zlens study: runs of a workload beside each other."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from zlens.errors import QueryError, ScenarioError

if TYPE_CHECKING:
    from zlens.models.answer import Answer

DESCRIPTION = """\
Study runs of a workload. A small TOML file says which: each run as numbers (ETR, busy and whatever else is
known) or as a data file whose measures are taken. scaling: one workload in larger and larger partitions,
beside what the capability of the machine lets one expect. regression: many workloads before and after a
change.
"""
EXAMPLES = """\
Examples:
  zlens study --list
  zlens study scaling --example > runs.toml
  zlens study scaling runs.toml
  zlens study scaling runs.toml --as-published --format html -o scaling.html
  zlens study regression --keys
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", nargs="?", help="scaling or regression")
    parser.add_argument("runs", metavar="RUNS.toml", nargs="?", help="the runs; - for standard input")
    parser.add_argument("--list", action="store_true", help="list the studies there are")
    parser.add_argument("--example", action="store_true", help="print a file of runs to begin with")
    parser.add_argument("--keys", action="store_true", help="print what a file of runs may say")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for a key: run.A1.busy=95.4; may be repeated",
    )
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="ITR from busy rounded to 0.1 %%, as published tables have it",
    )
    parser.add_argument(
        "--format", choices=("text", "csv", "json", "html"), default="text", help="form of the output (text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    from zlens import studies
    from zlens.cli import output
    from zlens.cli.solve import rendered
    from zlens.models import scenario

    if arguments.list or arguments.study is None:
        if not arguments.list:
            raise QueryError("which study?", cure="zlens study --list names them")
        width = max(map(len, studies.STUDIES))
        text = "".join(f"{name:<{width}}  {studies.find(name).SUMMARY}\n" for name in studies.STUDIES)
    elif arguments.example:
        text = studies.find(arguments.study).EXAMPLE
    elif arguments.keys:
        text = "".join(scenario.described(studies.find(arguments.study).SPEC))
    else:
        text = rendered(_answer(arguments), arguments.format)
    with output.opened(arguments.output) as out:
        out.write(text)
    return 0


def _answer(arguments: argparse.Namespace) -> Answer:
    from zlens import studies
    from zlens.models import scenario

    studies.find(arguments.study)
    if arguments.runs is None:
        raise QueryError(
            "no runs", cure=f"zlens study {arguments.study} --example prints a file to begin with"
        )
    path = "/dev/stdin" if arguments.runs == "-" else arguments.runs
    try:
        values: dict[str, Any] = scenario.read(path)
    except ScenarioError as error:
        error.cure = f"write it like the example that zlens study {arguments.study} --example prints"
        raise
    for setting in arguments.set:
        values = scenario.changed(values, setting)
    return studies.solve(arguments.study, values, file=arguments.runs, as_published=arguments.as_published)
