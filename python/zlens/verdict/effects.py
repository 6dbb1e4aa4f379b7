"""Findings that may have a cause or be one, with the time in which their rule held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from zlens.catalog.expressions import literal
from zlens.catalog.rules import Rule
from zlens.findings import Finding
from zlens.findings.statements import BEGAN, rule_rows_sql
from zlens.session.session import CoreSession


class Effect(Struct, frozen=True):
    """The worst finding of a rule on a system.

    more      number of further subjects of the rule
    start     when the rule began to hold, at the time of its worst interval
    recorded  end of the first interval in which it held: nothing later is its cause
    end       end of the last one
    interval  length of its intervals
    """

    finding: Finding
    more: int
    start: datetime
    recorded: datetime
    end: datetime
    interval: timedelta

    @property
    def rule(self) -> Rule:
        return self.finding.rule


def load_effects(
    session: CoreSession, findings: Sequence[Finding], system: str, gap: timedelta
) -> list[Effect]:
    """Return the effects on a system, worst first; a shorter pause than `gap` does not end one."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.system == system and finding.rule.clause and finding.worst is not None:
            by_rule.setdefault(finding.rule.id, []).append(finding)
    effects = []
    for worst, *others in by_rule.values():
        effect = _effect(session, worst, len(others), gap)
        if effect is not None:
            effects.append(effect)
    return effects


def _effect(session: CoreSession, finding: Finding, more: int, gap: timedelta) -> Effect | None:
    rows = session.sql(
        f"SELECT {BEGAN} AS began, interval_end FROM ({rule_rows_sql(finding.rule)}) "
        f"WHERE held AND system = {literal(finding.system or '')} AND source = {literal(finding.data or '')} "
        f"AND coalesce(CAST(subject AS VARCHAR), '') = {literal(finding.subject)} ORDER BY interval_end"
    ).rows
    spans: list[list[tuple[datetime, datetime]]] = []
    for start, end in rows:
        if spans and start - spans[-1][-1][1] <= max(gap, end - start):
            spans[-1].append((start, end))
        else:
            spans.append([(start, end)])
    for span in spans:
        if any(end == finding.worst for _, end in span):
            (start, recorded), (_, end) = span[0], span[-1]
            return Effect(finding, more, start, recorded, end, recorded - start)
    return None
