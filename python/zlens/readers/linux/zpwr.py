"""Power readings of Linux on Z: output of zpwr from s390-tools as JSON or CSV.

The firmware renews a reading once per update interval, and a tool that asks more often gets the same one
again, with the same iteration.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from zlens.readers.linux import json_lists
from zlens.readers.linux.perf import Note
from zlens.readers.linux.readings import Reading, Tool, integer, microseconds

NAME = "linux-power"

_TABLE = "linux_power"
_VALUES = ("cpu", "storage", "io", "total", "unassigned_resources", "infrastructure")
_TIMES = ("iteration", "time_epoch_sec", "time_epoch_nsec", "update_interval")
_READINGS = json_lists.begins("zpwr")
_ENTRY = re.compile(r'"update_interval"\s*:.*"cpc"\s*:', re.S)
_PAIR = r'"\w+"\s*:\s*(?:"[^"\\]*"|\w+)'
_PAIRS = re.compile(rf'("(?:lpar|cpc)"\s*:\s*)\[(\s*{_PAIR}(?:\s*,\s*{_PAIR})*\s*)\]')

#: Offset in the text and the values of a reading by name.
_Values = tuple[int, dict[str, Any]]


def _form(text: str) -> str | None:
    if text.startswith("{"):
        return "json" if _READINGS.search(text) or _ENTRY.search(text) else None
    header = text.partition("\n")[0].replace('"', "").strip().split(",")
    return "csv" if header[0] == "iteration" and {*_TIMES, *_VALUES} <= {*header} else None


def _readings(text: str, form: str, note: Note) -> Iterator[Reading]:
    latest: tuple[Any, ...] | None = None
    for offset, values in _json(text, note) if form == "json" else _csv(text, note):
        tod = microseconds(values.get("time_epoch_sec"), values.get("time_epoch_nsec"))
        if tod is None:
            note("time", "a reading without time_epoch_sec; not read", offset)
            continue
        watts = {name: integer(values.get(name)) for name in _VALUES}
        if all(value is None for value in watts.values()):
            note("header", "a reading without values; not read", offset)
            continue
        iteration, interval = integer(values.get("iteration")), integer(values.get("update_interval"))
        key = (iteration, *watts.values())
        if iteration is not None and key == latest:
            # The firmware has not renewed it.
            continue
        latest = key
        update_s = None if interval is None else interval / 1e9
        row = {"iteration": iteration, "update_s": update_s, **watts}
        yield Reading(offset, tod, {_TABLE: [row]})


TOOL = Tool(
    NAME,
    "zpwr",
    "power reading",
    "linux/power_tables",
    "the output of zpwr --format json or csv on a Linux on Z",
    _form,
    _readings,
)


def _json(text: str, note: Note) -> Iterator[_Values]:
    """Yield the readings of JSON; a truncated file yields the complete ones.

    zpwr prints its objects in brackets of lists, which is not JSON.
    """
    text = _PAIRS.sub(r"\1{\2}", text)
    for offset, _, reading in json_lists.entries(text, _READINGS, note):
        if isinstance(reading, dict):
            parts = [part for part in (reading.get("lpar"), reading.get("cpc")) if isinstance(part, dict)]
            yield offset, reading | {name: value for part in parts for name, value in part.items()}
        else:
            note("header", f"{str(reading)[:40]!r} is not a reading; not read", offset)


def _csv(text: str, note: Note) -> Iterator[_Values]:
    """Yield the readings of CSV; another header begins another run."""
    names: list[str] = []
    end = 0
    for line in text.splitlines(keepends=True):
        offset, end = end, end + len(line)
        if not line.strip():
            continue
        try:
            cells = next(csv.reader(io.StringIO(line)), [])
        except csv.Error:
            cells = []
        if cells and cells[0] == "iteration":
            names = cells
        elif len(cells) != len(names):
            kind = "truncated" if end == len(text) else "header"
            note(kind, f"{len(cells)} values under {len(names)} names; not read", offset)
        else:
            yield offset, dict(zip(names, cells, strict=True))


detect = TOOL.detect
open_files = TOOL.open_files
