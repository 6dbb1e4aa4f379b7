"""Volumes and guests that the members of a cluster share, with the use of each member."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from zlens.catalog import measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.session.session import CoreSession
from zlens.studies.fleet import Span


class SharedMeasure(NamedTuple):
    """A measure whose subjects several members share.

    name     column whose value is the same on all members; with another key, its last value
    column   column shown for each subject; it adds over subjects (facts/measures)
    """

    table: str
    key: str
    name: str
    column: str

    def unit(self) -> str:
        return self.measured().unit

    def measured(self) -> measures.MeasureColumn:
        column = measures.load_measure(self.table).column(self.column)
        assert column is not None
        return column


VOLUMES = SharedMeasure("device", "device", "volume", "busy_pct")
GUESTS = SharedMeasure("guest", "userid", "userid", "cpu_pct")


class SharedSubject(NamedTuple):
    """A subject of one or more members.

    together   sum of the means of all members; None if one is unknown
    members    mean of each member that has the subject
    """

    name: str
    together: float | None
    members: dict[str, float | None]


def shared_subjects(
    session: CoreSession, kind: SharedMeasure, systems: Collection[str], span: Span
) -> list[SharedSubject]:
    """Return the subjects of some systems by name, in descending order of use."""
    if not session.has_data(kind.table):
        return []
    uses: dict[str, dict[str, float | None]] = {}
    sources: dict[str, str] = {}
    for system, source, name, mean in session.queries.select(*_query(kind, systems, span)).rows:
        # A system may have the same subject from two sources: the first by name counts.
        if name and sources.setdefault(str(system), str(source)) == source:
            members = uses.setdefault(str(name), {})
            members[str(system)] = _added(mean, members.get(str(system), 0.0))
    subjects = []
    for name, members in uses.items():
        together = None if None in members.values() else math.fsum(filter(None, members.values()))
        subjects.append(SharedSubject(name, together, members))
    return sorted(subjects, key=lambda subject: (-(subject.together or 0.0), subject.name))


def _added(value: object, total: float | None) -> float | None:
    return None if total is None or not isinstance(value, int | float) else value + total


def _query(kind: SharedMeasure, systems: Collection[str], span: Span) -> tuple[str, dict[str, list[str]]]:
    """Return SQL of system, source, name and mean of each subject, and the columns that it reads."""
    table = measures.load_measure(kind.table)
    name = table.column(kind.name)
    assert name is not None
    conditions = [f"system IN ({', '.join(map(literal, sorted(systems)))})"]
    for timestamp, sign in zip(span, (">", "<="), strict=True):
        if timestamp is not None:
            conditions.append(f"interval_end {sign} TIMESTAMPTZ '{timestamp.isoformat(sep=' ')}'")
    columns = [(kind.measured(), ["mean"])]
    if kind.name != kind.key:
        columns.append((name, ["last"]))
    query = MeasureQuery(table, columns, quote(table.name), [kind.key], where=" AND ".join(conditions))
    mean, *last = map(quote, query.names())
    name_column = last[0] if last else quote(kind.key)
    return f"SELECT system, source, {name_column}, {mean} FROM ({query.sql()}) ORDER BY ALL", {
        table.name: [*query.columns()]
    }
