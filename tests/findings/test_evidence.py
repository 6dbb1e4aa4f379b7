"""Tests of the evidence of a finding: the series that its rule compares."""

from __future__ import annotations

import re
from datetime import timedelta
from statistics import fmean

import pytest

from zlens.api import Session
from zlens.errors import QueryError
from zlens.findings.evidence import evidence


@pytest.fixture(scope="module")
def session(sim_session: Session) -> Session:
    return sim_session


def test_evidence_agrees_with_finding(session: Session):
    """The points beyond the threshold are the intervals that the finding counts; the worst is its value."""
    found = [each for each in session.findings() if each.value is not None and not each.rule.around]
    assert len(found) > 10
    for each in found:
        points = evidence(session._core, each.rule.id, each.system or "", each.subject).points
        assert sum(held for *_, held in points) == each.held
        values = [value for _, value, _, held in points if held and value is not None]
        worst = min(values) if each.rule.compare in ("<", "<=") else max(values)
        assert worst == each.value
        assert [when for when, *_ in points] == sorted(when for when, *_ in points)


def test_thinned_evidence_keeps_smallest_and_largest(session: Session):
    finding = next(each for each in session.findings() if each.rule.id == "IO-003")
    whole = evidence(session._core, "io-003", finding.system or "", finding.subject).points
    few = evidence(session._core, "IO-003", finding.system or "", finding.subject, points=10).points
    assert len(few) <= 10 < len(whole)
    assert {min(p[1] for p in whole), max(p[1] for p in whole)} <= {p[1] for p in few}
    assert set(few) <= set(whole)


def test_evidence_of_event_shows_before_and_after(session: Session):
    """The means of five minutes around the logon are those that the finding states."""
    (finding,) = [each for each in session.findings() if each.rule.id == "USR-008"]
    series = evidence(session._core, "USR-008", finding.system or "", finding.subject)
    assert (series.column, series.unit, {limit for _, _, limit, _ in series.points}) == (
        "load.busy_pct",
        "%",
        {None},
    )
    logon = finding.first
    assert logon is not None
    near = timedelta(minutes=6)
    before = [value for end, value, *_ in series.points if logon - near < end <= logon]
    after = [value for end, value, *_ in series.points if logon + timedelta(minutes=1) < end < logon + near]
    numbers = re.findall(r"[\d.]+(?=%)", finding.detail)
    assert fmean(before[-5:]) == pytest.approx(float(numbers[0]), abs=4)
    assert fmean(after[:5]) == pytest.approx(float(numbers[1]), abs=4)
    assert len(series.points) == 60
    # A threshold in the unit of the column is drawn with it.
    limits = {limit for _, _, limit, _ in evidence(session._core, "CPU-014", "ZLSIM", "").points}
    assert limits == {90}


def test_unknown_rule_is_error(session: Session):
    with pytest.raises(QueryError, match="there is no rule NOPE-1"):
        evidence(session._core, "NOPE-1", "ZLSIM", "")
