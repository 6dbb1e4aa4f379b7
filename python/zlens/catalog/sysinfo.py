"""Lines of /proc/sysinfo and lscpu (`linux/sysinfo.toml`)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta

from zlens.catalog.layouts import Status
from zlens.catalog.raw_tables import TableColumn
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc

_Lines = dict[str, Annotated[tuple[TableColumn, ...], Meta(min_length=1)]]


class SysinfoFacts(FactTable, frozen=True):
    """Columns of lines by label."""

    source: Annotated[str, doc("where the facts are from")]
    status: Annotated[Status, doc("how sure they are")]
    machine: Annotated[_Lines, doc("the lines of the machine and the partition")]
    vm: Annotated[_Lines, doc("the lines of every virtual machine")]
    lscpu: Annotated[_Lines, doc("the lines of lscpu that name columns of the machine")]


@cache
def facts() -> SysinfoFacts:
    """Return the facts of the catalog."""
    return structs.load(FACTS / "linux" / "sysinfo.toml", SysinfoFacts)
