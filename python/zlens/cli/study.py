"""\
Study runs of a workload, listed in a small TOML file: each run as numbers (ETR, busy and others) or as a data
file to measure. scaling: one workload in partitions of growing size, compared with the capability of the
machine. regression: many workloads before and after a change. trend: a measure of all systems of a lake over
months: percentiles by shift, growth with its uncertainty, and when a limit is met.

Examples:
  zlens study --list
  zlens study scaling --example > runs.toml
  zlens study scaling runs.toml
  zlens study scaling runs.toml --as-published --format html -o scaling.html
  zlens study regression pairs.toml
  zlens study trend --example
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from zlens.cli import model_output, output

if TYPE_CHECKING:
    from zlens.rendering.answer import Answer

OPTIONS = f"""
STUDY?          scaling, regression or trend
RUNS.toml?      the runs; - for standard input
{model_output.options("study", "a file of runs", "run.A1.busy=95.4")}
--as-published  compute ITR from busy rounded to 0.1%%, as published tables do
{output.OPTIONS}
"""


def help_about(arguments: argparse.Namespace) -> str | None:
    return model_output.describe("zlens study", "study", arguments.study)


def run(arguments: argparse.Namespace) -> int:
    from zlens import studies

    def answer() -> Answer:
        values = model_output.values(f"study {arguments.study}", arguments.runs, arguments.set, "runs")
        return studies.solve(
            arguments.study, values, file=arguments.runs, as_published=arguments.as_published
        )

    return model_output.run(arguments, "study", answer)
