"""Dashboards for Grafana, from the catalog: `facts/exposition/dashboards.toml` says what panels show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zlens.catalog import exposition
from zlens.catalog.exposition import MetricFamily, MetricGroup
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.validators import Choice, Integer, Key, ListOf, SingleLine, Spec

_FILE = FACTS / "exposition" / "dashboards.toml"
#: Units of Grafana by base unit.
_UNITS = {
    "ratio": "percentunit",
    "seconds": "s",
    "bytes": "bytes",
    "bytes_per_second": "Bps",
    "per_second": "ops",
    "hertz": "hertz",
}
#: Units of Grafana of the rate of a counter.
_RATES = {"seconds": "none", "bytes": "Bps"}
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 12, 8
#: Panels of a single number.
_SMALL = 4


def dashboards() -> dict[str, dict[str, Any]]:
    """The dashboards as Grafana reads them, by name; CatalogError if a panel shows what is not exported."""
    facts = document.load(_FILE, _DASHBOARDS, "the dashboards")["dashboard"]
    return {dashboard["name"]: _dashboard(dashboard) for dashboard in facts}


def _dashboard(facts: Mapping[str, Any]) -> dict[str, Any]:
    panels, left, top = [], 0, 0
    for number, panel in enumerate(facts["panel"], 1):
        height = _SMALL if panel["kind"] == "stat" else _HEIGHT
        width = 2 * _WIDTH if panel["kind"] == "stat" else _WIDTH
        if left + width > 2 * _WIDTH:
            left, top = 0, top + _HEIGHT
        panels.append(_panel(panel, number, {"h": height, "w": width, "x": left, "y": top}))
        left += width
        if panel["kind"] == "stat":
            left, top = 0, top + height
    return {
        "uid": f"zlens-{facts['name']}",
        "title": facts["title"],
        "tags": ["zlens"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_data_source(), _systems()]},
        "panels": panels,
    }


def _data_source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _systems() -> dict[str, Any]:
    ends = "|".join(_names("interval", "interval_end"))
    return {
        "name": "system",
        "label": "System",
        "type": "query",
        "datasource": _SOURCE,
        "query": f'label_values({{__name__=~"{ends}"}}, system)',
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(facts: Mapping[str, Any], number: int, place: Mapping[str, int]) -> dict[str, Any]:
    if facts["age"]:
        targets = [_target("time() - ", facts["age"], 0, "A", "")]
        unit = "s"
    else:
        shown = [_find_metric(name) for name in facts["columns"]]
        units = {_unit(group, family) for group, family in shown}
        unit = units.pop() if len(units) == 1 else "none"
        several = len(shown) > 1
        targets = [
            _target("", name, facts["top"], chr(ord("A") + index), _heading(family) if several else "")
            for index, (name, (_, family)) in enumerate(zip(facts["columns"], shown, strict=True))
        ]
    description = ". ".join(_find_metric(name)[1].text for name in facts["columns"] or [facts["age"]])
    return {
        "id": number,
        "title": facts["title"],
        "description": description,
        "type": facts["kind"],
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": targets,
    }


def _target(before: str, name: str, top: int, reference: str, heading: str) -> dict[str, Any]:
    group, family = _find_metric(name)
    chosen = '{system=~"$system"}'
    queries = [f"{prefix}_{family.sample}{chosen}" for prefix in group.prefixes]
    if family.kind == "counter":
        queries = [f"rate({query}[$__rate_interval])" for query in queries]
    query = " or ".join(queries)
    if before:
        query = f"{before}({query})" if len(queries) > 1 else before + query
    if top:
        query = f"topk({top}, {query})"
    labels = " ".join(f"{{{{{label}}}}}" for label in ("system", *group.labels.values()))
    legend = f"{labels} {heading}".strip()
    return {"refId": reference, "expr": query, "legendFormat": legend, "datasource": _SOURCE}


def _heading(family: MetricFamily) -> str:
    """What tells the columns of one panel apart."""
    return family.column.rpartition("_")[0] if family.column.endswith(("_pct", "_s")) else family.column


def _unit(group: MetricGroup, family: MetricFamily) -> str:
    if family.kind == "counter":
        return _RATES.get(family.unit, "ops")
    return _UNITS.get(family.unit, "none")


def _find_metric(name: str) -> tuple[MetricGroup, MetricFamily]:
    """The metric of `measure.column`, or of `role.entity.role`."""
    if not name.startswith("role."):
        measure, _, column = name.partition(".")
        return exposition.family_of(measure, column)
    _, entity, role = name.split(".")
    for group in exposition.names().groups:
        for family in group.families:
            if group.of == entity and family.column == role:
                return group, family
    raise CatalogError(f"{name} is not exported", file=str(_FILE))


def _names(measure: str, column: str) -> list[str]:
    group, family = exposition.family_of(measure, column)
    return [f"{prefix}_{family.sample}" for prefix in group.prefixes]


_PANEL = Spec(
    (
        Key("title", SingleLine(), "what it shows"),
        Key("kind", Choice(("timeseries", "stat")), "its form", default="timeseries"),
        Key("columns", ListOf(SingleLine()), "measure.column or role.entity.role", default=[]),
        Key("age", SingleLine(), "a time whose distance from now is shown", default=""),
        Key("top", Integer(0, 100), "only so many of the largest", default=0),
    )
)
_DASHBOARDS = Spec(
    (
        Key(
            "dashboard",
            ListOf(
                Spec(
                    (
                        Key("name", SingleLine(), "the name of its file"),
                        Key("title", SingleLine(), "its title"),
                        Key("panel", ListOf(_PANEL, 1), "its panels"),
                    )
                )
            ),
            "dashboards",
        ),
    )
)
