"""Parser of the command line, which imports the module of a command only when it is used."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn

from zlens.cli.options import add_arguments

#: Help by command, in order; each is a module of this package (with an underscore after a Python keyword).
COMMANDS = {
    "info": "show what an input contains: format, systems, machine, release, time span, records",
    "report": "print a classic report",
    "sql": "run a SQL query",
    "findings": "check rules and print findings: value, threshold, time, subject, action",
    "compare": "compare two or more runs or time windows",
    "solve": "solve a model exactly: expected values",
    "simulate": "simulate a scenario as discrete events and write monitor data",
    "rig": "run scenarios with known results, and compare",
    "study": "study runs of a workload: scaling, regression",
    "plan": "solve a what-if: change cores, weights, shares or threads of a measured interval",
    "ledger": "divide what a machine used into accounts that add up: CPU time, energy, MSU",
    "explain": "show where a number comes from: formula, inputs, unit, source, status",
    "import": "decode files once, into a lake of Parquet files",
    "lake": "show, verify or trim a lake",
    "export": "write the measures of a lake as Parquet files, Delta Lake or Iceberg tables",
    "catalog": "show and check record layouts and formulas; import IBM's record pages",
    "serve": "serve the web UI",
    "live": "follow systems while they run: measures, findings and the web UI",
    "demo": "write sample files and show what they contain",
    "complete": "print completions for bash, zsh or tcsh",
}

_DESCRIPTION = """\
A performance laboratory for IBM Z. It reads what the machine and its operating systems record.
INPUT is a file, folder, quoted pattern, lake, or - (standard input); zlens detects the format.
"""

_EPILOG = """\
Examples:
  zlens demo
  zlens info monwrite.data
  zlens report prclog monwrite.data --from 09:00 --to 10:00
  zlens sql monwrite.data -q "select cpu_id, max(busy_pct) from cpu group by all"
"""


class CommandParser(argparse.ArgumentParser):
    """A parser that prints errors on one line, like all errors of zlens."""

    #: Module of this command, imported when its arguments are parsed.
    module: str | None = None
    #: Returns a special help for the arguments before --help, or None for the usual help.
    help_about: Callable[[argparse.Namespace], str | None] | None = None
    #: Whether `--` separates parts of the arguments, which are parsed separately into the list `parts`.
    in_parts = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        self.configure()
        if not self.in_parts or args is None:
            return super().parse_known_args(args, namespace)
        parts: list[list[str]] = [[]]
        for word in args:
            if word == "--":
                parts.append([])
            else:
                parts[-1].append(word)
        parsed = []
        for part in parts:
            parsed_part, unknown = super().parse_known_args(part)
            if unknown:
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            parsed.append(parsed_part)
        return argparse.Namespace(run=parsed[0].run, parts=parsed), []

    def configure(self) -> None:
        """Import the module of this command, and add its arguments and the help in its docstring."""
        if self.module is None:
            return
        module, self.module = import_module(self.module), None
        self.description, title, examples = str(module.__doc__).partition("Examples:\n")
        self.epilog = title + examples
        add_arguments(self, module.OPTIONS)
        self.help_about = getattr(module, "help_about", None)
        if hasattr(module, "configure"):
            module.configure(self)
        self.set_defaults(run=module.run)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"zlens: {message}; see {self.prog} --help\n")


class Formatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that preserves line breaks and the width of the option column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=108)


def add_action(
    actions: Any, act: Any, name: str, help: str, example: str, arguments: str, details: str = ""
) -> None:
    """Add an action, which `act` performs, to a command; its description is its help with further lines."""
    command = actions.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.{details}",
        epilog=f"Example:\n  {example}\n",
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    add_arguments(command, arguments)
    command.set_defaults(act=act)


def build(names: Iterable[str] = COMMANDS, *, configured: bool = False) -> argparse.ArgumentParser:
    """Build the parser of the program, with all commands or only these; a parsed command line has `run`.

    With `configured`, add the arguments of these commands now, not only when one is parsed.
    """
    parser = CommandParser(
        prog="zlens", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=Formatter, allow_abbrev=False
    )
    parser.add_argument("--version", action=_Print, text=_version, help="show the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name in names:
        command = commands.add_parser(
            name, help=COMMANDS[name], formatter_class=Formatter, allow_abbrev=False, add_help=False
        )
        command.add_argument(
            "-h", "--help", action=_Print, text=_help, help="show this help message and exit"
        )
        command.module = f"zlens.cli.{name}{'_' * iskeyword(name)}"
        if configured:
            command.configure()
    return parser


class _Print(argparse.Action):
    """An option that prints a text instead of running the command."""

    def __init__(
        self,
        option_strings: list[str],
        dest: str,
        text: Callable[[CommandParser, argparse.Namespace], str],
        help: str | None = None,
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)
        self._text = text

    def __call__(self, parser: Any, namespace: argparse.Namespace, *_: object) -> None:
        print(self._text(parser, namespace), end="")
        parser.exit()


def _help(parser: CommandParser, namespace: argparse.Namespace) -> str:
    about = parser.help_about(namespace) if parser.help_about else None
    return parser.format_help() if about is None else about


def _version(parser: CommandParser, namespace: argparse.Namespace) -> str:
    # Imported here because importlib.metadata is slow to import.
    from importlib.metadata import version

    return f"zlens {version('zlens')}\n"
