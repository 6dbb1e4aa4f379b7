"""zlens solve: what should have happened."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.models.answer import Answer

DESCRIPTION = """\
Solve a model of the machine exactly. A scenario is a small TOML file; --example prints one to begin with.
--set changes a value for this run, --sweep asks for a range of values and prints a row for each.
--from takes the scenario from a measured interval and prints what should have happened beside what did.
"""
EXAMPLES = """\
Examples:
  zlens solve --list
  zlens solve shares --example > shares.toml
  zlens solve shares shares.toml
  zlens solve shares shares.toml --set user.LINUX1.relative=400 --format json
  zlens solve shares --from monwrite.data --at '2026-03-02 09:15'
  zlens solve partitions --from rmf-cpu.xml --set partition.PROD.weight=500
  zlens solve shares shares.toml --sweep user.LINUX1.relative=100:1000:100 --format html -o sweep.html
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", nargs="?", help="name of the model: shares, ...")
    parser.add_argument(
        "scenario", metavar="SCENARIO.toml", nargs="?", help="the scenario; - for standard input"
    )
    parser.add_argument("--list", action="store_true", help="list the models there are")
    parser.add_argument("--example", action="store_true", help="print a scenario of the model to begin with")
    parser.add_argument("--keys", action="store_true", help="print what a scenario of the model may say")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value for a key: user.LINUX1.demand=50; may be repeated",
    )
    parser.add_argument(
        "--sweep",
        metavar="KEY=START:STOP[:STEP]",
        help="solve for each value of a key and print the figures of each",
    )
    parser.add_argument(
        "--from",
        dest="measured",
        nargs="+",
        metavar="INPUT",
        help="make the scenario of a measured interval (shares, aliases, partitions, capacity, smt): "
        "the busiest, or that of --at",
    )
    parser.add_argument("--at", metavar="TIME", help="a time in that interval: '2026-03-02 09:15'")
    parser.add_argument("--system", metavar="NAME", help="the system, where the input holds several")
    parser.add_argument(
        "--format", choices=("text", "csv", "json", "html"), default="text", help="form of the output (text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")


def run(arguments: argparse.Namespace) -> int:
    from zlens import models
    from zlens.cli import output

    if arguments.list or arguments.model is None:
        if not arguments.list:
            raise QueryError("which model?", cure="zlens solve --list names them")
        width = max(map(len, models.MODELS))
        text = "".join(f"{name:<{width}}  {models.find(name).SUMMARY}\n" for name in models.MODELS)
    elif arguments.example:
        text = models.find(arguments.model).EXAMPLE
    elif arguments.keys:
        text = _keys(arguments.model)
    else:
        text = rendered(_expected(arguments) if arguments.measured else _answer(arguments), arguments.format)
    with output.opened(arguments.output) as out:
        out.write(text)
    return 0


def _answer(arguments: argparse.Namespace) -> Answer:
    from zlens import models
    from zlens.models import scenario, sweeps

    models.find(arguments.model)
    if arguments.scenario is None:
        raise QueryError(
            "no scenario",
            cure=f"zlens solve {arguments.model} --example prints one to begin with",
        )
    path = "/dev/stdin" if arguments.scenario == "-" else arguments.scenario
    values: dict[str, Any] = scenario.read(path)
    for setting in arguments.set:
        values = scenario.changed(values, setting)
    if arguments.sweep:
        return sweeps.solve(arguments.model, values, arguments.sweep, file=arguments.scenario)
    return models.solve(arguments.model, values, file=arguments.scenario)


def _expected(arguments: argparse.Namespace) -> Answer:
    """What should have happened in a measured interval beside what did."""
    import zlens
    from zlens import models
    from zlens.cli import inputs
    from zlens.inputs.options import parse_moment
    from zlens.models import moments
    from zlens.progress import Progress

    models.find(arguments.model)
    measured = models.measured(arguments.model)
    if arguments.scenario is not None or arguments.sweep:
        raise QueryError(
            "--from takes the place of a scenario and has no sweep", cure="leave one of them out"
        )
    with (
        inputs.files_of(arguments.measured) as files,
        Progress() as progress,
        zlens.open(files, progress=progress) as session,
    ):
        progress.close()
        system = moments.system(session, measured.TABLE, arguments.system)
        at = parse_moment(arguments.at) if arguments.at else None
        end = moments.moment(session, system, at, measured.busy(arguments.set))
        answer: Answer = measured.compare(session, system, end, arguments.set)
        return answer


def _keys(model: str) -> str:
    from zlens import models
    from zlens.models import scenario

    return "".join(scenario.described(models.find(model).SPEC))


def rendered(answer: Answer, form: str) -> str:
    """An answer as text, csv, json or html; other commands with answers print theirs so too."""
    import io

    from zlens.models import as_data, as_html, as_text
    from zlens.present import rows

    if form == "html":
        return as_html.render(answer)
    if form == "text":
        return as_text.render(answer)
    out = io.StringIO()
    if form == "csv":
        rows.write_csv(out, *as_data.flat(answer))
    else:
        rows.write_objects(out, as_data.rows(answer))
    return out.getvalue()
