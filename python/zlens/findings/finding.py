"""One finding: a rule that holds on one subject of one system."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from zlens.catalog.rules import SEVERITIES, Rule
from zlens.present.rows import iso

#: How a value is given to people: more digits say nothing.
_DIGITS = 4
#: A value this many times its threshold is as bad as any.
_WORST = 1e6


@dataclass(frozen=True, slots=True)
class Tested:
    """What a rule says of one subject of one system.

    value, threshold, detail, first, last and worst are of the rows where it holds, the others of all;
    any_detail is empty where the rule has no baseline.
    """

    system: str | None
    data: str | None
    subject: str
    tested: int
    held: int
    value: float | None
    threshold: float | None
    detail: str
    first: datetime | None
    last: datetime | None
    worst: datetime | None
    mean: float | None
    all_first: datetime | None
    all_last: datetime | None
    any_detail: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule, what it holds on, and what was found.

    value      the worst value where the rule holds; against a baseline the mean of all
    threshold  what it is held against, None where the rule compares no number
    limit      the threshold in words, with its unit
    first, last, worst   when it held first and last, and when it was worst, UTC
    held, tested         in how many rows (mostly intervals) it held, and of how many
    baseline   the mean of the value in the baseline
    others     what rules say that see the same matter otherwise
    """

    rule: Rule
    severity: str
    system: str | None
    data: str | None
    subject: str
    value: float | None
    threshold: float | None
    limit: str
    detail: str
    first: datetime | None
    last: datetime | None
    worst: datetime | None
    held: int
    tested: int
    mean: float | None
    baseline: float | None = None
    others: tuple[str, ...] = ()

    @property
    def excess(self) -> float:
        """How many times worse than its threshold; 1 where nothing can be divided."""
        if self.value is None or not self.threshold or self.value * self.threshold <= 0:
            return 1.0
        ratio = self.value / self.threshold
        worse = 1 / ratio if self.rule.compare in ("<", "<=") else ratio
        return min(max(worse, 1.0), _WORST)

    @property
    def order(self) -> tuple[object, ...]:
        """Worst first: severity, how far beyond the threshold, how much of the time."""
        share = self.held / self.tested if self.tested else 1.0
        return (
            SEVERITIES.index(self.severity),
            -round(self.excess, 3),
            -round(share, 3),
            self.rule.id,
            self.system or "",
            self.data or "",
            self.subject,
        )

    def row(self) -> dict[str, object]:
        """The finding as one flat row: CSV, JSON, the page."""
        rule = self.rule
        return {
            "rule": rule.id,
            "severity": self.severity,
            "class": rule.threshold_class,
            "kind": rule.kind,
            "area": rule.area,
            "title": rule.title,
            "system": self.system,
            "data": self.data,
            "subject": self.subject or None,
            "value": finite(self.value),
            "unit": rule.unit or None,
            "threshold": self.threshold,
            "limit": self.limit,
            "detail": self.detail or None,
            "from": self.first and iso(self.first),
            "to": self.last and iso(self.last),
            "worst": self.worst and iso(self.worst),
            "intervals": self.held,
            "tested": self.tested,
            "mean": finite(self.mean),
            "baseline": finite(self.baseline),
            "condition": rule.condition,
            "meaning": rule.meaning,
            "action": rule.action,
            "source": rule.source,
            "guard": rule.guard or None,
            "disagrees": list(self.others),
        }


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def amount(value: float | None, unit: str = "") -> str:
    """A number with as many digits as say something, and its unit.

    >>> amount(81.2345, "%"), amount(0.000257, "s"), amount(60.0), amount(None)
    ('81.23 %', '0.000257 s', '60', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:,.0f}" if abs(value) >= 10**_DIGITS else f"{value:.{_DIGITS}g}"
    if "e" in text:
        text = f"{value:.3g}"
    # What is printed as equal to a threshold but is not would be read as a mistake; 4 digits keep them apart.
    shown = {"ratio": "", "index": "", "count": ""}.get(unit, unit)
    return f"{text} {shown}".strip() if not shown.startswith("/") else f"{text}{shown}"
