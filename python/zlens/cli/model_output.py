"""Arguments and output of `solve`, `study` and `simulate`, which read a TOML file and print an answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from zlens.cli import output
from zlens.errors import QueryError, ScenarioError, Wording

if TYPE_CHECKING:
    from zlens.models.scenario import ScenarioValues
    from zlens.rendering.answer import Answer


#: A class of the user that decides in place of CP.
POLICY = """
--policy FILE.py:CLASS  a Python class that schedules, dispatches, unparks or selects pages in place of CP;
                        FILE.py is run as part of zlens
"""


def setting(example: str) -> str:
    """Return --set, which changes a value of the file, as text for `add_arguments`."""
    return f"--set KEY=VALUE...      set a key to another value: {example}; may be repeated"


def options(kind: str, file: str, example: str) -> str:
    """Return options of `solve` (kind "model") and `study`; the help names the file and shows --set."""
    return f"""
--list     list all {"models" if kind == "model" else "studies"}
--example  print an example of {file}
--keys     list the keys of {file}
{setting(example)}
"""


def _package(kind: str) -> tuple[Any, Sequence[str]]:
    """Return the package of models or studies and their names."""
    if kind == "model":
        from zlens import models

        return models, models.MODELS
    from zlens import studies

    return studies, studies.STUDIES


def describe(command: str, kind: str, name: str | None) -> str | None:
    """Return help on a model or study: purpose, keys and example of its file, and fields of the answer."""
    from zlens.models import scenario
    from zlens.schema import toml

    if name is None:
        return None
    package, _ = _package(kind)
    model = package.find(name)
    answer: Answer = package.solve(name, toml.parse(model.example))
    usage = f"usage: {command} {name} FILE.toml [options]; {command} --help lists the options"
    lines = [usage, "", f"{name}: {model.summary}", "", "Keys:"]
    lines += [f"  {line}" for line in "".join(scenario.describe_keys(model.spec)).splitlines()]
    lines += ["", "Example:"]
    lines += [f"  {line}".rstrip() for line in model.example.splitlines()]
    lines += ["", "Answer (by these names in JSON and CSV):"]
    lines += _fields("figures", [(figure.key, figure.unit, figure.text) for figure in answer.figures])
    for table in answer.tables:
        fields = [(column.key, column.unit, column.text or column.heading) for column in table.columns]
        lines += _fields(f"{table.key}: {table.title}", fields)
    return "\n".join(lines) + "\n"


def _fields(title: str, fields: Iterable[tuple[str, str, str]]) -> list[str]:
    rows = list(fields)
    width = max((len(key) for key, _, _ in rows), default=0)
    return [
        f"  {title}",
        *(f"    {key:<{width}}  {text}{f', {unit}' if unit else ''}" for key, unit, text in rows),
    ]


def run(arguments: argparse.Namespace, kind: str, answer: Callable[[], Answer]) -> int:
    """Print --list, --example or --keys of a model or study, or its answer."""
    from zlens.models import scenario

    package, names = _package(kind)
    name = getattr(arguments, kind)
    if arguments.list:
        width = max(map(len, names))
        text = "".join(f"{entry:<{width}}  {package.find(entry).summary}\n" for entry in names)
    elif name is None:
        raise QueryError(f"which {kind}?", cure=f"zlens {arguments.command} --list lists them")
    elif arguments.example:
        text = package.find(name).example
    elif arguments.keys:
        text = "".join(scenario.describe_keys(package.find(name).spec))
    else:
        package.find(name)
        text = render(answer(), arguments.format)
    output.write(text, arguments.output, arguments.format)
    return 0


def values(
    command: str, file: str | None, settings: Iterable[str], content: str = "scenario"
) -> ScenarioValues:
    """Return the values of a file with the changes of --set, or only these without a file.

    `command` prints an example of the file's content.
    """
    from zlens.models import scenario

    example = f"zlens {command} --example prints"
    changes = list(settings)
    scenario_values = scenario.ScenarioValues({}, "")
    if file is not None:
        try:
            scenario_values = scenario.read("/dev/stdin" if file == "-" else file)
        except ScenarioError as error:
            error.cure = f"follow the example that {example}"
            raise
    elif not changes:
        raise QueryError(f"no {content}", cure=f"{example} one to start from")
    for setting in changes:
        scenario_values = scenario.apply_setting(scenario_values, setting)
    return scenario_values


def render(answer: Answer, form: str) -> str:
    """Return the answer as text, csv, json or html, worded for the command line."""
    return answer.worded(Wording.for_command_line).render(form)
