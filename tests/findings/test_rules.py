"""Tests of rules: each holds on one input and not on another, and its file is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from measure_rows import Made, Tables, minutes, several
from rule_cases import CASES, IDLE_CORES, Case, cores

from zlens.catalog import measures, rules
from zlens.checks import rules as check_rules
from zlens.findings import FindingsResult, evaluate
from zlens.findings.statements import rule_sql

BUILTIN = {rule.id: rule for rule in rules.load().values() if not rule.own}
COMPUTABLE = sorted(rule.id for rule in BUILTIN.values() if rule.computable)


def held(name: str, tables: Tables, case: Case) -> FindingsResult:
    baseline = Made(case.baseline) if case.baseline is not None else None
    return evaluate(Made(tables), {name: BUILTIN[name]}, classes=rules.CLASSES, baseline=baseline)


def test_rule_is_in_folder_of_its_area(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smt").mkdir()
    text = BUILTIN["BAL-001"].file.read_text(encoding="utf-8")
    (tmp_path / "smt" / "bal-001.toml").write_text(f'area = "data"\n{text}', encoding="utf-8")
    monkeypatch.setattr(rules, "FOLDER", tmp_path)
    rules.builtin.cache_clear()
    (wrong,) = [each for each in check_rules.check() if "leave out" in each]
    rules.builtin.cache_clear()
    assert "bal-001.toml: contains the rule BAL-001 of data" in wrong


def test_every_computable_rule_has_both_inputs() -> None:
    assert sorted(CASES) == COMPUTABLE


@pytest.mark.parametrize("name", COMPUTABLE)
def test_rule_fires(name: str) -> None:
    case = CASES[name]
    found = held(name, case.fires, case)
    assert found.missing == []
    assert {each.rule.id for each in found.rows} == {name}
    subjects = {each.subject for each in found.rows}
    assert not case.subjects or subjects == case.subjects
    for each in found.rows:
        assert each.system == "SYSA"
        assert each.data == "zvm-monitor"
        assert 0 < each.held <= each.tested
        assert each.severity in rules.SEVERITIES


@pytest.mark.parametrize("name", COMPUTABLE)
def test_rule_is_silent(name: str) -> None:
    case = CASES[name]
    found = held(name, case.silent, case)
    assert [rule.id for rule in found.asked] == [name]
    assert found.rows == []


@pytest.mark.parametrize("name", COMPUTABLE)
def test_rule_without_inputs_is_not_computable(name: str) -> None:
    rule = BUILTIN[name]
    answers = {"event", "inventory", "interval", "problem"}
    needed = [need for need in rule.needs if need.partition(".")[0] not in answers]
    found = evaluate(Made({}), {name: rule}, classes=rules.CLASSES)
    if needed or not rule.compare:
        assert found.asked == []
        assert set(needed) <= set(found.missing[0][1])
    else:
        assert [each.id for each in found.asked] == [name]
    assert found.rows == []


@pytest.mark.parametrize("name", COMPUTABLE)
def test_rule_query_returns_rule_columns(name: str) -> None:
    rule = BUILTIN[name]
    session = Made({})
    for baseline in (False, True):
        session.sql(rule_sql(rule, baseline=baseline))
        given = {row[0] for row in session.sql(f"DESCRIBE ({rule.sql(baseline=baseline)})").rows}
        assert set(rules.COLUMNS) <= given
        assert set(rule.gives) == given & set(rules.OPTIONAL)


def timed(name: str) -> bool:
    """Return whether a rule reads intervals, which may be flagged."""
    tables = {need.partition(".")[0] for need in BUILTIN[name].needs} & set(measures.measure_names())
    return any(not measures.load_measure(table).plain for table in tables)


@pytest.mark.parametrize("name", [name for name in COMPUTABLE if timed(name)])
def test_rules_ignore_flagged_intervals(name: str) -> None:
    case = CASES[name]
    flagged = {
        table: [{**row, "flag": "gap"} if "seconds" in row else row for row in rows]
        for table, rows in case.fires.items()
    }
    assert held(name, flagged, case).rows == []


def test_idle_cores_have_no_finding() -> None:
    # The published idle system: capacity factor 118, maximum 200, not computable on most cores.
    thread = {"cpu_type": "IFL", "busy_pct": 0.01, "polarity": "Vh"}
    idle = {
        "core_type": minutes(
            **IDLE_CORES, capacity_factor_pct=118.0, max_capacity_factor_pct=200.0, thread_density=1.24
        ),
        "core": cores((0.02, None), (0.01, 80.8), (0.01, None), (0.01, None)),
        "cpu": several({**thread, "cpu_id": n, "core_id": n // 2, "thread_id": n % 2} for n in range(8)),
    }
    smt = {rule.id: rule for rule in BUILTIN.values() if rule.area == "smt"}
    found = evaluate(Made(idle), smt, classes=rules.CLASSES)
    checked = {rule.id for rule in found.asked}
    assert {"SMT-002", "SMT-003", "SMT-004", "SMT-008", "SMT-009"} <= checked
    assert found.rows == []


def test_catalog_agrees_with_itself() -> None:
    assert check_rules.check() == []


def test_every_rule_has_source_and_action() -> None:
    assert len(BUILTIN) > 100
    for rule in BUILTIN.values():
        assert rule.meaning, rule.id
        assert rule.action, rule.id
        assert rule.source, rule.id
        assert bool(rule.reason) != rule.computable, rule.id


def test_ibm_rules_have_no_heuristic_threshold() -> None:
    """A guard names the origin of a number; if this is not IBM, the class says so, too."""
    ours = [rule for rule in BUILTIN.values() if re.search(r"\bzlens chose\b", rule.guard)]
    assert len(ours) > 20
    assert [rule.id for rule in ours if rule.threshold_class in ("ibm", "vendor")] == []
    assert [rule.id for rule in ours if rule.status.startswith("verified")] == []
    # No publication has the numbers of SMT-004.
    assert BUILTIN["SMT-004"].threshold_class == "ibm-qual"


def test_rules_run_one_query_each() -> None:
    session = Made(CASES["PAG-002"].fires)
    known = {name: rule for name, rule in BUILTIN.items() if rule.computable}
    found = evaluate(session, known, classes=rules.CLASSES)
    tables = {need.rpartition(".")[0] for rule in known.values() for need in rule.needs}
    queries = [query for query in session.questions if "AS tested" in query]
    assert len(queries) == len(found.asked)
    assert len(session.questions) <= len(queries) + len(tables)
