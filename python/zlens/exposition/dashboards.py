"""Grafana dashboards as defined in `facts/exposition/dashboards.toml`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from zlens.catalog import exposition
from zlens.catalog.exposition import MetricFamily, MetricGroup
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable

_FILE = FACTS / "exposition" / "dashboards.toml"
#: Grafana units by base unit.
_UNITS = {
    "ratio": "percentunit",
    "seconds": "s",
    "bytes": "bytes",
    "bytes_per_second": "Bps",
    "per_second": "ops",
    "hertz": "hertz",
    "watts": "watt",
    "joules": "joule",
}
#: Grafana units for the rate of a counter.
_RATES = {"seconds": "none", "bytes": "Bps"}
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_DATA_SOURCE = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
_WIDTH, _HEIGHT = 12, 8
#: Height of a panel with a single number.
_SMALL = 4


class _Panel(FactTable, frozen=True):
    title: Annotated[str, Meta(description="title")]
    kind: Annotated[Literal["timeseries", "stat"], Meta(description="its form")] = "timeseries"
    columns: Annotated[tuple[str, ...], Meta(description="measure.column or role.entity.role")] = ()
    where: Annotated[dict[str, str], Meta(description="values of labels of the metrics")] = field(
        default_factory=dict
    )
    age: Annotated[str, Meta(description="a time whose distance from now is shown")] = ""
    top: Annotated[int, Meta(ge=0, le=100, description="number of the largest values to show")] = 0


class _Dashboard(FactTable, frozen=True):
    name: Annotated[str, Meta(description="the name of its file")]
    title: Annotated[str, Meta(description="title")]
    panel: Annotated[tuple[_Panel, ...], Meta(min_length=1, description="its panels")]


class DashboardFile(FactTable, frozen=True):
    """Definitions of all dashboards."""

    dashboard: Annotated[tuple[_Dashboard, ...], Meta(description="dashboards")]


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the dashboards in Grafana's JSON format by name. Raises CatalogError for unknown metrics."""
    declared = structs.load(_FILE, DashboardFile, "the dashboards").dashboard
    return {dashboard.name: _dashboard(dashboard) for dashboard in declared}


def _dashboard(dashboard: _Dashboard) -> dict[str, Any]:
    panels, left, top = [], 0, 0
    for number, panel in enumerate(dashboard.panel, 1):
        height = _SMALL if panel.kind == "stat" else _HEIGHT
        width = 2 * _WIDTH if panel.kind == "stat" else _WIDTH
        if left + width > 2 * _WIDTH:
            left, top = 0, top + _HEIGHT
        panels.append(_panel(panel, number, {"h": height, "w": width, "x": left, "y": top}))
        left += width
        if panel.kind == "stat":
            left, top = 0, top + height
    return {
        "uid": f"zlens-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["zlens"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_DATA_SOURCE, _systems()]},
        "panels": panels,
    }


def _systems() -> dict[str, Any]:
    group, family = exposition.family_of("interval", "interval_end")
    ends = "|".join(f"{prefix}_{family.sample}" for prefix in group.prefixes)
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


def _panel(panel: _Panel, number: int, grid_position: Mapping[str, int]) -> dict[str, Any]:
    if panel.age:
        targets = [_target(panel, panel.age, "A", "")]
        unit = "s"
    else:
        shown = [_find_metric(name) for name in panel.columns]
        units = {_unit(family) for _, family in shown}
        unit = units.pop() if len(units) == 1 else "none"
        several = len(shown) > 1
        targets = [
            _target(panel, name, chr(ord("A") + index), _heading(family) if several else "")
            for index, (name, (_, family)) in enumerate(zip(panel.columns, shown, strict=True))
        ]
    description = ". ".join(_find_metric(name)[1].text for name in panel.columns or [panel.age])
    return {
        "id": number,
        "title": panel.title,
        "description": description,
        "type": panel.kind,
        "datasource": _SOURCE,
        "gridPos": grid_position,
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": targets,
    }


def _target(panel: _Panel, name: str, reference: str, heading: str) -> dict[str, Any]:
    group, family = _find_metric(name)
    selected = "".join(f',{label}="{value}"' for label, value in panel.where.items())
    selector = f'{{system=~"$system"{selected}}}'
    queries = [f"{prefix}_{family.sample}{selector}" for prefix in group.prefixes]
    if family.kind == "counter":
        queries = [f"rate({query}[$__rate_interval])" for query in queries]
    query = " or ".join(queries)
    if panel.age:
        query = f"time() - ({query})" if len(queries) > 1 else f"time() - {query}"
    if panel.top:
        query = f"topk({panel.top}, {query})"
    shown = ("system", *(label for label in group.labels.values() if label not in panel.where))
    labels = " ".join(f"{{{{{label}}}}}" for label in shown)
    legend = f"{labels} {heading}".strip()
    return {"refId": reference, "expr": query, "legendFormat": legend, "datasource": _SOURCE}


def _heading(family: MetricFamily) -> str:
    """Return the text that distinguishes the columns of one panel."""
    return family.column.rpartition("_")[0] if family.column.endswith(("_pct", "_s")) else family.column


def _unit(family: MetricFamily) -> str:
    if family.kind == "counter":
        return _RATES.get(family.unit, "ops")
    return _UNITS.get(family.unit, "none")


def _find_metric(name: str) -> tuple[MetricGroup, MetricFamily]:
    """Return the metric of `measure.column` or `role.entity.role`."""
    if not name.startswith("role."):
        measure, _, column = name.partition(".")
        return exposition.family_of(measure, column)
    _, entity, role = name.split(".")
    for group in exposition.names().groups:
        for family in group.families:
            if group.of == entity and family.column == role:
                return group, family
    raise CatalogError(f"{name} is not exported", file=str(_FILE))
