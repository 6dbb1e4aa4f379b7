"""Reports of z/OS texts about processors and hardware instrumentation (`zos/texts.toml`)."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Annotated, Literal

from msgspec import Meta, field

from zlens.catalog.raw_columns import RawColumn
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable

_TYPES = {"int": "int", "truth": "bool"}
#: Column with the counter sets that the command requested, which no parameter states.
ASKED = "counter_sets_asked"


class MessageLabel(FactTable, frozen=True):
    """A label of a text."""

    label: Annotated[str, Meta(description="its words")]
    column: RawColumn
    form: Annotated[
        Literal["word", "text", "rest", "int", "list", "truth"],
        Meta(description="the format of its value, which determines its end and type"),
    ] = "text"
    section: Annotated[str, Meta(description="the section that it is in")] = ""
    joins: Annotated[bool, Meta(description="whether a line without a label continues it")] = False
    bare: Annotated[bool, Meta(description="whether no sign follows it")] = False

    def __post_init__(self) -> None:
        if self.column.type != (expected := _TYPES.get(self.form, "text")):
            raise ValueError(f"label {self.label!r}: its column is of type {expected}")


class NoticeText(SourcedTable, frozen=True):
    """Format of a one-line message."""

    id: Annotated[str, Meta(description="its identifier")]
    text: Annotated[str, Meta(description="its words; those in braces are columns of the table zos_notice")]
    title: Annotated[str, Meta(description="what it reports")]


class HisFacts(FactTable, frozen=True):
    """Words of hardware instrumentation."""

    headings: Annotated[tuple[str, ...], Meta(description="lines without a value")]
    alone: Annotated[tuple[str, ...], Meta(description="parameters on their own")]
    operands: Annotated[dict[str, str], Meta(description="columns by operand of the command")]
    sets: Annotated[dict[str, str], Meta(description="counter sets by the name in texts")]


class MessageFacts(SourcedTable, frozen=True, dict=True):
    """Labels of texts, and the meaning of short codes."""

    run_labels: Annotated[tuple[MessageLabel, ...], Meta(description="of a run")] = field(name="run")
    service_labels: Annotated[tuple[MessageLabel, ...], Meta(description="of the service")] = field(
        name="service"
    )
    machine_labels: Annotated[tuple[MessageLabel, ...], Meta(description="of the machine")] = field(
        name="machine"
    )
    notices: Annotated[tuple[NoticeText, ...], Meta(description="messages")] = field(name="notice")
    his: HisFacts
    states: Annotated[dict[str, str], Meta(description="states of processors by code")]
    types: Annotated[dict[str, str], Meta(description="types of processors by code")]
    polarities: Annotated[dict[str, str], Meta(description="polarities by code")]
    modes: Annotated[dict[str, str], Meta(description="multithreading modes by their name in MT_MODE")]

    def __post_init__(self) -> None:
        for labels in (self.run_labels, self.service_labels, self.machine_labels):
            names = [label.column.name for label in labels]
            if twice := {name for name in names if names.count(name) > 1}:
                raise ValueError(f"the column {min(twice)} is defined twice")
        columns = {label.column.name for label in self.run_labels}
        if unknown := {*self.his.operands.values()} - columns - {ASKED}:
            raise ValueError(f"operands define no column {', '.join(sorted(unknown))}")

    @cached_property
    def run(self) -> dict[str, MessageLabel]:
        """The labels of a run."""
        return {label.label: label for label in self.run_labels}

    @cached_property
    def service(self) -> dict[tuple[str, str], MessageLabel]:
        """The labels of the service by section and name."""
        return {(label.section, label.label): label for label in self.service_labels}

    @cached_property
    def machine(self) -> dict[str, MessageLabel]:
        """The labels of the machine."""
        return {label.label: label for label in self.machine_labels}


@cache
def facts() -> MessageFacts:
    """Return the facts of the catalog."""
    return structs.load(FACTS / "zos" / "texts.toml", MessageFacts)
