"""Tests of interface texts: each code is used, and has the words of each interface."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.errors import QueryError, Wording
from zlens.schema import wording
from zlens.schema.facts import FACTS

CODES = wording.InterfaceTexts.by_name()
SOURCES = Path(zlens.__file__).parent
COMMANDS = "info|report|sql|explain|findings|compare|study|solve|plan|import|lake|serve|demo|catalog"
#: Packages that are an interface.
FACES = ("cli", "__main__.py")


@pytest.mark.parametrize("code", CODES)
def test_every_interface_has_wording(code: str) -> None:
    assert "--" not in CODES[code].python
    texts = (CODES[code].command, CODES[code].page, CODES[code].python)
    names = [set(re.findall(r"{(\w+)}", text)) for text in texts]
    assert names[1] <= names[0]
    assert names[2] <= names[0]


def test_python_names_exist() -> None:
    names = {name for texts in CODES.values() for name in re.findall(r"zlens(?:\.\w+)+", texts.python)}
    assert len(names) > 5
    for name in sorted(names):
        pkgutil.resolve_name(name)


def test_wording_codes_are_used_and_defined() -> None:
    used = set()
    for path in SOURCES.rglob("*.py"):
        used |= set(re.findall(r"\bphrase\(\s*\"(\w+)\"", path.read_text(encoding="utf-8")))
    assert used == set(CODES)


def test_libraries_name_no_cli_options() -> None:
    """Only the command line names its options."""
    spoken = []
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith(FACES):
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.search(rf"(cure=|cure = |Error\().*(zlens ({COMMANDS}) |--[a-z])", line):
                spoken += [f"{name}: {line.strip()}"]
    assert spoken == []


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_facts_name_no_cli_options() -> None:
    """The web UI shows these texts: formulas, sources, needs, notes, texts of reports and rules."""
    spoken = []
    for path in sorted(FACTS.rglob("*.toml")):
        if path.name == "wording.toml" or path.name.startswith("_"):
            continue
        texts = strings(tomllib.loads(path.read_text(encoding="utf-8")))
        spoken += [f"{path.name}: {text}" for text in texts if re.search(r"(^|[\s(`'\"])--[a-z]", text)]
    assert spoken == []


def test_error_text_of_each_interface() -> None:
    error = QueryError("there is no report", expected="one of ours", cure=wording.phrase("reports"))
    assert str(error).endswith("; zlens.reports.names() lists them")
    assert error.text_for(Wording.for_command_line).endswith("; zlens report --list lists them")
    assert error.text_for(Wording.for_web_ui).endswith("; Reports lists them")


def test_wording_placeholders() -> None:
    text = wording.sentence(
        "{setting} or {other}", setting=wording.phrase("set", what="a=1"), other="nothing"
    )
    assert text == "a=1 or nothing"
    assert text.command == "--set a=1 or nothing"
    assert Wording.for_web_ui("plain") == "plain"
