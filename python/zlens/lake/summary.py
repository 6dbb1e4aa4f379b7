"""Contents of a lake: systems, days, tables and inputs, with rows and bytes."""

from __future__ import annotations

import os

from msgspec import Struct, field

from zlens.inputs.unix_time import time_range
from zlens.lake.lake_folder import find_part_document
from zlens.lake.location import open_lake
from zlens.schema.structs import attributes


class FileTotals(Struct):
    """Number of Parquet files, their rows and bytes."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def add(self, rows: int, size: int) -> None:
        self.files += 1
        self.rows += rows
        self.bytes += size


class SystemContents(Struct):
    """One system of one source. Times in microseconds since 1970, UTC."""

    system: str
    source: str
    inputs: int = 0
    first_us: int | None = None
    last_us: int | None = None
    amount: FileTotals = field(default_factory=FileTotals)
    days: dict[str, FileTotals] = field(default_factory=dict)
    tables: dict[str, FileTotals] = field(default_factory=dict)


class InputContents(Struct):
    """One imported input."""

    sha256: str
    path: str
    source: str
    bytes: int
    added_us: int
    systems: list[str]
    forgotten: list[str]
    first_us: int | None
    last_us: int | None
    amount: FileTotals


class LakeContents(Struct):
    """Contents of a lake. `waiting` counts retired files, removed when no reader holds them."""

    path: str
    systems: list[SystemContents]
    inputs: list[InputContents]
    waiting: int
    #: System days with measures by hour and day, and inputs without raw tables.
    measured_days: int
    measures_only: int


def contents(lake: str | os.PathLike[str]) -> LakeContents:
    """Return the contents of a lake. Only the manifest and its documents are read."""
    opened = open_lake(lake)
    lock = opened.reading()
    manifest = opened.load()
    systems: dict[tuple[str, str], SystemContents] = {}
    inputs = []
    for imported in manifest.inputs.values():
        total = FileTotals()
        documents = {key: opened.document(imported, key) for key in imported.documents}
        for part in imported.parts.values():
            key = (part.system, imported.source)
            system_contents = systems.setdefault(key, SystemContents(*key))
            system_contents.inputs += 1
            times = (each for facts in (system_contents, part) for each in (facts.first_us, facts.last_us))
            system_contents.first_us, system_contents.last_us = time_range(times)
            # Rows are counted as imported; a replacing file has the same rows or fewer.
            for file in find_part_document(documents[part.document], part, opened).files if part.raw else ():
                for amount in (
                    total,
                    system_contents.amount,
                    system_contents.days.setdefault(file.day, FileTotals()),
                    system_contents.tables.setdefault(file.table, FileTotals()),
                ):
                    amount.add(file.rows, file.bytes)
        parts = imported.parts.values()
        first_us, last_us = time_range(time for part in parts for time in (part.first_us, part.last_us))
        inputs.append(
            InputContents(
                **attributes(imported, "sha256", "path", "source", "bytes", "added_us", "forgotten"),
                systems=list(imported.parts),
                first_us=first_us,
                last_us=last_us,
                amount=total,
            )
        )
    lock.close()
    sorted_systems = sorted(systems.values(), key=lambda entry: (entry.system, entry.source))
    inputs.sort(key=lambda entry: (entry.first_us or 0, entry.path, entry.sha256))
    without_raw = sum(
        not any(part.raw for part in imported.parts.values()) for imported in manifest.inputs.values()
    )
    return LakeContents(
        os.fspath(lake), sorted_systems, inputs, len(manifest.retired), len(manifest.rollups), without_raw
    )
