"""Findings, in stages or complete, their evidence, and verdicts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from zlens.catalog.rules import CLASSES
from zlens.engine import cancellation
from zlens.engine.cancellation import hold_lock
from zlens.findings import Finding, FindingsResult
from zlens.findings import evidence as evidences
from zlens.findings.evaluate import find_in_stages
from zlens.server import buckets, json_values
from zlens.server.workspace import Workspace
from zlens.verdict import Clause, SystemVerdict, compose


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return all findings, worst first."""
    findings = _complete(workspace, request)
    # Data missing for one machine may exist for another.
    checked = {rule.id for rule in findings.asked}
    findings.missing = sorted(
        (entry for entry in findings.missing if entry[0].id not in checked), key=lambda entry: entry[0].id
    )
    complete = _part(findings, request["system"])
    system = request["system"]
    applying = [
        rule for rule in complete["asked"] if None in (system, rule["systems"]) or system in rule["systems"]
    ]
    elsewhere = [
        {"rule": rule["rule"], "title": rule["title"], "why": f"only for {', '.join(rule['systems'])}"}
        for rule in complete["asked"]
        if rule not in applying
    ]
    return {**complete, "asked": len(applying), "missing": [*complete["missing"], *elsewhere]}


def _complete(workspace: Workspace, request: dict[str, Any]) -> FindingsResult:
    findings = FindingsResult(workspace.session)
    for part in _stages(workspace, request).parts():
        findings.add(part)
    return findings


