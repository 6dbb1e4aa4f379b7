"""The length of the statements that findings send to the engine, which takes time for every character."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.engine.connection import Connection
from zlens.engine.table_store import TableStore
from zlens.findings.evaluate import find

#: Characters of all statements for the four demo files.
LONGEST = 312_000


class CountedConnection:
    """A connection that counts the characters of its statements."""

    def __init__(self, connection: Connection, lengths: list[int]) -> None:
        self._connection = connection
        self._lengths = lengths

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, query: str, *parameters: Any) -> Connection:
        # The parser's statements have the statement to parse as a parameter.
        self._lengths.append(0 if parameters else len(query))
        return self._connection.execute(query, *parameters)

    def sql(self, query: str) -> Any:
        self._lengths.append(len(query))
        return self._connection.sql(query)


def test_statements_of_findings_are_short(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    cursor = TableStore.cursor
    monkeypatch.setattr(TableStore, "cursor", lambda store: CountedConnection(cursor(store), lengths))
    with zlens.open(demo_folder) as session:
        assert len(find(session._core).asked) > 50
    assert LONGEST / 2 < sum(lengths) < LONGEST
