"""What a session of `Live` shows, as other processes open it: parts of streams, systems, rows of measures.

Only a process that zlens forked itself gets a description: what is in it is trusted.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.expressions import quote
from zlens.catalog.raw_columns import RawColumn
from zlens.engine.connection import write_parquet
from zlens.inputs.source import ArrowSource, PrecomputedTable, RawTable
from zlens.lake.parquet_streams import ParquetStream, read_parquet_sql
from zlens.live.measure_store import columns_of
from zlens.live.retained_source import NoFiles, Parts, RetainedSource
from zlens.session.session import CoreSession

#: Fetches rows of a measure: the Parquet file they are in now.
Fetch = Callable[[dict[str, Any]], str]


class Published:
    """A session over kept sources, seen from the process that has it."""

    def __init__(self, session: CoreSession) -> None:
        self._session = session

    def description(self) -> bytes:
        """What `opened` needs."""
        sources = [
            (
                source.parts,
                [replace(info, find=None, known=info.intervals) for info in source.systems],
                source.problems(),
            )
            for source in self._session.sources
            if isinstance(source, RetainedSource)
        ]
        return pickle.dumps((self._session.options, sources, [*self._session.computed]))

    def write(self, request: dict[str, Any], path: str) -> None:
        """Write the rows of a measure that a process asked for as a Parquet file."""
        table = self._session.computed[request["name"]]
        if request["since_us"] is not None and isinstance(table, PrecomputedTable):
            table = table.since(request["since_us"])
        write_parquet(table.stream(request["columns"]), path)


def opened(description: bytes, folder: str, fetch: Fetch) -> CoreSession:
    """The session of a description, in another process.

    A part that has grown since is read up to where it ended then, from a copy in a folder. Raises
    FileNotFoundError if a part is gone.
    """
    options, sources, names = pickle.loads(description)
    kept: list[Any] = []
    for number, (parts, systems, problems) in enumerate(sources):
        copies = Path(folder, str(number))
        while True:
            paths = _files(parts, copies)
            try:
                source = parts.open(paths, options) if paths else NoFiles()
            finally:
                # One may have grown or gone while they were opened.
                now = _files(parts, copies)
            if now == paths:
                break
        kept.append(RetainedSource(source, parts, systems, problems))
    computed: dict[str, RawTable] = {name: Fetched(name, fetch) for name in names}
    return CoreSession.from_sources(kept, options, computed=computed)


def _files(parts: Parts, copies: Path) -> list[str]:
    """The files of parts, or copies, with the bytes that they had."""
    paths = []
    for path, size in parts.sizes.items():
        if os.stat(path).st_size != size:
            copies.mkdir(exist_ok=True)
            copy = copies / os.path.basename(path)
            shutil.copyfile(path, copy)
            os.truncate(copy, size)
            path = os.fspath(copy)
        paths.append(path)
    return paths


class Fetched:
    """A measure of another process: columns are fetched as they are needed."""

    def __init__(self, name: str, fetch: Fetch, since_us: int | None = None) -> None:
        self.name = name
        self.columns = columns_of(name)
        self._fetch, self._since_us = fetch, since_us

    def since(self, us: int) -> Fetched:
        return Fetched(self.name, self._fetch, us)

    def stream(self, columns: list[str]) -> ArrowSource:
        path = self._fetch({"name": self.name, "columns": columns, "since_us": self._since_us})
        return ParquetStream(_File(self.name, self.columns, path), columns)


class _File(Struct, frozen=True):
    """Rows of a measure in a Parquet file."""

    name: str
    columns: tuple[RawColumn, ...]
    path: str

    @property
    def paths(self) -> list[str]:
        return [self.path]

    def sql(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(map(quote, columns))} FROM {read_parquet_sql(self.paths)}"

    def stream(self, columns: list[str]) -> ArrowSource:
        return ParquetStream(self, columns)