def verdict(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict on a system: the causes of the findings in a window, searched in all the data."""
    window = {**request, "classes": None, "input": None}

    def work() -> SystemVerdict:
        findings = _complete(workspace, window)
        [found] = compose(
            findings, session=workspace.session, system=request["system"], window=buckets.span(request)
        )
        return found

    workspace.system_names(request["system"])
    found = workspace.compute_once(("verdict", request["system"], request["from"], request["to"]), work)
    return {
        "system": found.system,
        "text": found.text,
        "sentences": [[_clause(clause) for clause in clauses] for clauses in found.sentences],
    }


def _clause(clause: Clause) -> dict[str, Any]:
    return {
        **json_values.attributes(clause, "kind", "before", "text", "view", "settings"),
        "from": json_values.epoch_seconds(clause.start),
        "to": json_values.epoch_seconds(clause.end),
    }


def stream(workspace: Workspace, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the findings in stages; rules that are computed soonest come first."""
    if request["few"] and workspace.has_many_systems:
        return
    for part in _stages(workspace, request).parts():
        answer = _part(part, request["system"])
        orders = [list(row.order) for row in _rows(part, request["system"])]
        yield {**answer, "orders": orders}


def _part(findings: FindingsResult, system: str | None) -> dict[str, Any]:
    return {
        "rows": [json_values.json_value(row.to_row()) for row in _rows(findings, system)],
        "asked": [
            {"rule": rule.id, "title": rule.title, "systems": _sorted(findings.systems[rule.id])}
            for rule in findings.asked
        ],
        "missing": [
            {"rule": rule.id, "title": rule.title, "why": f"without {', '.join(names)}"}
            for rule, names in findings.missing
        ],
        "off": [{"rule": rule.id, "class": rule.threshold_class} for rule in findings.off],
    }


def _rows(findings: FindingsResult, system: str | None) -> list[Finding]:
    return [row for row in findings.rows if system in (None, row.system)]


def _sorted(systems: frozenset[str] | None) -> list[str] | None:
    return None if systems is None else sorted(systems)


def _stages(workspace: Workspace, request: dict[str, Any]) -> _SharedEvaluation:
    classes = request["classes"]
    if classes == ["all"]:
        classes = list(CLASSES)
    window = (request["from"], request["to"], request["input"])
    if request["system"] is not None:
        workspace.system_names(request["system"])
    key = ("findings", window, None if classes is None else tuple(sorted(set(classes))))
    # All systems at once, because evaluating each separately would compute all measures again.
    kind = (
        _EvaluationByMachine if workspace.has_many_systems and request["input"] is None else _SharedEvaluation
    )
    return workspace.compute_once(key, lambda: kind(workspace, window, classes))


class _SharedEvaluation:
    """The stages of an evaluation shared by requests; a request that needs the next stage computes it."""

    def __init__(self, workspace: Workspace, window: tuple[Any, Any, Any], classes: list[str] | None) -> None:
        self._workspace = workspace
        self._window = window
        self._classes = classes
        self._lock = threading.RLock()
        self._guard = threading.Lock()
        self._done: list[FindingsResult] = []
        self._seen: set[str] = set()
        self._missing: set[str] = set()
        self._is_finished = False
        self._readers = 0
        self._pending: Iterator[FindingsResult] | None = None

    def parts(self) -> Iterator[FindingsResult]:
        with self._guard:
            self._readers += 1
        try:
            index = 0
            while True:
                with hold_lock(self._lock):
                    if index == len(self._done) and not self._is_finished:
                        self._compute()
                    if index == len(self._done):
                        return
                    part = self._done[index]
                index += 1
                yield part
        finally:
            with self._guard:
                self._readers -= 1
                if not self._readers:
                    # An open iterator uses its session, which then cannot be closed.
                    self._pending = None

    def _compute(self) -> None:
        if any(part.rows for part in self._done):
            # The first findings are as urgent as the charts of a view, the others are not.
            self._workspace.precedence.pause()
        if self._pending is None:
            self._pending = self._evaluate()
        try:
            part = next(self._pending, None)
        except BaseException:
            # Canceled: the next request continues with the measures computed so far.
            self._pending = None
            raise
        if part is None:
            self._pending, self._is_finished = None, True
            return
        part.rows = self._new(part.rows)
        part.off = [rule for rule in part.off if rule.id not in self._seen]
        part.asked = [rule for rule in part.asked if rule.id not in self._seen]
        part.missing = [
            (rule, names) for rule, names in part.missing if rule.id not in self._seen | self._missing
        ]
        self._seen |= {rule.id for rule in (*part.off, *part.asked)}
        self._missing |= {rule.id for rule, _ in part.missing}
        self._done.append(part)

    def _evaluate(self) -> Iterator[FindingsResult]:
        with self._workspace.open_narrow(None, *self._window) as session:
            yield from find_in_stages(session, classes=self._classes)

    def _new(self, rows: list[Finding]) -> list[Finding]:
        """Return the findings of rules that were not evaluated before."""
        return [row for row in rows if row.rule.id not in self._seen]


class _EvaluationByMachine(_SharedEvaluation):
    """An evaluation by machine, all rules at once: measures of all machines would need too much memory.

    A rule is listed as checked with the first machine that has its data, as missing with an earlier one.
    """

    def _evaluate(self) -> Iterator[FindingsResult]:
        machines = self._workspace.machines()
        for index in range(len(self._done), len(machines)):
            cancellation.report_progress(
                index, len(machines), f"findings of {machines[index][0]} and others of its machine"
            )
            with self._workspace.open_separately(machines[index], *self._window[:2]) as session:
                findings = FindingsResult(session)
                for part in find_in_stages(session, classes=self._classes):
                    findings.add(part)
            yield findings

    def _new(self, rows: list[Finding]) -> list[Finding]:
        return rows


def evidence(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the values and thresholds of a rule over time for one subject."""
    result = evidences.evidence(workspace.session, request["rule"], request["system"], request["subject"])
    times, value, threshold, applied = zip(*result.points, strict=True) if result.points else ((), (), (), ())
    return {
        "rule": result.rule.id,
        **json_values.attributes(result, "unit", "column", "sql"),
        "t": [json_values.epoch_seconds(time) for time in times],
        "value": json_values.json_value(list(value)),
        "threshold": json_values.json_value(list(threshold)),
        "held": list(applied),
    }
