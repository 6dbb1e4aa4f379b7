"""Partitions or guests as hyptop from s390-tools shows them, as JSON.

hyptop prints the times that a hypervisor counts per second: in a partition those of all partitions (DIAGNOSE
X'204'), in a guest of z/VM those of all guests (X'2FC').
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from zlens.catalog.raw_tables import load_tables
from zlens.readers.linux import json_lists
from zlens.readers.linux.perf import Note
from zlens.readers.linux.readings import Reading, Tool, integer, microseconds
from zlens.readers.row_tables import Row

NAME = "linux-hypervisor"

_TABLES = "linux/hypervisor_tables"
_ITERATIONS = json_lists.begins("hyptop")
_ENTRY = re.compile(r'"cputypes"\s*:\s*\{')
#: Columns by heading of hyptop.
_COLUMNS = {
    "system": "name",
    "coreid": "cpu",
    "cpuid": "cpu",
    "type": "type",
    "#core": "cores",
    "#the": "threads",
    "#cpu": "cpus",
    "#cpuop": "operating_cpus",
    "core": "core",
    "cpu": "cpu_time",
    "the": "thread",
    "smt": "smt",
    "mgm": "management",
    "core+": "core_total",
    "cpu+": "cpu_total",
    "the+": "thread_total",
    "mgm+": "management_total",
    "online": "online",
    "memuse": "memory_used",
    "memmax": "memory_max",
    "wcur": "weight",
    "wmax": "weight_max",
}
#: Longest text of a cell.
_MAX_TEXT = 64


def _form(text: str) -> str | None:
    return "json" if text.startswith("{") and _ENTRY.search(text) else None


def _readings(text: str, form: str, note: Note) -> Iterator[Reading]:
    known = load_tables(_TABLES).tables
    types = {name: {column.name: column.type for column in table.columns} for name, table in known.items()}
    latest: tuple[int, int] | None = None
    for offset, run, entry in json_lists.entries(text, _ITERATIONS, note):
        tod = microseconds(entry.get("time_epoch")) if isinstance(entry, dict) else None
        if tod is None:
            note("time", "an iteration without time_epoch; not read", offset)
            continue
        # hyptop waits for one second before its first iteration.
        seconds = 1.0 if latest is None or latest[0] != run else (tod - latest[1]) / 1e6
        latest = run, tod
        rows: dict[str, list[Row]] = {}
        for table, cells in _cells(entry):
            if isinstance(cells, dict):
                rows.setdefault(table, []).append(_row(cells, types[table]))
            else:
                note("header", f"{str(cells)[:40]!r} is not an object; not read", offset)
        yield Reading(offset, tod, rows, seconds if seconds > 0 else None)


def _cells(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the objects of an iteration, each with its table."""
    for key in ("systems", "cpus"):
        values = entry.get(key)
        for cells in values if isinstance(values, list) else ():
            table = "hyptop_cpu"
            if key == "systems":
                table = "hyptop_partition" if isinstance(cells, dict) and "#core" in cells else "hyptop_guest"
            yield table, cells
    types, physical = entry.get("cputypes"), entry.get("physical_information")
    if isinstance(types, dict):
        yield "hyptop_machine", {**types, **(physical if isinstance(physical, dict) else {})}


def _row(cells: dict[str, Any], types: Mapping[str, str]) -> Row:
    named = {_COLUMNS.get(heading, heading): value for heading, value in cells.items()}
    return {name: _value(value, types[name]) for name, value in named.items() if name in types}


def _value(value: Any, kind: str) -> Any:
    """Return a cell in the type of its column; None if it is none."""
    if kind == "int":
        return integer(value)
    if value is None or isinstance(value, bool | list | dict):
        return None
    if kind == "text":
        return str(value)[:_MAX_TEXT]
    return float(value) if isinstance(value, int | float) and 0 <= value < math.inf else None


TOOL = Tool(
    NAME,
    "hyptop",
    "hypervisor reading",
    _TABLES,
    "the output of hyptop --format json, jsonl or json-seq on a Linux on Z",
    _form,
    _readings,
)

detect = TOOL.detect
open_files = TOOL.open_files
