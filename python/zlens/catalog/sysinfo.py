"""The lines of /proc/sysinfo: `linux/sysinfo.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.catalog.raw_columns import RawColumn
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_TYPES = ("int", "float", "text")


class SysinfoLine(Struct, frozen=True):
    """A line of the text; several columns are the words of its value."""

    label: str
    columns: tuple[RawColumn, ...]


class SysinfoFacts(Struct, frozen=True):
    """The lines of the machine and the partition, and those of every virtual machine, by label."""

    machine: dict[str, SysinfoLine]
    vm: dict[str, SysinfoLine]
    source: str
    status: str

    def columns(self, part: str) -> tuple[RawColumn, ...]:
        """The columns of `machine` or `vm`, in the order of the lines."""
        lines: dict[str, SysinfoLine] = getattr(self, part)
        return tuple(column for line in lines.values() for column in line.columns)


@cache
def facts() -> SysinfoFacts:
    """The facts of the catalog."""
    path = FACTS / "linux" / "sysinfo.toml"
    data = document.load_unchecked(path)
    return SysinfoFacts(
        machine=_lines(data["machine"], path),
        vm=_lines(data["vm"], path),
        source=data["source"],
        status=data["status"],
    )


def _lines(entries: list[dict[str, Any]], path: Path) -> dict[str, SysinfoLine]:
    lines: dict[str, SysinfoLine] = {}
    for entry in entries:
        columns = tuple(
            RawColumn(column["name"], column["type"], column.get("unit", ""), column["text"])
            for column in entry["columns"]
        )
        label = entry["label"]
        badly_typed = [column.name for column in columns if column.type not in _TYPES]
        if label in lines or badly_typed or not columns:
            problem = (
                f"it has the type of {badly_typed[0]} wrong"
                if badly_typed
                else "it is defined twice or has no column"
            )
            raise CatalogError(f"line {label!r}: {problem}", file=str(path), expected=", ".join(_TYPES))
        lines[label] = SysinfoLine(label, columns)
    return lines
