"""Options of commands, declared as the help shows them: `--to TIME`."""

from __future__ import annotations

from argparse import _ActionsContainer
from typing import Any


def option(parser: _ActionsContainer, usage: str, help: str, **settings: Any) -> None:
    """Add an option with a value: `--to TIME`, or `-o --output FILE`; settings are those of argparse."""
    *names, metavar = usage.split()
    parser.add_argument(*names, metavar=metavar, help=help, **settings)


def repeated(parser: _ActionsContainer, usage: str, help: str, **settings: Any) -> None:
    """Add an option that may be repeated; its value is a list."""
    option(parser, usage, help, action="append", default=[], **settings)


def flag(parser: _ActionsContainer, usage: str, help: str, **settings: Any) -> None:
    """Add an option without a value."""
    parser.add_argument(*usage.split(), action="store_true", help=help, **settings)
