"""Finds in z/VM monitor records when counters were reset: IPL, VARY, logon and their like.

Which records are evidence of what stands in the catalog; here they are read from the files and turned
into moments for the decoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from zlens.catalog import layouts, plans
from zlens.catalog.resets import ALL, Evidence, evidence

if TYPE_CHECKING:
    from zlens.readers.zvm.monwrite import MonwriteSource
    from zlens.readers.zvm.times import Group

#: Moment (TOD), table, subject (None: all of the table), evidence in words.
Reset = tuple[int, str, str | None, str]

#: Evidence records read per file and kind; a hostile file may hold millions.
MAX_RECORDS = 200_000

_HEADER_TOD = slice(8, 16)


def resets(source: MonwriteSource, group: Group, chosen: Iterable[dict[str, Any]]) -> list[Reset]:
    """The moments at which counters of the planned tables were reset, by the records of their system."""
    tables: dict[str | None, list[str]] = {}
    for plan in chosen:
        if any(column["difference"] for column in plan["columns"]):
            tables.setdefault(plan["subject_kind"], []).append(plan["table"])
    found: list[Reset] = []
    for known in evidence():
        if known.record not in source.types(group):
            continue
        concerned = [
            table
            for subject_kind, some in tables.items()
            if known.subject_kind in (ALL, subject_kind)
            for table in some
        ]
        if concerned:
            for tod, subject in _moments(source, group, known):
                found += [(tod, table, subject, known.kind) for table in concerned]
    return found


def _moments(source: MonwriteSource, group: Group, known: Evidence) -> list[tuple[int, str | None]]:
    """When it happened, and to whom; each once."""
    moments: dict[tuple[int, str | None], None] = {}
    choices = source.choices(group, known.record)
    for file in group.files:
        for _, data in file.records(*layouts.record_key(known.record), MAX_RECORDS):
            choice = choices.get(len(data))
            values = plans.decode(choice.layout, data) if choice and choice.layout else {}
            tod = int.from_bytes(data[_HEADER_TOD])
            if known.time is not None:
                stamp = values.get(known.time)
                if not isinstance(stamp, int):
                    continue
                tod = stamp
            named = [values.get(name) for name in known.fields]
            if None in named:
                # Who it was cannot be told: nobody's counters are taken to have been reset.
                continue
            moments[(tod, "/".join(map(str, named)) if named else None)] = None
    return list(moments)
