"""Findings that appear and clear: checks the rules on newly closed intervals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from zlens.catalog import rules
from zlens.errors import CatalogError, QueryError
from zlens.findings import Finding
from zlens.findings.evaluate import evaluate
from zlens.inputs.unix_time import to_unix_us
from zlens.live.measure_store import End, MeasureStore
from zlens.session.session import CoreSession

#: Rule, system and subject.
Key = tuple[str, str, str]


class FindingAlert(Struct, frozen=True):
    """A current or past finding with its start and end, in microseconds since 1970, UTC."""

    finding: Finding
    since_us: int
    until_us: int | None = None

    def row(self) -> dict[str, Any]:
        return {**self.finding.to_row(), "since_us": self.since_us, "until_us": self.until_us}


class FindingAlerts:
    """Findings over time. Intervals that close in one step are checked in one pass."""

    def __init__(self) -> None:
        self.open: dict[Key, FindingAlert] = {}
        #: Why the rules could not be checked in the last step.
        self.error: str | None = None
        self.reload()

    def reload(self) -> None:
        """Read the rules of the catalog and the user. Raises CatalogError if one is invalid."""
        self._rules = rules.load()

    def update(
        self, session: CoreSession, measures: MeasureStore, step: int, ends: Sequence[End]
    ) -> tuple[list[FindingAlert], list[FindingAlert]]:
        """Check closed intervals; returns the findings that appeared, and the findings that cleared."""
        newest: dict[str, int] = {}
        for system, _, end_us in ends:
            newest[system] = max(newest.get(system, end_us), end_us)
        narrowed = CoreSession.from_sources(
            session.sources, session.options, computed=measures.tables(step, ends)
        )
        narrowed.brief = True
        try:
            with narrowed:
                findings = evaluate(narrowed, self._rules).rows
            self.error = None
        except (CatalogError, QueryError) as error:
            # A rule of the user may be invalid; current findings stay.
            self.error = str(error)
            return [], []
        opened, cleared = [], []
        seen: set[Key] = set()
        for finding in findings:
            if finding.system not in newest:
                continue
            key = _key(finding)
            seen.add(key)
            known = self.open.get(key)
            end_us = newest[finding.system]
            since_us = known.since_us if known is not None else _us(finding.first, end_us)
            last_us = _us(finding.last, end_us)
            if known is None:
                opened.append(FindingAlert(finding, since_us))
            if last_us < end_us:
                later_us = [us for system, _, us in ends if system == finding.system and us > last_us]
                cleared.append(FindingAlert(finding, since_us, min(later_us, default=last_us)))
                self.open.pop(key, None)
            else:
                self.open[key] = FindingAlert(finding, since_us)
        for key, alert in [*self.open.items()]:
            if key[1] in newest and key not in seen:
                first_us = min(end_us for system, _, end_us in ends if system == key[1])
                cleared.append(FindingAlert(alert.finding, alert.since_us, first_us))
                del self.open[key]
        return opened, cleared


def _us(time: datetime | None, otherwise: int) -> int:
    return otherwise if time is None else to_unix_us(time)


def _key(finding: Finding) -> Key:
    return finding.rule.id, finding.system or "", finding.subject
