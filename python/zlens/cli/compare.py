"""\
Compare BASE with one or more OTHER sides, separated by --: values side by side (differences beyond the noise
first, then those without a test, then those within the noise), the parts that make up the change in CPU time
per transaction, and anything that makes the runs not comparable.

Each INPUT of a side is a run; so is a folder, a quoted pattern, or inputs joined by a plus sign
(run1.monwrite + run1.smf). Options that select data (--system, --from, --to, --shift, --peak,
--throughput..., --tz, --leap, --name) apply to the side they follow. A side without such options uses those
of BASE, and a side without inputs uses the inputs of BASE. All other options apply to every side.

Examples:
  zlens compare base.data -- other.data
  zlens compare day.data --from 08:00 --to 10:00 -- --from 10:00 --to 12:00
  zlens compare base1.data base2.data base3.data -- other1.data other2.data other3.data
  zlens compare base.data --throughput base.csv -- other.data --throughput other.csv --format html -o out.html
  zlens compare 1.data -- 2.data -- 3.data --against previous
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from zlens.cli import inputs, output
from zlens.errors import QueryError

if TYPE_CHECKING:
    from zlens.cli.parser import CommandParser
    from zlens.compare import Side, SideRun
    from zlens.inputs.problems import Problem
    from zlens.progress import Progress

OPTIONS = f"""{inputs.ANY_INPUTS}
comparison:
--name NAME                  name of this side
--against {{base,previous}}  compare with BASE (base: cumulative) or with the side before (previous:
                             incremental)
--form {{other/base,base/other,percent,points}}  form of differences (other/base); shares are compared in
                             points
--burg                       the form of IBM's CPU MF tables: base/other for everything, including shares
--delta                      also the form of IBM's I/O tables: per device the sides, then Delta and %%Delta
--across-generations         compare everything even if the machines are of different generations
--seed N:int                 seed of the random draws of the tests (1)
options:
--format {{text,csv,json,html}}  output format (text)
{output.FILE}
{inputs.SELECTING}"""
#: Groups of options: a side has its own or uses the group of BASE.
_KINDS = (
    ("inputs",),
    ("system", "source"),
    ("start", "end", "shift", "peak"),
    ("throughput", "throughput_columns", "throughput_offset"),
    ("tz",),
    ("date",),
    ("leap",),
)


def configure(parser: CommandParser) -> None:
    parser.in_parts = True
    parser.usage = "zlens compare BASE... [options] -- OTHER... [options] [-- OTHER...]"


def run(arguments: argparse.Namespace) -> int:
    from zlens import compare
    from zlens.progress import Progress

    parts: list[argparse.Namespace] = arguments.parts
    if len(parts) < 2:
        raise QueryError("nothing to compare with", cure="zlens compare BASE -- OTHER")
    common = _complete(parts)
    if common["burg"] and common["form"]:
        raise QueryError("--burg is itself a form", cure="leave --form out")
    sides, problems = [], []
    with Progress() as progress:
        for part, name in zip(parts, _names(parts), strict=True):
            side, side_problems = _side(part, name, progress)
            sides.append(side)
            problems += side_problems
    form = common["format"] or "text"
    options = compare.CompareOptions.from_values(common)
    report = compare.render(compare.compare(sides, options), form)
    output.write(report, common["output"], form)
    return inputs.exit_status(problems, strict=common["strict"])


def _complete(parts: list[argparse.Namespace]) -> dict[str, Any]:
    """Add missing options of BASE to every side; return the options common to all sides."""
    side_options = {"name", *(name for kind in _KINDS for name in kind)}
    if not parts[0].inputs:
        raise QueryError("BASE has no input", cure="zlens compare BASE -- OTHER")
    for number, part in enumerate(parts[1:], 2):
        if not any(getattr(part, name) for kind in _KINDS[:4] for name in kind):
            raise QueryError(f"side {number} has neither inputs nor a window", cure="name one after --")
        for kind in _KINDS:
            if not any(getattr(part, name) for name in kind):
                for name in kind:
                    setattr(part, name, getattr(parts[0], name))
    common: dict[str, Any] = {}
    for name in vars(parts[0]):
        if name in side_options or name in ("run", "command"):
            continue
        values = [getattr(part, name) for part in parts if getattr(part, name)]
        if any(value != values[0] for value in values):
            raise QueryError(
                f"--{name.replace('_', '-')} given twice; it applies to every side", cure="leave one out"
            )
        common[name] = values[0] if values else getattr(parts[0], name)
        for part in parts:
            setattr(part, name, common[name])
    return common


def _names(parts: list[argparse.Namespace]) -> list[str]:
    """Return the names of the sides: --name, else distinct file names, else base, other, other2, ..."""
    stems = [os.path.basename(os.path.normpath(part.inputs[0])).partition(".")[0] for part in parts]
    are_distinct = len(set(stems)) == len(stems) and all(0 < len(stem) <= 20 for stem in stems)
    defaults = ["base", "other", *(f"other{number}" for number in range(2, len(parts)))]
    names = [part.name or (stems if are_distinct else defaults)[index] for index, part in enumerate(parts)]
    if len(set(names)) < len(names):
        duplicate = max(names, key=names.count)
        raise QueryError(f"two sides are named {duplicate!r}", cure="rename one with --name")
    return names


def _side(part: argparse.Namespace, name: str, progress: Progress) -> tuple[Side, list[Problem]]:
    from zlens.compare import Side

    runs, problems = [], []
    for words in _runs(part.inputs):
        run, run_problems = _run(words, part, progress)
        runs.append(run)
        problems += run_problems
    return Side(name, runs), problems


def _runs(words: list[str]) -> list[list[str]]:
    """Return the inputs of each run: `a + b c` is two runs, the first of two inputs."""
    runs: list[list[str]] = []
    joined = False
    for word in words:
        if word == "+":
            if joined or not runs:
                break
            joined = True
        elif joined:
            runs[-1].append(word)
            joined = False
        else:
            runs.append([word])
    else:
        if not joined:
            return runs
    raise QueryError("a plus sign joins two inputs of one run", expected="run1.monwrite + run1.smf")


def _run(words: list[str], part: argparse.Namespace, progress: Progress) -> tuple[SideRun, list[Problem]]:
    from zlens.compare import measure_run
    from zlens.session.session import CoreSession

    with (
        inputs.input_files(words) as files,
        CoreSession(files, inputs.parse_options(part), progress) as session,
    ):
        run = measure_run(session, " + ".join(words))
        inputs.print_throughput_notes(session)
        return run, session.problems
