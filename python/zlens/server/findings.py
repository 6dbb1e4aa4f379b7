"""What stands out, worst first."""

from __future__ import annotations

from typing import Any

from zlens.catalog.rules import CLASSES
from zlens.findings import evidence as evidences
from zlens.findings.evaluate import find
from zlens.server import values
from zlens.server.place import Place


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    classes = asked["classes"]
    if classes == ["all"]:
        classes = list(CLASSES)
    system = asked["system"]
    window = (asked["from"], asked["to"], asked["input"])

    def work() -> dict[str, Any]:
        # Of all systems at once: each by itself would work out all measures again.
        with place.narrowed(None, *window) as session:
            found = find(session, classes=classes)
        return {
            "rows": [values.plain(row.row()) for row in found.rows],
            "applies": [(rule, found.systems[rule.id]) for rule in found.asked],
            "missing": [
                {"rule": rule.id, "title": rule.title, "why": f"without {', '.join(names)}"}
                for rule, names in found.missing
            ],
            "off": [{"rule": rule.id, "class": rule.threshold_class} for rule in found.off],
        }

    if system is not None:
        place.known(system)
    key = ("findings", window, None if classes is None else tuple(sorted(set(classes))))
    found: dict[str, Any] = place.once(key, work)
    applied, elsewhere = 0, []
    for rule, systems in found["applies"]:
        if system is None or systems is None or system in systems:
            applied += 1
        else:
            why = f"only for {', '.join(sorted(systems))}"
            elsewhere.append({"rule": rule.id, "title": rule.title, "why": why})
    return {
        "rows": [row for row in found["rows"] if system in (None, row["system"])],
        "asked": applied,
        "missing": [*found["missing"], *elsewhere],
        "off": found["off"],
    }


def evidence(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    """What a rule looked at, for one subject."""
    found = evidences.evidence(place.session, asked["rule"], asked["system"], asked["subject"])
    times, value, threshold, held = zip(*found.points, strict=True) if found.points else ((), (), (), ())
    return {
        "rule": found.rule.id,
        "unit": found.rule.unit or "",
        "sql": found.sql,
        "t": [values.epoch(time) for time in times],
        "value": values.plain(list(value)),
        "threshold": values.plain(list(threshold)),
        "held": list(held),
    }
