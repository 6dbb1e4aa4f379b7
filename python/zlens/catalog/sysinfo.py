"""Lines of /proc/sysinfo (`linux/sysinfo.toml`)."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.raw_tables import COLUMN, ORIGIN
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Key, ListOf, MapOf, Spec


class SysinfoFacts(Struct, frozen=True):
    """Columns of lines by label: of the machine and the partition, and of every virtual machine."""

    machine: dict[str, tuple[RawColumn, ...]]
    vm: dict[str, tuple[RawColumn, ...]]
    source: str
    status: str


_LINES = MapOf(ListOf(COLUMN, 1, into=tuple))
_FILE = Spec(
    (
        *ORIGIN,
        Key("machine", _LINES, "the lines of the machine and the partition"),
        Key("vm", _LINES, "the lines of every virtual machine"),
    ),
    SysinfoFacts,
)


@cache
def facts() -> SysinfoFacts:
    """Return the facts of the catalog."""
    loaded: SysinfoFacts = document.load(FACTS / "linux" / "sysinfo.toml", _FILE)
    return loaded
