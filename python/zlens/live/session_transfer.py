"""Transfer of a live session to other processes: parts of streams, systems, and rows of measures.

Only processes that zlens forked receive a description, so its contents are trusted.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from zlens.catalog.expressions import quote
from zlens.engine.connection import connect, write_parquet
from zlens.engine.results import ResultStream
from zlens.inputs.source import ArrowSource, PrecomputedTable, RawTable
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.live.measure_store import MeasureRows
from zlens.live.retained_source import NoFiles, Parts, RetainedSource
from zlens.session.session import CoreSession

#: Fetches rows of a measure; returns the path of a Parquet file.
Fetch = Callable[[dict[str, Any]], str]


class Published:
    """A session over retained sources, in the process that owns it."""

    def __init__(self, session: CoreSession) -> None:
        self._session = session

    def description(self) -> bytes:
        """Return the description that `opened` requires."""
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
        """Write the requested rows of a measure as a Parquet file."""
        table = self._session.computed[request["name"]]
        if request["since_us"] is not None and isinstance(table, PrecomputedTable):
            table = table.since(request["since_us"])
        write_parquet(table.stream(request["columns"]), path)


def opened(description: bytes, folder: str, fetch: Fetch) -> CoreSession:
    """Open the session of a description in another process.

    A part that has grown is read up to its described size, from a copy in `folder`. Raises FileNotFoundError
    if a part was removed.
    """
    options, sources, names = pickle.loads(description)
    retained: list[Any] = []
    for number, (parts, systems, problems) in enumerate(sources):
        copies = Path(folder, str(number))
        while True:
            paths = _files(parts, copies)
            try:
                source = parts.open(paths, options) if paths else NoFiles()
            finally:
                # A part may have grown or been removed while it was opened.
                current_paths = _files(parts, copies)
            if current_paths == paths:
                break
        retained.append(RetainedSource(source, parts, systems, problems))

    def read(name: str, columns: list[str], since_us: int | None) -> ArrowSource:
        path = fetch({"name": name, "columns": columns, "since_us": since_us})
        selected = ", ".join(map(quote, columns))
        return ResultStream(connect(None, [path]).sql(f"SELECT {selected} FROM {read_parquet_sql([path])}"))

    computed: dict[str, RawTable] = {name: MeasureRows(name, read) for name in names}
    return CoreSession.from_sources(retained, options, computed=computed)


def _files(parts: Parts, copies: Path) -> list[str]:
    """Return the files of parts, or copies truncated to their described size."""
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
