"""A finding: a rule that holds for one subject of one system."""

from __future__ import annotations

import math
from datetime import datetime

from msgspec import Struct

from zlens.catalog.rules import SEVERITIES, Rule
from zlens.rendering.rows import iso
from zlens.rendering.text_lines import with_unit

#: Significant digits of a printed value.
_DIGITS = 4
#: Upper bound of the excess over a threshold.
_WORST = 1e6


class RuleTest(Struct, frozen=True):
    """The result of a rule for one subject of one system.

    value, threshold, detail, first, last and worst cover the rows where it holds, the others all rows;
    any_detail is empty if the rule has no baseline.
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


class Finding(Struct, frozen=True):
    """A rule, the subject that it holds for, and the values.

    value      the worst value where the rule holds; with a baseline, the mean of all
    threshold  the threshold, None if the rule compares no number
    limit      the threshold in words, with its unit
    first, last, worst   first and last time it held, and the worst time, UTC
    held, tested         number of rows (mostly intervals) where it held, and of all tested rows
    baseline   the mean of the value in the baseline
    others     results of rules that disagree with this one
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

    def __repr__(self) -> str:
        subject = " ".join(filter(None, (self.system, self.subject)))
        value = format_amount(self.value, self.rule.unit)
        numbers = f": {value} ({self.limit})" if value and self.limit else f": {value}" if value else ""
        return f"<Finding {self.severity} {self.rule.id} {subject}{numbers}>"

    @property
    def excess(self) -> float:
        """Factor by which the value exceeds its threshold; 1 if there is no ratio."""
        if self.value is None or not self.threshold or self.value * self.threshold <= 0:
            return 1.0
        ratio = self.value / self.threshold
        worse = 1 / ratio if self.rule.compare in ("<", "<=") else ratio
        return min(max(worse, 1.0), _WORST)

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key, worst first: severity, excess over the threshold, share of the intervals."""
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

    def to_row(self) -> dict[str, object]:
        """Return the finding as one flat row for CSV, JSON and the web UI."""
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


def format_amount(value: float | None, unit: str = "", digits: int = _DIGITS) -> str:
    """Format a number with significant digits and its unit.

    >>> amount(81.2345, "%"), amount(0.000257, "s"), amount(60.0), amount(None)
    ('81.23%', '0.000257 s', '60', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    if "e" in text:
        text = f"{value:.3g}"
    # Four digits, because a value that exceeds its threshold must not be printed as equal to it.
    shown = {"ratio": "", "index": "", "count": ""}.get(unit, unit)
    return with_unit(text, shown)
