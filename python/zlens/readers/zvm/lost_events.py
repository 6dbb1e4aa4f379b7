"""Event records that z/VM could not write while event recording was suspended."""

from __future__ import annotations

from collections.abc import Iterator

from zlens._native import MonwriteFile
from zlens.catalog import layouts, plans, roles
from zlens.catalog.layout_selection import select_layout
from zlens.inputs.problems import Problem
from zlens.readers.zvm.intervals import MAX_REMARKS, MonitorSystem

_TOD = slice(8, 16)
#: The last record before a suspension of event recording, and the first one after it.
BEGAN, ENDED = "D1R12", "D1R3"


def lost_event_problems(group: MonitorSystem) -> list[Problem]:
    """Return a problem per suspension of event recording, with its time range and number of lost records."""
    return [problem for file in group.files for problem in _suspensions(group, file)][:MAX_REMARKS]


def _suspensions(group: MonitorSystem, file: MonwriteFile) -> Iterator[Problem]:
    markers = [
        (offset, record, data)
        for record in (BEGAN, ENDED)
        for offset, data in file.records(*layouts.record_key(record), MAX_REMARKS)
    ]
    suspension: tuple[int, int] | None = None
    for offset, record, data in sorted(markers):
        tod = int.from_bytes(data[_TOD])
        if record == BEGAN:
            if suspension is not None:
                yield _problem(group, file, suspension[0], BEGAN, f"from {group.clock(suspension[1])} UTC on")
            suspension = (offset, tod)
            continue
        since = "up to" if suspension is None else f"from {group.clock(suspension[1])} to"
        yield _problem(group, file, offset, ENDED, f"{since} {group.clock(tod)} UTC", _lost(data))
        suspension = None
    if suspension is not None:
        detail = f"from {group.clock(suspension[1])} UTC to the end of the file"
        yield _problem(group, file, suspension[0], BEGAN, detail)


def _problem(
    group: MonitorSystem, file: MonwriteFile, offset: int, record: str, span: str, lost: int | None = None
) -> Problem:
    lost_records = "event records" if lost is None else f"{lost:,} event records"
    detail = f"{lost_records} lost while recording was suspended, {span}"
    return group.problem(file.path, offset, record, "gap", detail)


def _lost(data: bytes) -> int | None:
    layout = select_layout(ENDED, len(data)).layout
    value = roles.value_of("suspension", "lost", plans.decode(layout, data)) if layout else None
    return value if isinstance(value, int) else None
