"""Nodes that statements of the catalog read from: roles, helpers and measures, with their columns.

A helper is a private SELECT over roles, measures and other helpers, in `selects/<name>.sql`; statements
call it `_<name>`. Words in braces are placeholders for SQL that the CPU MF catalog generates from its facts
(cpumf_formulas.PLACES), for the longest normal interval (interval_flags), for the local day (local_days), and
for the time that rows of two tables have in common: `{common_s one other}`, in seconds, and
`{overlaps one other}`, whether there is any. Helpers of ledgers are compiled from their facts (ledger_sql). A
helper whose first line is `-- materialized` is computed once per session, with the columns that are needed:
several measures read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import measures
from zlens.catalog.cpumf import Present
from zlens.catalog.interval_flags import GAP
from zlens.catalog.local_days import LOCAL_DAY
from zlens.catalog.roles import entity, tables_read
from zlens.compiler import kept_rows, ledger_sql, roles, sql_tree
from zlens.compiler.compile_cache import CompileCache, digest
from zlens.compiler.kept_rows import KeptDays
from zlens.compiler.sql_tree import ANY, Rows, Tree
from zlens.errors import CatalogError

ROOT = Path(__file__).parent / "selects"
#: A column of a measure's SQL that represents all its columns until they are filled in.
PLACE = "#columns"
#: Prefixes of role names: rows of buckets with --every, or of original intervals.
ROLE, UNSUMMED = "role.", "unsummed."

_OF_TWO = re.compile(r"\{(common_s|overlaps) (\w+) (\w+)\}")

Parse = Callable[[str], str]


def _of_two(match: re.Match[str]) -> str:
    """Return SQL of the time that the intervals of rows of two tables have in common."""
    ends = [f"epoch_us({table}.interval_end) / 1e6" for table in match.groups()[1:]]
    starts = [f"{end} - {table}.seconds" for end, table in zip(ends, match.groups()[1:], strict=True)]
    if match[1] == "overlaps":
        return f"{ends[0]} > {starts[1]} AND {ends[1]} > {starts[0]}"
    return f"(least({', '.join(ends)}) - greatest({', '.join(starts)}))"


@cache
def helpers() -> tuple[str, ...]:
    """Return names of the helpers."""
    return (*(f"_{path.stem}" for path in sorted(ROOT.glob("*.sql"))), *ledger_sql.helper_names())


def is_helper(name: str) -> bool:
    return name.startswith("_") and name in helpers()


@cache
def _helper_text(name: str) -> str:
    if name in ledger_sql.helper_names():
        return ledger_sql.helper_sql(name)
    return (ROOT / f"{name[1:]}.sql").read_text(encoding="utf-8")


def is_materialized(name: str) -> bool:
    """Return whether a node is a helper that is computed once per session."""
    return is_helper(name) and _helper_text(name).startswith(ledger_sql.MATERIALIZED)


@cache
def node_sql(name: str) -> str:
    """Return the SQL of a helper, or of a measure with a placeholder for its columns."""
    if is_helper(name):
        return _helper_text(name)
    if name.startswith("_") or not is_joined(name):
        raise CatalogError(f"there is no measure helper {name!r}", expected=", ".join(helpers()))
    return f'SELECT "{PLACE}" {measures.load_measure(name).rows}'


def is_joined(name: str) -> bool:
    """Return whether a measure is joined from roles and helpers, or its name is a helper's."""
    return is_helper(name) or (name in measures.measure_names() and bool(measures.load_measure(name).rows))


