"""Queries of a session: what they read is compiled to a plan, which the engine executes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from zlens.catalog import aggregation, expressions
from zlens.compiler.compile_cache import CompileCache
from zlens.compiler.plan import Compiler, CompilerInput, Kinds
from zlens.compiler.query_plan import Plan, TableReads, TableStep, compile_queries
from zlens.compiler.schema import Schema
from zlens.engine.admission import shows_tables
from zlens.engine.cancellation import check_canceled
from zlens.engine.connection import RELEASE, Error
from zlens.engine.engine import Engine
from zlens.engine.error_translation import query_error
from zlens.engine.prepared_query import PreparedQuery
from zlens.engine.results import QueryResult
from zlens.engine.statement import Statement
from zlens.engine.statement_reads import StatementReader
from zlens.engine.table_store import StaleStepError
from zlens.errors import QueryError

#: SELECTs in one statement: longer statements take more time per SELECT.
_TOGETHER = 25


class Queries:
    """Compiles queries of one input and has the engine execute them.

    sizes  returns the bytes of the records of the input, by prefix of the names of their raw tables
    """

    def __init__(self, engine: Engine, source: CompilerInput, sizes: Callable[[], Mapping[str, int]]) -> None:
        self.engine = engine
        self._sizes = cache(sizes)
        parser = engine.parser
        self.compiler = Compiler(source, parser.parse, parser.render, CompileCache("plans", RELEASE))
        self.schema = Schema(self.compiler)
        self._reader = StatementReader(self.schema, engine.store.cursor, engine.store.is_derived)

    def close(self) -> None:
        self.compiler.nodes.save_cache()
        self._reader.close()
        self.engine.close()

    # -- what the input has ----------------------------------------------------------------------------

    def has_data(self, name: str, tables: Container[str] | None = None) -> bool:
        """Return whether a measure or role (role.entity) can have rows in the input, or with these tables."""
        return self.compiler.has_data(name, tables)

    def query_has_data(self, query: str, tables: Container[str] | None = None) -> bool:
        """Return whether a statement can have rows in the input, or with these raw tables."""
        return self.compiler.query_has_data(query, lambda: self._reader.parse(query).tree, tables)

    def states_known(self, name: str) -> bool:
        """Return whether rows of a table can have the column aggregation.KNOWN."""
        return self.compiler.states_known(name)

    def tables(self, query: str) -> frozenset[str]:
        """Return the tables that a statement names (`cpu`, `role.processor`), except those of WITH."""
        return self._reader.tables(query)

    def tables_of(self, measure: str) -> set[str]:
        """Return the raw tables of the input that a measure reads."""
        try:
            while (tables := self.compiler.raw_tables(measure)) is None:
                self._know_generations()
            return tables
        except Error as error:
            raise query_error(error) from None

    # -- queries of the user and of reports ------------------------------------------------------------

    def answer(self, query: str) -> QueryResult:
        """Return the result of one SELECT; QueryError if it is invalid."""
        statement = self._reader.parse(query)
        if shows_tables(statement.tree):
            return self.engine.show_tables()
        return self.engine.answer(self._prepare(statement))

    def answers(self, queries: Sequence[str], *, streamed: bool = False) -> Iterator[QueryResult]:
        """Yield the results of several SELECTs, in their order; what they share is computed once.

        streamed  whether most are read as streams, for which a text is bound twice unless it is computed now
        """
        for _ in self.stages(queries):
            pass
        yield from map(self._computed if streamed and self.engine.computes_at_once else self.answer, queries)

    def _computed(self, query: str) -> QueryResult:
        """Return the result of one SELECT whose rows are computed now: its text is bound only once."""
        statement = self._reader.parse(query)
        # A statement with a semicolon cannot be put in parentheses, nor one that is not a SELECT.
        if ";" in query or statement.text != statement.question or shows_tables(statement.tree):
            return self.answer(query)
        reads = self._reader.reads(statement)
        try:
            plan = self._execute([reads])
            return self.engine.compute_query(statement, self._reader, reads, plan.rows[0])
        except Error as error:
            raise self._reader.error(error, statement) from None

    def write_parquet(self, query: str, path: str) -> None:
        """Write the result of a SELECT as a Parquet file (zstd), complete or not at all."""
        self.engine.write_parquet(self._prepare(self._reader.parse(query)), path)

    def _prepare(self, statement: Statement) -> PreparedQuery:
        reads = self._reader.reads(statement)
        try:
            plan = self._execute([reads])
        except Error as error:
            raise self._reader.error(error, statement) from None
        return self.engine.run_query(statement, self._reader, reads, plan.rows[0])

    def stages(self, queries: Iterable[str], later: Sequence[str] = ()) -> Iterator[list[str]]:
        """Materialize what queries share; yields queries when all their tables exist, the cheapest first.

        An invalid query comes last: its error is that of its answer.

        later  zlens' SELECTs that follow: the tables get the columns that these read, too
        """
        for follows in self._reader.parse_internal(later).values():
            if follows is not None:
                self.engine.store.expect(self._reader.reads(follows).columns)
        queries = [*dict.fromkeys(queries)]
        statements = self._reader.parse_internal(queries)
        reads: dict[str, TableReads] = {}
        for query, statement in statements.items():
            try:
                if statement is not None:
                    reads[query] = self._reader.reads(statement)
            except QueryError:
                continue
        try:
            plan = self._compile([*reads.values()], staged=True)
            self.engine.store.expect({step.table: step.columns for step in plan.steps})
            remaining = {query: {*query_reads.columns} for query, query_reads in reads.items()}
            if ready := [query for query, tables in remaining.items() if not tables]:
                yield ready
            for name, steps in plan.stages():
                for step in steps:
                    check_canceled()
                    self._take(step)
                ready = [query for query, tables in remaining.items() if tables == {name}]
                for tables in remaining.values():
                    tables.discard(name)
                if ready:
                    yield ready
        except Error as error:
            raise query_error(error) from None
        if invalid := [query for query in queries if query not in reads]:
            yield invalid

    # -- zlens' own SELECTs ----------------------------------------------------------------------------

    def select(self, query: str, reads: Mapping[str, Collection[str]], kinds: Kinds = None) -> QueryResult:
        """Return the result of one of zlens' own SELECTs, which reads these columns of these tables.

        `kinds` are the kinds of the events that it reads.
        """
        reads = _with_intervals(query, reads)
        try:
            plan = self._execute([TableReads(reads, kinds)])
        except Error as error:
            raise query_error(error) from None
        return self.engine.run_internal(query, reads, plan.rows[0])

    def rows(self, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return columns of all rows of a table or a helper."""
        selected = ", ".join(map(expressions.quote, columns))
        return self.select(f"SELECT {selected} FROM {expressions.quote(name)}", {name: columns}).rows

    def select_together(
        self, queries: Sequence[str], over: Callable[[str], str] = str
    ) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each of zlens' own SELECTs with equal columns.

        Each statement runs many of them. `over` converts SQL of all their rows, with the query's number as
        column `#`, to SQL of other rows, which begin with this number.
        """
        rows_by_query: list[list[tuple[Any, ...]]] = [[] for _ in queries]
        parsed = self._reader.parse_internal(queries)
        statements = [parsed[query] or self._reader.parse(query) for query in queries]
        reads = [self._reader.reads(statement) for statement in statements]
        try:
            plan = self._execute(reads)
        except Error as error:
            raise query_error(error) from None
        for begin in range(0, len(queries), _TOGETHER):
            part = slice(begin, begin + _TOGETHER)
            result = self.engine.run_together(
                statements[part], self._reader, reads[part], plan.rows[part], over
            )
            for number, *row in result.rows:
                rows_by_query[begin + number].append(tuple(row))
        return rows_by_query

    def materialize_query(self, query: str, reads: Mapping[str, Collection[str]]) -> str:
        """Materialize the rows of one of zlens' own SELECTs; returns the name of their table."""
        reads = _with_intervals(query, reads)
        try:
            plan = self._execute([TableReads(reads)])
        except Error as error:
            raise query_error(error) from None
        return self.engine.materialize_query(query, reads, plan.rows[0])

    def materialize(self, tables: Mapping[str, Iterable[str]]) -> Iterator[str]:
        """Materialize columns of measures, even of lazy ones; yields the name of each when it exists.

        Other queries that need one earlier materialize it with all these columns.
        """
        reads = {
            name: {*columns}.intersection([*(self.schema.column_names(name) or ()), aggregation.KNOWN])
            for name, columns in tables.items()
        }
        try:
            plan = self._compile([TableReads(reads)], keep=True)
        except Error as error:
            raise query_error(error) from None
        self.engine.store.expect({step.table: step.columns for step in plan.steps})
        return self._materialize(plan, [*reads])

    def _materialize(self, plan: Plan, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            try:
                for step in plan.steps:
                    if step.table in plan.needs[name]:
                        self._take(step)
            except Error as error:
                raise query_error(error) from None
            yield name

    # -- compiling -------------------------------------------------------------------------------------

    def _compile(self, reads: Sequence[TableReads], *, staged: bool = False, keep: bool = False) -> Plan:
        """Return the plan of queries that read these columns; `staged`: only what they share, by cost."""
        for query in reads:
            for name, columns in query.columns.items():
                self.engine.store.open_kept(name, columns)
        while True:
            plan = compile_queries(
                reads,
                self.compiler,
                self.schema,
                self.engine.store.materialized,
                self.engine.store.planned,
                self._sizes() if staged or not self.engine.is_small else {},
                statements=not staged,
                keep=keep,
                share=self.engine.is_small,
            )
            if not plan.incomplete:
                return plan
            self._know_generations()

    def _know_generations(self) -> None:
        """Find the machine generations of the counters in the input."""
        generations: frozenset[Any] = frozenset()
        if self.has_data("role.counter"):
            generations = frozenset(row[0] for row in self.rows("_generations", ["generation"]))
        self.compiler = self.compiler.with_generations(generations)

    def _execute(self, reads: Sequence[TableReads], *, keep: bool = False) -> Plan:
        """Materialize what queries read; returns their plan."""
        while True:
            plan = self._compile(reads, keep=keep)
            try:
                for step in plan.steps:
                    self.engine.store.materialize(step)
            except StaleStepError:
                continue
            return plan

    def _take(self, step: TableStep) -> None:
        """Materialize the table of a step; with more columns if other queries added some meanwhile."""
        try:
            self.engine.store.materialize(step)
        except StaleStepError:
            self._execute([TableReads({step.table: step.columns})], keep=True)


def _with_intervals(query: str, reads: Mapping[str, Collection[str]]) -> Mapping[str, Collection[str]]:
    """Return the columns that one of zlens' own SELECTs reads, with intervals for sums over subjects."""
    if aggregation.INTERVAL_LENGTHS not in query:
        return reads
    return {**reads, "interval": {*aggregation.INTERVAL_READS, *reads.get("interval", ())}}
