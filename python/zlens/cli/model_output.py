"""Arguments and output shared by `solve` and `study`, which read a TOML file and print an answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from zlens.errors import QueryError, ScenarioError, Wording

if TYPE_CHECKING:
    from zlens.rendering.answer import Answer


def configure(parser: argparse.ArgumentParser, plural: str, file: str, setting: str) -> None:
    """Add the options of both; `plural`, `file` and `setting` (an example of --set) fill the help."""
    parser.add_argument("--list", action="store_true", help=f"list all {plural}")
    parser.add_argument("--example", action="store_true", help=f"print an example of {file}")
    parser.add_argument("--keys", action="store_true", help=f"list the keys of {file}")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"set a key to another value: {setting}; may be repeated",
    )


def describe(command: str, name: str, find: Callable[[str], Any], solve: Callable[..., Answer]) -> str:
    """Return help on a model or study: purpose, keys and example of its file, and fields of the answer."""
    from zlens.models import scenario
    from zlens.schema import toml

    model = find(name)
    answer = solve(name, toml.parse(model.EXAMPLE))
    usage = f"usage: zlens {command} {name} FILE.toml [options]; zlens {command} --help lists the options"
    lines = [usage, "", f"{name}: {model.SUMMARY}", "", "Keys:"]
    lines += [f"  {line}" for line in "".join(scenario.describe_keys(model.SPEC)).splitlines()]
    lines += ["", "Example:"]
    lines += [f"  {line}".rstrip() for line in model.EXAMPLE.splitlines()]
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


def configure_output(parser: argparse.ArgumentParser) -> None:
    """Add --format and --output."""
    parser.add_argument(
        "--format", choices=("text", "csv", "json", "html"), default="text", help="output format (text)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")


def run(
    arguments: argparse.Namespace,
    name: str | None,
    names: Iterable[str],
    find: Callable[[str], Any],
    answer: Callable[[], Answer],
) -> int:
    """Print --list, --example or --keys of a model or study, or its answer; `find` returns it by name."""
    from zlens.cli import output
    from zlens.models import scenario

    if arguments.list:
        width = max(map(len, names))
        text = "".join(f"{entry:<{width}}  {find(entry).SUMMARY}\n" for entry in names)
    elif name is None:
        kind = "model" if arguments.command == "solve" else "study"
        raise QueryError(f"which {kind}?", cure=f"zlens {arguments.command} --list lists them")
    elif arguments.example:
        text = find(name).EXAMPLE
    elif arguments.keys:
        text = "".join(scenario.describe_keys(find(name).SPEC))
    else:
        find(name)
        text = render(answer(), arguments.format)
    with output.open_output(arguments.output) as out:
        out.write(text)
    return 0


def values(arguments: argparse.Namespace, name: str, file: str | None, missing: str) -> dict[str, Any]:
    """Return the values of the file with the changes of --set; `missing` is the error without a file."""
    from zlens.models import scenario

    example = f"zlens {arguments.command} {name} --example prints"
    if file is None:
        raise QueryError(missing, cure=f"{example} one to start from")
    try:
        scenario_values = scenario.read("/dev/stdin" if file == "-" else file)
    except ScenarioError as error:
        error.cure = f"follow the example that {example}"
        raise
    for setting in arguments.set:
        scenario_values = scenario.apply_setting(scenario_values, setting)
    return scenario_values


def render(answer: Answer, form: str) -> str:
    """Return the answer as text, csv, json or html, worded for the command line."""
    return answer.worded(Wording.for_command_line).render(form)
