"""Which event records are evidence that counters began anew."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("evidence.toml")
#: The subject kind of evidence that concerns every counter of the system.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A record that tells of a reset.

    `subject_kind` says whose counters; the values of `fields` name the subject in the order of the
    subject's columns, fewer of them every subject that begins so, none every subject of that kind.
    `time` is the field with the moment, None where it is the record's own time.
    """

    record: str
    kind: str
    subject_kind: str
    fields: tuple[str, ...]
    time: str | None
    source: str
    status: str
    note: str | None


@cache
def evidence() -> tuple[Evidence, ...]:
    """All evidence the catalog knows, read once."""
    data = tomllib.loads(PATH.read_text(encoding="utf-8"))
    return tuple(
        Evidence(
            record=item["record"],
            kind=item["kind"],
            subject_kind=item["subject_kind"],
            fields=tuple(item["fields"]),
            time=item.get("time"),
            source=item["source"],
            status=item["status"],
            note=item.get("note"),
        )
        for item in data["evidence"]
    )


def concerning(subject_kind: str | None) -> list[Evidence]:
    """The evidence of a reset of subjects of that kind, that of everything included."""
    return [item for item in evidence() if item.subject_kind in (ALL, subject_kind)]
