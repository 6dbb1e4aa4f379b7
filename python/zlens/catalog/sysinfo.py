"""Lines of /proc/sysinfo and lscpu (`linux/sysinfo.toml`)."""

from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.catalog.layouts import Status
from zlens.catalog.raw_tables import TableColumn
from zlens.schema.structs import FactFile, doc

_Lines = dict[str, Annotated[tuple[TableColumn, ...], Meta(min_length=1)]]


class SysinfoFacts(FactFile, frozen=True):
    """Columns of lines by label."""

    path: ClassVar = "linux/sysinfo.toml"
    source: Annotated[str, doc("where the facts are from")]
    status: Annotated[Status, doc("how sure they are")]
    machine: Annotated[_Lines, doc("the lines of the machine and the partition")]
    vm: Annotated[_Lines, doc("the lines of every virtual machine")]
    lscpu: Annotated[_Lines, doc("the lines of lscpu that name columns of the machine")]
