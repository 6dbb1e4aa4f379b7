"""Events that may be causes."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from zlens.catalog.causes import Cause, VerdictFacts
from zlens.catalog.expressions import literal
from zlens.session.session import CoreSession
from zlens.verdict.effects import Effect

_COLUMNS = ("system", "time", "kind", "subject")


class Occurrence(Struct, frozen=True):
    """An event that may be a cause. until: the time of the event that ended it."""

    cause: Cause
    subject: str
    time: datetime
    until: datetime | None

    def may_explain(self, effect: Effect, within: timedelta) -> bool:
        """Return whether it precedes an effect that its kind explains, and lasted until then."""
        return (
            effect.rule.id in self.cause.explains
            and self.time <= effect.recorded
            and (self.until is None or self.until > effect.start)
            and (self.cause.lasts or self.time >= effect.start - max(within, effect.interval))
        )


def load_occurrences(session: CoreSession, system: str, facts: VerdictFacts) -> list[Occurrence]:
    """Return the events of a system that may be causes, in the order of the facts, then of time."""
    if not session.has_data("event"):
        return []
    kinds = frozenset(kind for cause in facts.cause for kind in (cause.event, cause.until) if kind)
    names = ", ".join(literal(kind) for kind in sorted(kinds))
    rows = session.queries.select(
        "SELECT DISTINCT time, kind, subject FROM event "
        f"WHERE system = {literal(system)} AND kind IN ({names}) AND time IS NOT NULL ORDER BY ALL",
        {"event": _COLUMNS},
        kinds,
    ).rows
    times: dict[tuple[str, str], list[datetime]] = {}
    for time, kind, subject in rows:
        times.setdefault((kind, subject or ""), []).append(time)
    found = []
    for cause in facts.cause:
        for time, _, subject in (row for row in rows if row[1] == cause.event):
            ends = (end for end in times.get((cause.until, subject or ""), ()) if end > time)
            found.append(Occurrence(cause, subject or "", time, next(ends, None)))
    return found
