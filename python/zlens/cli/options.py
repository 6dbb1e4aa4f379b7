"""Arguments of commands, declared as the help shows them.

    NAME?                 a positional argument: one; ? at most one; * any number; + at least one
    --all                 an option without a value
    -o --output FILE!     an option with a value; ! it is required
    --only VALUE...       an option that may be repeated; its value is a list
    --from INPUT+         an option with several values
    --form {text,csv}     one of these values; also after the name of the value
    --runs N:int [1]      the type of a value (int or float), and its default
    --to TIME -> end      the attribute that gets the value, if it has another name
    which data:           a group for the following lines; "options:" ends it

The help follows after two blanks or more; its further lines are indented.
"""

from __future__ import annotations

import re
from argparse import _ActionsContainer
from typing import Any

_ENTRIES = re.compile(r"\n(?=\S)")
_NAME = re.compile(r"(?<!\S)--?\w\S*")
_VALUE = re.compile(r"([^{]+?)?( ?\{.+\})?(\.\.\.|[?*+!])?(?::(int|float))?(?: \[(.+)\])?")

_TYPES = {"int": int, "float": float}


def add_arguments(parser: _ActionsContainer, text: str) -> None:
    """Add the arguments that a text declares."""
    target = parser
    for entry in filter(None, _ENTRIES.split(text.strip("\n"))):
        usage, *help = re.split(r"\s{2,}", entry, maxsplit=1)
        if not help:
            title = usage.removesuffix(":")
            target = parser if title == "options" else parser.add_argument_group(title)
            continue
        usage, _, dest = usage.partition(" -> ")
        names = _NAME.findall(usage)
        value = usage.removeprefix(" ".join(names)).strip()
        settings = _value(value) if value else {"action": "store_true"}
        if not names:
            names = [dest or settings["metavar"].partition(".")[0].lower()]
        elif dest:
            settings["dest"] = dest
        target.add_argument(*names, help=" ".join(help[0].split()), **settings)


def _value(text: str) -> dict[str, Any]:
    """Return the settings of argparse for the value of an argument."""
    match = _VALUE.fullmatch(text)
    assert match is not None
    metavar, choices, count, kind, default = match.groups()
    settings: dict[str, Any] = {"metavar": metavar} if metavar else {}
    if choices:
        settings["choices"] = tuple(choices.strip(" {}").split(","))
    if kind:
        settings["type"] = _TYPES[kind]
    if default:
        settings["default"] = _TYPES[kind](default) if kind else default
    if count == "...":
        return {**settings, "action": "append", "default": []}
    if count == "!":
        return {**settings, "required": True}
    return {**settings, "nargs": count} if count else settings
