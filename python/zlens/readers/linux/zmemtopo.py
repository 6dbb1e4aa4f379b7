"""Memory of the partitions of a machine and where it is: output of zmemtopo from s390-tools as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from zlens.readers.linux import json_lists
from zlens.readers.linux.perf import Note
from zlens.readers.linux.readings import Reading, Tool, integer, microseconds
from zlens.readers.row_tables import Row

NAME = "linux-memory"

_TABLE = "zmemtopo"
_PARTITIONS = json_lists.begins("partitions")
_INCREMENT = re.compile(r'"increment_size"\s*:\s*(\d{1,20})\b')
_OWN = re.compile(r'"report_partition_nr"\s*:\s*(\d{1,5})\b')
_TIME = re.compile(r'"time_epoch"\s*:\s*"?(\d{1,20})\b')
#: Highest level of DIAGNOSE X'310'.
_LEVELS = 6
#: Longest name of a partition that is kept.
_MAX_NAME = 64


def _form(text: str) -> str | None:
    return "json" if text.startswith("{") and _INCREMENT.search(text) and _PARTITIONS.search(text) else None


def _readings(text: str, form: str, note: Note) -> Iterator[Reading]:
    """Yield one reading per run; of a truncated one, the complete partitions."""
    # The facts of a run come before its partitions.
    starts = [match.start() for match in _PARTITIONS.finditer(text)]
    readings: dict[int, Reading | None] = {}
    facts: dict[int, Row] = {}
    for offset, run, partition in json_lists.entries(text, _PARTITIONS, note):
        if run not in readings:
            head = text[starts[run - 1] if run else 0 : starts[run]]
            times, sizes, own = (_last(pattern, head) for pattern in (_TIME, _INCREMENT, _OWN))
            tod = microseconds(times)
            if tod is None:
                note("time", "partitions without a time_epoch before them; not read", offset)
            readings[run] = None if tod is None else Reading(offset, tod, {_TABLE: []})
            facts[run] = {"increment_bytes": integer(sizes), "own_number": integer(own)}
        reading = readings[run]
        if not isinstance(partition, dict):
            note("header", f"{str(partition)[:40]!r} is not a partition; not read", offset)
        elif reading is not None:
            number, name = integer(partition.get("partition_nr")), partition.get("partition_name")
            subject = {"number": number, "name": name[:_MAX_NAME] if isinstance(name, str) else None}
            containers = _containers(partition.get("topology"))
            reading.rows[_TABLE] += (facts[run] | subject | container for container in containers)
    yield from (reading for reading in readings.values() if reading is not None)


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    matches = pattern.findall(text)
    return matches[-1] if matches else None


def _containers(topology: Any, parents: tuple[int | None, ...] = ()) -> Iterator[Row]:
    """Yield the containers of memory below a parent, each before those that it consists of."""
    for container in topology if isinstance(topology, list) and len(parents) < _LEVELS else ():
        if isinstance(container, dict):
            path = *parents, integer(container.get("entry_idx"))
            yield {
                "level": integer(container.get("level")),
                "depth": len(path),
                "path": "/".join("." if entry is None else str(entry) for entry in path),
                "increments": integer(container.get("increment_count")),
            }
            yield from _containers(container.get("topology"), path)


TOOL = Tool(
    NAME,
    "zmemtopo",
    "memory reading",
    "linux/memory_tables",
    "the output of zmemtopo --format json, jsonl or json-seq on a Linux on Z",
    _form,
    _readings,
)

detect = TOOL.detect
open_files = TOOL.open_files
