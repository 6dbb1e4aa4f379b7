"""Tests of clauses: the views that prove them, what subjects added, and which events precede a finding."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import zlens
from zlens.api import Session
from zlens.catalog import causes, rules
from zlens.catalog.causes import VerdictFacts
from zlens.errors import CatalogError
from zlens.findings.finding import Finding, format_amount
from zlens.verdict import Clause, SystemVerdict
from zlens.verdict.effects import Effect
from zlens.verdict.occurrences import Occurrence

START = datetime(2026, 3, 2, 9, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def session(demo_files: list[Path]) -> Iterator[Session]:
    with zlens.open(demo_files[0]) as opened:
        yield opened


@pytest.fixture(scope="module")
def verdict(session: Session) -> SystemVerdict:
    [found] = session.verdict()
    return found


def clause(verdict: SystemVerdict, kind: str, text: str) -> Clause:
    [found] = [
        clause
        for clauses in verdict.sentences
        for clause in clauses
        if clause.kind == kind and text in clause.text
    ]
    return found


def test_clauses_name_views_that_prove_them(verdict: SystemVerdict) -> None:
    offline = clause(verdict, "cause", "CPU 3 was offline")
    assert (offline.view, offline.settings) == ("processors", {"cpu": "3"})
    # The demo varies the processor off at 09:07:20 (UTC+1); the window has five minutes around it.
    assert offline.start == datetime(2010, 3, 9, 8, 2, 20, tzinfo=UTC)
    busy = clause(verdict, "effect", "the processors")
    assert (busy.view, busy.settings["rule"]) == ("findings", "CPU-002")
    assert clause(verdict, "meanwhile", "of the machine").view == "machine"
    what_if = clause(verdict, "what-if", "could have used")
    assert (what_if.view, what_if.settings["set"]) == ("lab", "logical_cores=+1")
    guest = clause(verdict, "cause", "LNXBAT01 logged on")
    assert (guest.view, guest.settings) == ("guests", {"user": "LNXBAT01"})


def test_added_use_is_difference_of_means(session: Session, verdict: SystemVerdict) -> None:
    """By hand: its CPU time of the seven busy minutes, and nothing before its logon, against all guests."""
    seconds = "epoch(interval_end) - epoch(TIMESTAMPTZ '2010-03-09 08:00:00+00')"
    use = "sum(cpu_s) FILTER (WHERE {0} > {1} AND {0} <= {2}) / ({2} - {1})"
    # The processors were busy from 09:07 to 09:14; the five minutes before the logon end at 09:04.
    during, before = use.format(seconds, 420, 840), use.format(seconds, -60, 240)
    rows = session.sql(
        f"SELECT userid, coalesce({during}, 0) - coalesce({before}, 0) FROM guest GROUP BY 1"
    ).rows
    added = dict(rows)
    text = clause(verdict, "added", "of a processor").text
    share = 100 * added["LNXBAT01"] / sum(added.values())
    assert text == (
        f"and added {format_amount(100 * added['LNXBAT01'], '% of a processor', 3)} "
        f"({format_amount(share, '%', 3)} of the growth)"
    )


@pytest.fixture
def effect() -> Effect:
    rule = rules.builtin()["CPU-002"]
    values = (None,) * 4
    finding = Finding(rule, "info", "A", "zvm-monitor", "", 95.0, 90.0, "", "", *values[:3], 3, 3, None)
    return Effect(finding, 0, START, START + MINUTE, START + 10 * MINUTE, MINUTE)


@pytest.mark.parametrize(
    ("kind", "minute", "until", "explains"),
    [
        ("logon", -4, None, True),
        ("logon", -6, None, False),
        ("logon", -4, -1, False),
        # Within the first interval, whose value it may have changed; a later interval is too late.
        ("logon", 0.5, None, True),
        ("logon", 1.5, None, False),
        ("vary off processor", -60, None, True),
        ("vary off processor", -60, 5, True),
        ("vary off processor", -60, -1, False),
        ("vary off processor", 1.5, 5, False),
        # CPU-002 is not what it explains.
        ("central storage removed", -1, None, False),
    ],
)
def test_cause_precedes_its_effect(
    effect: Effect, kind: str, minute: float, until: float | None, explains: bool
) -> None:
    facts = VerdictFacts.load()
    cause = next(cause for cause in facts.cause if cause.event == kind)
    end = None if until is None else START + until * MINUTE
    occurrence = Occurrence(cause, "guest A", START + minute * MINUTE, end)
    assert occurrence.may_explain(effect, timedelta(minutes=facts.minutes)) is explains


def rule_file(folder: Path, name: str, *keys: str) -> None:
    text = (rules.FOLDER / "cpu" / "cpu-008.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("explains", "clause"))]
    lines.insert(lines.index('unit = "%"'), "\n".join(keys))
    text = "\n".join(lines).replace("CPU-008", name)
    (folder / f"{name.lower()}.toml").write_text(text, encoding="utf-8")


def test_rules_must_not_explain_each_other(tmp_path: Path) -> None:
    rule_file(tmp_path, "OWN-001", 'clause = "one"', 'explains = ["OWN-002"]')
    rule_file(tmp_path, "OWN-002", 'clause = "two"', 'explains = ["OWN-001"]')
    loaded = rules.load(tmp_path)
    with pytest.raises(CatalogError, match="rules explain each other: OWN-00"):
        causes.explained_rules(loaded)
    assert len(causes.check(loaded)) == 1


def test_wrong_keys_for_verdicts_are_catalog_issues(tmp_path: Path) -> None:
    rule_file(
        tmp_path,
        "OWN-001",
        'clause = "{value} of {what} with {load.none}"',
        'explains = ["OWN-009", "CPU-014"]',
        'growth = ["device.rate"]',
        'meanwhile = { table = "cec", columns = ["machine"], by = "core", of = "cpu", clause = "{x}" }',
    )
    loaded = rules.load(tmp_path)
    found = {(key, problem) for key, problem, _ in causes.rule_problems(loaded["OWN-001"], loaded)}
    assert found == {
        ("explains", "there is no rule OWN-009"),
        ("explains", "CPU-014 has no clause"),
        ("clause", "there is no {what}"),
        ("clause", "there is no {load.none}"),
        ("growth", "device.rate is not a total of peaks.toml"),
        ("meanwhile", "cec has no number machine"),
        ("meanwhile", "cec has no column core"),
        ("meanwhile", "cpu has no column core"),
        ("meanwhile", "there is no {x}"),
    }
    assert causes.check(rules.builtin()) == []
