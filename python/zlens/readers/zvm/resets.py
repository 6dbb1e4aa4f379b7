"""Counter resets in z/VM monitor records: IPL, VARY, logon and similar events.

The catalog lists the records that are reset evidence. This module reads them from the files and converts them
into times for the decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from zlens._native import MonwriteFile
from zlens.catalog import layouts, plans
from zlens.catalog.layout_selection import LayoutSelection
from zlens.catalog.resets import ALL, ResetFile, ResetRule

#: The layout of each length of a record.
Choices = Callable[[str], Mapping[int, LayoutSelection]]

#: Time (TOD), table, subject (None: the entire table), description of the evidence.
Reset = tuple[int, str, str | None, str]

#: Evidence records read per file and kind; a hostile file may contain millions.
MAX_RECORDS = 200_000

_HEADER_TOD = slice(8, 16)


def resets(
    files: Iterable[MonwriteFile],
    records: Collection[str],
    choices: Choices,
    selected_plans: Iterable[dict[str, Any]],
) -> list[Reset]:
    """Return when counters of the planned tables were reset, from the `records` that the files have."""
    tables: dict[str | None, list[str]] = {}
    for plan in selected_plans:
        if any(column["difference"] for column in plan["columns"]):
            tables.setdefault(plan["subject_kind"], []).append(plan["table"])
    result: list[Reset] = []
    for event in ResetFile.load().evidence:
        if event.record not in records:
            continue
        concerned = [
            table
            for subject_kind, table_names in tables.items()
            if event.subject_kind in (ALL, subject_kind)
            for table in table_names
        ]
        if concerned:
            for tod, subject in _distinct_resets(files, choices(event.record), event):
                result += [(tod, table, subject, event.kind) for table in concerned]
    return result


def _distinct_resets(
    files: Iterable[MonwriteFile], choices: Mapping[int, LayoutSelection], event: ResetRule
) -> list[tuple[int, str | None]]:
    """Return the distinct times (TOD) and subjects of one kind of evidence."""
    times_and_subjects: dict[tuple[int, str | None], None] = {}
    for file in files:
        for _, data in file.records(*layouts.record_key(event.record), MAX_RECORDS):
            choice = choices.get(len(data))
            values = plans.decode(choice.layout, data) if choice and choice.layout else {}
            tod = int.from_bytes(data[_HEADER_TOD])
            if event.time is not None:
                timestamp = values.get(event.time)
                if not isinstance(timestamp, int):
                    continue
                tod = timestamp
            subject = [values.get(name) for name in event.fields]
            if None in subject:
                # The subject is unknown, so no counters are treated as reset.
                continue
            times_and_subjects[(tod, "/".join(map(str, subject)) if subject else None)] = None
    return list(times_and_subjects)