class NodeCatalog:
    """The nodes as an SQL parser sees them. `parse` returns the serialized tree of a statement.

    Facts about a node are the same for every input, and are cached between processes.
    """

    def __init__(
        self,
        parse: Parse,
        session_tables: dict[str, list[tuple[str, str]]],
        compile_cache: CompileCache | None,
        kept: KeptDays | None = None,
    ) -> None:
        self._parse = parse
        self._kept = kept
        self.session = session_tables
        self._compile_cache = compile_cache
        self._texts: dict[str, str] = {}
        facts = compile_cache.read("graph", session_tables) if compile_cache is not None else None
        self._columns: dict[str, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._reads: dict[str, list[str]] = {}
        self._entities: dict[str, list[str]] = {}
        self._tables: dict[str, list[str]] = {}
        self._joined: dict[str, list[str]] = {}
        self._rows: dict[str, Rows] = {}
        self._shareable: dict[str, list[str]] = {}
        if isinstance(facts, list) and len(facts) == len(self._facts()):
            self._columns, self._depths, self._reads, self._entities, *others = facts
            self._tables, self._joined, self._rows, self._shareable = others
        self._known = sum(map(len, self._facts()))

    def _facts(self) -> list[Mapping[str, Any]]:
        return [
            *(self._columns, self._depths, self._reads, self._entities, self._tables, self._joined),
            *(self._rows, self._shareable),
        ]

    def save_cache(self) -> None:
        """Cache new facts about the nodes, if any."""
        fact_count = sum(map(len, self._facts()))
        if self._compile_cache is not None and fact_count > self._known:
            self._compile_cache.write(self._facts(), "graph", self.session)
            self._known = fact_count

    def tree(self, sql: str) -> Tree:
        """Return the tree of a statement; the caller may change it."""
        if sql not in self._texts:
            self._texts[sql] = self._parse(sql)
        parsed: Tree = json.loads(self._texts[sql])
        if parsed.get("error"):
            raise CatalogError(f"a measure's SQL cannot be parsed: {parsed.get('error_message')}")
        return parsed

    def helper(self, name: str, requested: Collection[str] | None, generations: Present) -> Tree:
        """Return the tree of a helper, with requested sums of counters only (None: without any)."""
        from zlens.catalog import cpumf_formulas

        sql = node_sql(name)
        for placeholder, make_sql in cpumf_formulas.PLACES.items():
            if f"{{{placeholder}}}" in sql:
                sql = sql.replace(f"{{{placeholder}}}", make_sql(generations, requested))
        sql = _OF_TWO.sub(_of_two, sql).replace("{local_day}", LOCAL_DAY)
        return self.tree(sql.replace("{gap_factor}", repr(GAP)))

    def columns(self, name: str) -> list[str]:
        """Return the columns of a node by its SQL name (`role.processor`, `_pool`, `cpu`)."""
        name = plain(name)
        if name not in self._columns:
            self._columns[name] = self._columns_of(name)
        return self._columns[name]

    def _columns_of(self, name: str) -> list[str]:
        if name.startswith(ROLE):
            return [column for column, _ in roles.columns(name.removeprefix(ROLE))]
        if name in self.session:
            return [column for column, _ in self.session[name]]
        if name in measures.measure_names():
            return [column.name for column in measures.load_measure(name).columns]
        from zlens.catalog import cpumf_formulas

        sums = cpumf_formulas.summed_names() if "{counter_sums}" in node_sql(name) else []
        return [*sql_tree.names(self.helper(name, None, None), self.columns), *sums]

    def referenced_nodes(self, name: str) -> frozenset[str]:
        """Return the nodes that a helper or a measure names."""
        name = plain(name)
        if name not in self._reads:
            self._reads[name] = sorted(self._read_by(name))
        return frozenset(self._reads[name])

    def _read_by(self, name: str) -> frozenset[str]:
        if name.startswith(ROLE) or not is_joined(name):
            return frozenset()
        return sql_tree.tables(self.helper(name, None, None))

    def depth(self, name: str) -> int:
        """Return the distance of a node from the raw tables: it reads only nodes with less depth."""
        name = plain(name)
        if name not in self._depths:
            below = self.referenced_nodes(name) if name not in self.session else ()
            self._depths[name] = 1 + max(map(self.depth, below), default=0)
        return self._depths[name]

    def entities(self, name: str) -> frozenset[str]:
        """Return the roles that a node reads, directly or through others."""
        name = plain(name)
        if name.startswith(ROLE):
            return frozenset({name.removeprefix(ROLE)})
        if name not in self._entities:
            below = () if name in self.session else self.referenced_nodes(name)
            self._entities[name] = sorted(frozenset().union(*map(self.entities, below)))
        return frozenset(self._entities[name])

    def tables(self, name: str) -> Sequence[str]:
        """Return the raw tables that may provide rows of the roles that a node reads."""
        name = plain(name)
        if name not in self._tables:
            origins = (
                origin for entity_name in self.entities(name) for origin in entity(entity_name).origins
            )
            self._tables[name] = sorted({origin.table for origin in origins})
        return self._tables[name]

    def has_rows(self, name: str, tables: Container[str]) -> bool:
        """Return whether a node can have rows with these raw tables, including those that its joins need."""
        name = plain(name)
        if name.startswith(ROLE):
            return any(table in tables for table in self.tables(name))
        return kept_rows.has_days(name, self._kept, tables) or self.has_recorded_rows(name, tables)

    def has_recorded_rows(self, name: str, tables: Container[str]) -> bool:
        """Return whether a measure or helper can have rows that are not of kept days."""
        if name in self.session or not is_joined(name):
            return True
        if name not in self._rows:
            self._rows[name] = sql_tree.required_tables(self.helper(name, None, None))
        return self.can_have_rows(self._rows[name], tables)

    def required_tables(self, query: str, tree: Callable[[], Mapping[str, Any]]) -> Rows:
        """Return the tables without which a statement has no rows; `tree` parses it."""
        # Not by its text, because every command reads these facts.
        key = digest(query)
        if key not in self._rows:
            self._rows[key] = sql_tree.required_tables(tree())
        return self._rows[key]

    def shareable_entities(self, name: str) -> frozenset[str]:
        """Return the roles that the statement of a node may include: those below no separate node.

        Without those whose rows have other seconds if counters are requested, too: subjects that began.
        """
        name = plain(name)
        if name not in self._shareable:
            if name.startswith(ROLE):
                entity_name = name.removeprefix(ROLE)
                began = any(origin.began for origin in entity(entity_name).origins)
                self._shareable[name] = [] if began else [entity_name]
            else:
                below = (node for node in self.referenced_nodes(name) if not self.is_separate(node))
                self._shareable[name] = sorted(frozenset().union(*map(self.shareable_entities, below)))
        return frozenset(self._shareable[name])

    def is_separate(self, name: str) -> bool:
        """Return whether statements that name a node read it as a table, computed before."""
        name = plain(name)
        return name in self.session or is_materialized(name) or name in measures.measure_names()

    def separate_nodes(self, names: Iterable[str]) -> set[str]:
        """Return nodes, with all those below that are computed before."""
        found: set[str] = set()
        pending = [*map(plain, names)]
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            if self.is_separate(name):
                found.add(name)
            if name not in self.session:
                pending += map(plain, self.referenced_nodes(name))
        return found

    def can_have_rows(self, needed: Rows, tables: Container[str]) -> bool:
        """Return whether a statement that needs these tables can have rows."""
        if isinstance(needed, str):
            return self.has_rows(needed, tables)
        how, *parts = needed
        return (any if how == ANY else all)(self.can_have_rows(part, tables) for part in parts)

    def joined(self, name: str) -> Sequence[str]:
        """Like `tables`, plus the raw tables that are joined with them."""
        name = plain(name)
        if name not in self._joined:
            origins = (
                origin for entity_name in self.entities(name) for origin in entity(entity_name).origins
            )
            self._joined[name] = sorted({table for origin in origins for table in tables_read(origin)})
        return self._joined[name]


def plain(name: str) -> str:
    """Return a node's name without the prefix that selects its rows."""
    if name.startswith(UNSUMMED):
        name = name.removeprefix(UNSUMMED)
        return name if name.startswith("_") else ROLE + name
    return name
