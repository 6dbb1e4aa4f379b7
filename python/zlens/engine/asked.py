"""A question with its tables ready: names and types of its answer, and its rows in the form asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zlens.catalog import expressions
from zlens.engine.answers import Form
from zlens.engine.cancelling import interruptible
from zlens.engine.connection import Connection, Relation


class Asked:
    """One statement on the connection it will be worked out on.

    A statement whose names and types are known from before is bound only when it is worked out.

    rows   SQL of tables that the statement reads and the connection does not have
    """

    def __init__(
        self,
        connection: Connection,
        text: str,
        names: list[str],
        types: list[str],
        relation: Relation | None = None,
        rows: Mapping[str, str] | None = None,
    ) -> None:
        self.connection = connection
        self.names = names
        self.types = types
        self._text = text
        self._rows = rows or {}
        self._relation = relation

    @classmethod
    def bound(cls, connection: Connection, text: str) -> Asked:
        """A statement whose names and types are not known; an EXPLAIN ANALYZE is worked out here."""
        relation = interruptible(connection, lambda: connection.sql(text))
        return cls(connection, text, list(relation.columns), [str(type) for type in relation.types], relation)

    def relation(self, form: Form) -> Relation:
        """The rows, with columns in the form that `form` gives for a place and a type."""
        forms = self._forms(form)
        if self._relation is None:
            return self.connection.sql(self._projected(forms))
        return self._relation.project(", ".join(forms)) if forms else self._relation

    def rows(self, form: Form) -> list[tuple[Any, ...]]:
        """All rows in that form."""
        if self._relation is not None:
            return self.relation(form).fetchall()
        return self.connection.execute(self._projected(self._forms(form))).fetchall()

    def _projected(self, forms: list[str]) -> str:
        if not forms and not self._rows:
            return self._text
        # Not as views: one is bound when it is made, and again where it is read.
        tables = ", ".join(f"{expressions.quote(name)} AS ({sql})" for name, sql in self._rows.items())
        start = f"WITH {tables} " if tables else ""
        return f"{start}SELECT {', '.join(forms) or '*'} FROM ({self._text}\n)"

    def _forms(self, form: Form) -> list[str]:
        """SQL of every column; nothing where all are to stay as they are."""
        # By position: a projection by name cannot tell two columns of one name apart.
        forms = [form(f"#{number}", type) for number, type in enumerate(self.types, 1)]
        if all(one == f"#{number}" for number, one in enumerate(forms, 1)):
            return []
        return [f"{one} AS {expressions.quote(name)}" for one, name in zip(forms, self.names, strict=True)]
