"""A prepared query: column names and types of its result, and its rows in the requested representation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog import expressions
from zlens.engine import cancellation
from zlens.engine.cancellation import interruptible
from zlens.engine.connection import Connection, Relation
from zlens.engine.results import Form


class PreparedQuery:
    """One statement on the connection that will compute it.

    A statement with cached names and types is bound only when it is computed.

    rows     SQL of tables that the statement reads and that are missing on the connection
    working  what to interrupt: the connection, and others that provide its rows
    """

    def __init__(
        self,
        connection: Connection,
        text: str,
        names: list[str],
        types: list[str],
        relation: Relation | None = None,
        rows: Mapping[str, str] | None = None,
        working: cancellation.Interruptible | None = None,
    ) -> None:
        self.connection = connection
        self.working: cancellation.Interruptible = working or connection
        self.names = names
        self.types = types
        self._text = text
        self._rows = rows or {}
        self._relation = relation

    @classmethod
    def bind(
        cls, connection: Connection, text: str, working: cancellation.Interruptible | None = None
    ) -> PreparedQuery:
        """Bind a statement with unknown names and types; an EXPLAIN ANALYZE is executed here."""
        relation = interruptible(working or connection, lambda: connection.sql(text))
        types = [str(type) for type in relation.types]
        return cls(connection, text, list(relation.columns), types, relation, working=working)

    def relation(self, form: Form) -> Relation:
        """Return the rows, with columns converted by the SQL that `form` returns for reference and type."""
        columns = self._column_sql(form)
        if self._relation is None:
            return self.connection.sql(self._projection(columns))
        return self._relation.project(", ".join(columns)) if columns else self._relation

    def rows(self, form: Form) -> list[tuple[Any, ...]]:
        """Return all rows in that representation."""
        if self._relation is not None:
            return self.relation(form).fetchall()
        return self.connection.execute(self._projection(self._column_sql(form))).fetchall()

    def _projection(self, forms: list[str]) -> str:
        if not forms and not self._rows:
            return self._text
        return select_from(self._text, forms or ["*"], self._rows)

    def _column_sql(self, form: Form) -> list[str]:
        """Return the SQL of every column; empty if all stay unchanged."""
        # By position, because a projection by name cannot distinguish two columns with the same name.
        columns = [form(f"#{number}", type) for number, type in enumerate(self.types, 1)]
        if all(sql == f"#{number}" for number, sql in enumerate(columns, 1)):
            return []
        return [f"{sql} AS {expressions.quote(name)}" for sql, name in zip(columns, self.names, strict=True)]


def select_from(text: str, selected: Sequence[str], rows: Mapping[str, str]) -> str:
    """Return SQL of columns of a statement; `rows` is SQL of tables that it reads and that do not exist."""
    # Not as views, because a view is bound when it is created and again when it is read.
    tables = ", ".join(f"{expressions.quote(name)} AS ({sql})" for name, sql in rows.items())
    start = f"WITH {tables} " if tables else ""
    return f"{start}SELECT {', '.join(selected)} FROM ({text}\n)"
