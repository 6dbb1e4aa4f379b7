"""What `zlens explain` says of lineage: the roles and raw columns behind a column, and how helpers compute."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from zlens.catalog import metrics, roles
from zlens.catalog.columns import FIXED
from zlens.catalog.compile import nodes, tree
from zlens.catalog.compile.lineage import Lineages, Place
from zlens.catalog.compile.nodes import ROLE, Nodes

_UNFED = "none: the session makes the table itself"
_CONSTANT = "none: which rows there are says it"

if TYPE_CHECKING:
    from zlens.engine.connection import Connection


class _Parser:
    """The parser of SQL, opened when it is first needed: most of what is explained needs none."""

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def serialized(self, sql: str) -> str:
        """The tree of a statement."""
        return self._asked("SELECT json_serialize_sql(?)", sql)

    def text(self, expression: tree.Tree) -> str:
        """An expression as SQL."""
        parsed = json.loads(self.serialized("SELECT 1"))
        parsed["statements"][0]["node"]["select_list"] = [{**expression, "alias": ""}]
        return self._asked("SELECT json_deserialize_sql(?)", json.dumps(parsed)).removeprefix("SELECT ")

    def _asked(self, query: str, parameter: str) -> str:
        with self._lock:
            if self._connection is None:
                from zlens.engine.connection import connect

                self._connection = connect(None)
            return str(self._connection.execute(query, [parameter]).fetchall()[0][0])


_PARSER = _Parser()


@cache
def lineages() -> Lineages:
    """The lineage of all columns of measures."""
    from zlens import session_tables

    session = {
        name: [(column.name, column.type) for column in columns]
        for name, columns in session_tables.always().items()
    }
    return Lineages(Nodes(_PARSER.serialized, session))


def entities_of(query: str) -> list[str]:
    """The entities of roles that a question reads, by way of measures and their helpers."""
    known = lineages().nodes
    found: set[str] = set()
    for name in tree.tables(known.tree(query)):
        if name.startswith(ROLE) or nodes.fed(name):
            found |= known.entities(name)
    return sorted(found)


def roles_behind(table: str, column: str) -> list[tuple[str, str]]:
    """The roles that a measure's value is computed from, by way of earlier columns and helpers."""
    return lineages().roles(table, [column]) if nodes.fed(table) else []


def used_by(entity: str, role: str) -> list[str]:
    """The columns of measures that a role's value goes into."""
    known = lineages()
    found = []
    for name in metrics.tables():
        if not nodes.fed(name) or entity not in known.nodes.entities(name):
            continue
        columns = [column.name for column in metrics.table(name).columns]
        found += [f"{name}.{column}" for column in _reaching(name, columns, (entity, role))]
    return found


def _reaching(measure: str, columns: list[str], role: tuple[str, str]) -> list[str]:
    """The columns whose values a role goes into; most measures have none, which is told of all at once."""
    if role not in lineages().roles(measure, columns):
        return []
    if len(columns) == 1:
        return columns
    half = len(columns) // 2
    return [*_reaching(measure, columns[:half], role), *_reaching(measure, columns[half:], role)]


def computed(place: Place) -> str:
    """How a helper computes a column; '' where it takes it over."""
    return " or ".join(dict.fromkeys(map(_PARSER.text, lineages().computed(place))))


def raw_lines(table: metrics.Table, column: metrics.Column) -> tuple[list[str], list[str]]:
    """The raw columns that a column's values come from, and those that find its rows, a line for each table."""
    if not nodes.fed(table.name):
        return [] if table.empty else [_UNFED], []
    found = lineages().of(table.name, column.name)
    rows = {name: [one for one in columns if one not in FIXED] for name, columns in found.rows.items()}
    constant = [_CONSTANT] if column.formula or column in metrics.LEADING else []
    return _lines(found.raw) or constant, _lines(rows)


def _lines(reads: Mapping[str, Iterable[str]]) -> list[str]:
    return [f"{name}: {', '.join(_runs(columns))}" for name, columns in reads.items() if columns]


def _runs(columns: Iterable[str]) -> list[str]:
    """Names, those of counters one after the other as the first and the last of them."""

    def number(name: str) -> tuple[int, str]:
        bare = name.removeprefix("c").removesuffix("_d")
        return (int(bare), name[len(bare) + 1 :]) if name.startswith("c") and bare.isdigit() else (-1, "")

    counters = sorted((number(name), name) for name in columns if number(name)[0] >= 0)
    shown = [name for name in columns if number(name)[0] < 0]
    for _, group in groupby(enumerate(counters), lambda each: (each[1][0][0] - each[0], each[1][0][1])):
        run = [name for _, (_, name) in group]
        shown += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
    return shown
