"""Event records that z/VM could not write while event recording was suspended."""

from __future__ import annotations

from collections.abc import Iterator

from zlens._native import MonwriteFile, unix_us_from_tod
from zlens.catalog import layouts, plans, roles
from zlens.catalog.layout_selection import select_layout
from zlens.inputs.problems import Problem
from zlens.inputs.unix_time import from_unix_us
from zlens.readers.zvm.intervals import MAX_REMARKS, NAME, MonitorSystem

_CLOCK = "%Y-%m-%d %H:%M:%S"
_TOD = slice(8, 16)
#: The last record before a suspension of event recording, and the first one after it.
BEGAN, ENDED = "D1R12", "D1R3"


def lost_event_problems(group: MonitorSystem, leap: int) -> list[Problem]:
    """Return a problem per suspension of event recording, with its time range and number of lost records."""
    problems: list[Problem] = []
    for file in group.files:
        problems += _suspensions(group, file, leap)
    return problems[:MAX_REMARKS]


def _suspensions(group: MonitorSystem, file: MonwriteFile, leap: int) -> Iterator[Problem]:
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
                yield _problem(group, file, suspension[0], BEGAN, f"from {_time(suspension[1], leap)} UTC on")
            suspension = (offset, tod)
            continue
        since = "up to" if suspension is None else f"from {_time(suspension[1], leap)} to"
        yield _problem(group, file, offset, ENDED, f"{since} {_time(tod, leap)} UTC", _lost(data))
        suspension = None
    if suspension is not None:
        detail = f"from {_time(suspension[1], leap)} UTC to the end of the file"
        yield _problem(group, file, suspension[0], BEGAN, detail)


def _problem(
    group: MonitorSystem,
    file: MonwriteFile,
    offset: int,
    record: str,
    span: str,
    lost: int | None = None,
) -> Problem:
    lost_records = "event records" if lost is None else f"{lost:,} event records"
    detail = f"{lost_records} lost while recording was suspended, {span}"
    return Problem(group.info.system, NAME, file.path, offset, record, "gap", detail, None)


def _lost(data: bytes) -> int | None:
    layout = select_layout(ENDED, len(data)).layout
    value = roles.value_of("suspension", "lost", plans.decode(layout, data)) if layout else None
    return value if isinstance(value, int) else None


def _time(tod: int, leap: int) -> str:
    time = from_unix_us(unix_us_from_tod(tod, leap))
    return f"{time:{_CLOCK}}"
