"""What is in a lake: systems, days, tables, inputs, with rows and bytes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from zlens.errors import InputError
from zlens.lake.folder import Folder, part_of
from zlens.lake.names import is_lake
from zlens.schema.wording import say


@dataclass(slots=True)
class Amount:
    """Parquet files, their rows and bytes."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def add(self, rows: int, size: int) -> None:
        self.files += 1
        self.rows += rows
        self.bytes += size


@dataclass(slots=True)
class SystemContents:
    """One system of one source. Times in microseconds since 1970, UTC."""

    system: str
    source: str
    inputs: int = 0
    first_us: int | None = None
    last_us: int | None = None
    amount: Amount = field(default_factory=Amount)
    days: dict[str, Amount] = field(default_factory=dict)
    tables: dict[str, Amount] = field(default_factory=dict)


@dataclass(slots=True)
class InputContents:
    """One input as it was imported."""

    sha256: str
    path: str
    source: str
    bytes: int
    added_us: int
    systems: list[str]
    forgotten: list[str]
    first_us: int | None
    last_us: int | None
    amount: Amount


@dataclass(slots=True)
class Contents:
    """All of a lake. `waiting` files are removed when nobody reads the lake any more."""

    path: str
    systems: list[SystemContents]
    inputs: list[InputContents]
    waiting: int


def contents(lake: str | os.PathLike[str]) -> Contents:
    """Tell what is in a lake. Only the manifest and its documents are read."""
    path = os.fspath(lake)
    if not is_lake(path):
        raise InputError("this is no lake", file=path, cure=say("lake_make"))
    folder = Folder(path)
    reading = folder.reading()
    now = folder.load()
    systems: dict[tuple[str, str], SystemContents] = {}
    inputs = []
    for one in now.inputs.values():
        whole = Amount()
        documents = {key: folder.document(one, key) for key in one.documents}
        for part in one.parts.values():
            key = (part.system, one.source)
            held = systems.setdefault(key, SystemContents(*key))
            held.inputs += 1
            held.first_us = _first([held.first_us, part.first_us])
            held.last_us = _last([held.last_us, part.last_us])
            # The rows are those of the import; a file that stands in for another has the same ones or fewer.
            for file in part_of(documents[part.document], part, folder).files:
                for amount in (
                    whole,
                    held.amount,
                    held.days.setdefault(file.day, Amount()),
                    held.tables.setdefault(file.table, Amount()),
                ):
                    amount.add(file.rows, file.bytes)
        inputs.append(
            InputContents(
                one.sha256,
                one.path,
                one.source,
                one.bytes,
                one.added_us,
                list(one.parts),
                one.forgotten,
                _first(part.first_us for part in one.parts.values()),
                _last(part.last_us for part in one.parts.values()),
                whole,
            )
        )
    reading.close()
    found = sorted(systems.values(), key=lambda held: (held.system, held.source))
    inputs.sort(key=lambda held: (held.first_us or 0, held.path, held.sha256))
    return Contents(path, found, inputs, len(now.retired))


def _first(times: Iterable[int | None]) -> int | None:
    return min((time for time in times if time is not None), default=None)


def _last(times: Iterable[int | None]) -> int | None:
    return max((time for time in times if time is not None), default=None)
