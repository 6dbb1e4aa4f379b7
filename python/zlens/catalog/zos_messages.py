"""Reports of z/OS texts about processors and hardware instrumentation (`zos/texts.toml`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

#: Formats of the value of a label, which determine its end and type.
FORMS = ("word", "text", "rest", "int", "list", "truth")
_TYPES = {"int": "int", "truth": "bool"}


class MessageLabel(Struct, frozen=True):
    """A label of a text. joins: a line without a label continues it; bare: no sign follows it."""

    label: str
    column: RawColumn
    form: str
    joins: bool
    bare: bool


class NoticeText(Struct, frozen=True):
    """Format of a one-line message; words in braces are columns of the table zos_notice."""

    id: str
    text: str
    title: str
    source: str
    status: str


class MessageFacts(Struct, frozen=True):
    """Labels by name (those of the service by section and name), and the meaning of short codes."""

    run: dict[str, MessageLabel]
    service: dict[tuple[str, str], MessageLabel]
    machine: dict[str, MessageLabel]
    notices: tuple[NoticeText, ...]
    headings: tuple[str, ...]
    alone: tuple[str, ...]
    operands: dict[str, str]
    sets: dict[str, str]
    states: dict[str, str]
    types: dict[str, str]
    polarities: dict[str, str]
    modes: dict[str, str]
    source: str
    status: str


@cache
def facts() -> MessageFacts:
    """Return the facts of the catalog."""
    path = FACTS / "zos" / "texts.toml"
    data = document.load_unchecked(path)
    his = data["his"]
    run = {label.label: label for label in _labels(data["run"], path)}
    if unknown := {*his["operands"].values()} - {label.column.name for label in run.values()} - {ASKED}:
        raise CatalogError(f"operands define no column {', '.join(sorted(unknown))}", file=str(path))
    sections = [entry["section"] for entry in data["service"]]
    return MessageFacts(
        run=run,
        service={
            (section, label.label): label
            for section, label in zip(sections, _labels(data["service"], path), strict=True)
        },
        machine={label.label: label for label in _labels(data["machine"], path)},
        notices=tuple(NoticeText(**entry) for entry in data["notice"]),
        headings=tuple(his["headings"]),
        alone=tuple(his["alone"]),
        operands=his["operands"],
        sets=his["sets"],
        states=data["states"],
        types=data["types"],
        polarities=data["polarities"],
        modes=data["modes"],
        source=data["source"],
        status=data["status"],
    )


#: Column with the counter sets that the command requested, which no parameter states.
ASKED = "counter_sets_asked"


def _labels(entries: Iterable[dict[str, Any]], path: Path) -> Iterable[MessageLabel]:
    names: set[str] = set()
    for entry in entries:
        label, form, column = entry["label"], entry.get("form", "text"), RawColumn(**entry["column"])
        if form not in FORMS or column.type != _TYPES.get(form, "text") or column.name in names:
            raise CatalogError(
                f"label {label!r}: its format or type is wrong, or its column is defined twice",
                file=str(path),
                expected=", ".join(FORMS),
            )
        names.add(column.name)
        yield MessageLabel(label, column, form, entry.get("joins", False), entry.get("bare", False))
