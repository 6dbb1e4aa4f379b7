"""Parsed statements, and the columns of zlens' tables that they read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zlens.compiler import nodes
from zlens.compiler.compile_cache import CompileCache, digest
from zlens.compiler.query_plan import TableReads
from zlens.compiler.schema import Schema
from zlens.compiler.sql_tree import tables
from zlens.engine.admission import StatementNames, column_location
from zlens.engine.connection import RELEASE, Connection, Error
from zlens.engine.error_translation import column_of, query_error
from zlens.engine.planner import Planner
from zlens.engine.statement import Statement, parse
from zlens.errors import QueryError

#: Maximum number of parsed and planned statements to cache.
_STATEMENTS = 500


class StatementReader:
    """Parses statements and finds what they read.

    The columns are known from the names in a statement or, if it has a star or similar, from a plan over
    empty tables.

    schema      the tables of the input
    cursor      returns a connection of the database that parses
    is_derived  returns whether a table has the rows of another query
    """

    def __init__(
        self, schema: Schema, cursor: Callable[[], Connection], is_derived: Callable[[str], bool]
    ) -> None:
        self.schema = schema
        self._cursor = cursor
        self._is_derived = is_derived
        self.planner = Planner(schema.columns)
        self.cache = CompileCache("statements", RELEASE, Path(__file__).parent)
        self._statements: dict[str, Statement] = {}
        self._planned: dict[str, Mapping[str, set[str]]] = {}
        self._digests: dict[str, str] = {}

    def parse(self, query: str) -> Statement:
        """Return a parsed statement, from the cache if it is recent; QueryError if it may not run."""
        # Other threads may clear the cache at any time.
        statement = self._statements.get(query)
        if statement is None:
            if len(self._statements) >= _STATEMENTS:
                self._statements.clear()
            try:
                statement = parse(self._cursor(), query, self.cache, self._is_table)
            except Error as error:
                raise query_error(error) from None
            self._statements[query] = statement
        return statement

    def _is_table(self, name: str) -> bool:
        return self._is_derived(name) or self.schema.column_names(name) is not None

    def tables(self, query: str) -> frozenset[str]:
        """Return the tables that a statement names (`cpu`, `role.processor`), except those of WITH."""
        return tables(self.parse(query).tree)

    def parse_internal(self, queries: Sequence[str]) -> dict[str, Statement | None]:
        """Return zlens' own statements, None for invalid ones.

        SELECTs that name all their columns have no tree: the names of all come from one cache entry. Whether
        a statement may run is never cached.
        """
        texts = [*dict.fromkeys(queries)]
        # Also if all were parsed before: another process has then not parsed them.
        surveys = self.cache.read("surveys", texts)
        if surveys is None:
            surveys = [self._facts(self._parse_or_none(query)) for query in texts]
            self.cache.write(surveys, "surveys", texts)
        known = {
            query: Statement(query, query, {}, StatementNames.from_facts(facts))
            for query, facts in zip(texts, surveys, strict=True)
            if facts is not None
        }
        return {query: known.get(query) or self._parse_or_none(query) for query in texts}

    @staticmethod
    def _facts(statement: Statement | None) -> list[Any] | None:
        if statement is None or statement.question != statement.text or statement.survey.columns is None:
            return None
        return statement.survey.facts()

    def _parse_or_none(self, query: str) -> Statement | None:
        try:
            return self.parse(query)
        except QueryError:
            return None

    def named_tables(self, statement: Statement) -> set[str]:
        """Return the tables of zlens that a statement names."""
        return {name for name in statement.survey.tables if self.schema.column_names(name) is not None}

    def reads(self, statement: Statement) -> TableReads:
        """Return the columns that a statement reads of the tables it names."""
        named = self.named_tables(statement)
        columns = self.columns_named(statement)
        if columns is not None:
            reads: Mapping[str, Collection[str]] = {
                name: columns.intersection(self.schema.column_names(name) or ()) for name in named
            }
        else:
            planned = self._planned.get(statement.text)
            if planned is None:
                if len(self._planned) >= _STATEMENTS:
                    self._planned.clear()
                planned = self._planned[statement.text] = self._planned_reads(statement, named)
            reads = planned
        return TableReads(reads, statement.survey.kinds)

    def columns_named(self, statement: Statement) -> set[str] | None:
        """Return the columns that a statement names; None if it does not name them all."""
        for name, named in statement.survey.rows.items():
            for table in named:
                columns = self.schema.column_names(table)
                if columns is not None and name not in columns:
                    return None
        return statement.survey.columns

    def _planned_reads(self, statement: Statement, named: set[str]) -> Mapping[str, set[str]]:
        """Return the columns that a statement reads, from a plan in a separate database."""
        if any(map(nodes.is_helper, named)):
            # The types of a helper's columns are known only from rows.
            return {name: {*(self.schema.column_names(name) or ())} for name in named}
        depends = ("reads", statement.question, {name: self.schema.columns(name) for name in sorted(named)})
        reads: Mapping[str, Iterable[str]] | None = self.cache.read(*depends)
        if reads is None:
            try:
                reads = self.planner.reads(statement, named)
            except Error as error:
                raise self.error(error, statement) from None
            self.cache.write({name: sorted(columns) for name, columns in reads.items()}, *depends)
        return {name: {*reads.get(name, ())} for name in named}

    def schema_dependencies(self, statement: Statement) -> list[Any] | None:
        """Return everything that names and types of a result depend on; None if they may depend on rows."""
        fixed = self.columns_named(statement) is not None and statement.text == statement.question
        named = self.named_tables(statement)
        # A statement with a semicolon cannot be put in parentheses.
        if not fixed or ";" in statement.text or any(map(nodes.is_helper, named)):
            return None
        for name in named - self._digests.keys():
            self._digests[name] = digest(self.schema.columns(name))
        return ["shape", statement.text, {name: self._digests[name] for name in sorted(named)}]

    def error(self, error: Exception, statement: Statement) -> QueryError:
        """Return the error of a statement; of an unknown column, with those of the tables that it names."""
        columns = {name: self.schema.column_names(name) or () for name in self.named_tables(statement)}
        failure = query_error(error, columns, statement.survey.aliases)
        column = column_of(error)
        if column is not None and statement.text == statement.question:
            failure.position = column_location(statement.tree, column)
        return failure

    def close(self) -> None:
        self.planner.close()
