"""Findings, worst first, and their evidence."""

from __future__ import annotations

from typing import Any

from zlens.catalog.rules import CLASSES
from zlens.findings import evidence as evidences
from zlens.findings.evaluate import find
from zlens.server import values
from zlens.server.place import Place


def answer(place: Place, request: dict[str, Any]) -> dict[str, Any]:
    classes = request["classes"]
    if classes == ["all"]:
        classes = list(CLASSES)
    system = request["system"]
    window = (request["from"], request["to"], request["input"])

    def work() -> dict[str, Any]:
        # All systems at once: evaluating each alone would compute all measures again.
        with place.narrowed(None, *window) as session:
            result = find(session, classes=classes)
        return {
            "rows": [values.plain(row.row()) for row in result.rows],
            "applies": [(rule, result.systems[rule.id]) for rule in result.asked],
            "missing": [
                {"rule": rule.id, "title": rule.title, "why": f"without {', '.join(names)}"}
                for rule, names in result.missing
            ],
            "off": [{"rule": rule.id, "class": rule.threshold_class} for rule in result.off],
        }

    if system is not None:
        place.system_names(system)
    key = ("findings", window, None if classes is None else tuple(sorted(set(classes))))
    findings: dict[str, Any] = place.once(key, work)
    applied, elsewhere = 0, []
    for rule, systems in findings["applies"]:
        if system is None or systems is None or system in systems:
            applied += 1
        else:
            why = f"only for {', '.join(sorted(systems))}"
            elsewhere.append({"rule": rule.id, "title": rule.title, "why": why})
    return {
        "rows": [row for row in findings["rows"] if system in (None, row["system"])],
        "asked": applied,
        "missing": [*findings["missing"], *elsewhere],
        "off": findings["off"],
    }


def evidence(place: Place, request: dict[str, Any]) -> dict[str, Any]:
    """The values and thresholds of a rule over time, for one subject."""
    result = evidences.evidence(place.session, request["rule"], request["system"], request["subject"])
    times, value, threshold, applied = zip(*result.points, strict=True) if result.points else ((), (), (), ())
    return {
        "rule": result.rule.id,
        "unit": result.rule.unit or "",
        "sql": result.sql,
        "t": [values.epoch(time) for time in times],
        "value": values.plain(list(value)),
        "threshold": values.plain(list(threshold)),
        "held": list(applied),
    }
