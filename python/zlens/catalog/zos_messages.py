"""Reports of z/OS texts about processors and hardware instrumentation (`zos/texts.toml`)."""

from functools import cached_property
from typing import Annotated, ClassVar, Literal

from msgspec import field

from zlens.catalog.raw_columns import RawColumn
from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc

_TYPES = {"int": "int", "truth": "bool"}
#: Column with the counter sets that the command requested, which no parameter states.
ASKED = "counter_sets_asked"


class MessageLabel(FactTable, frozen=True):
    """A label of a text."""

    label: Annotated[str, doc("its words")]
    column: RawColumn
    form: Annotated[
        Literal["word", "text", "rest", "int", "list", "truth"],
        doc("the format of its value, which determines its end and type"),
    ] = "text"
    section: Annotated[str, doc("the section that it is in")] = ""
    joins: Annotated[bool, doc("whether a line without a label continues it")] = False
    bare: Annotated[bool, doc("whether no sign follows it")] = False

    def __post_init__(self) -> None:
        if self.column.type != (expected := _TYPES.get(self.form, "text")):
            raise ValueError(f"label {self.label!r}: its column is of type {expected}")


class NoticeText(SourcedTable, frozen=True):
    """Format of a one-line message."""

    id: Annotated[str, doc("its identifier")]
    text: Annotated[str, doc("its words; those in braces are columns of the table zos_notice")]
    title: Annotated[str, doc("what it reports")]


class HisFacts(FactTable, frozen=True):
    """Words of hardware instrumentation."""

    headings: Annotated[tuple[str, ...], doc("lines without a value")]
    alone: Annotated[tuple[str, ...], doc("parameters on their own")]
    operands: Annotated[dict[str, str], doc("columns by operand of the command")]
    sets: Annotated[dict[str, str], doc("counter sets by the name in texts")]


class MessageFacts(FactFile, SourcedTable, frozen=True, dict=True):
    """Labels of texts, and the meaning of short codes."""

    path: ClassVar = "zos/texts.toml"
    run_labels: Annotated[tuple[MessageLabel, ...], doc("of a run")] = field(name="run")
    service_labels: Annotated[tuple[MessageLabel, ...], doc("of the service")] = field(name="service")
    machine_labels: Annotated[tuple[MessageLabel, ...], doc("of the machine")] = field(name="machine")
    notices: Annotated[tuple[NoticeText, ...], doc("messages")] = field(name="notice")
    his: HisFacts
    states: Annotated[dict[str, str], doc("states of processors by code")]
    types: Annotated[dict[str, str], doc("types of processors by code")]
    polarities: Annotated[dict[str, str], doc("polarities by code")]
    modes: Annotated[dict[str, str], doc("multithreading modes by their name in MT_MODE")]

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
