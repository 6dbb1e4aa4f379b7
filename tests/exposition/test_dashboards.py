"""Tests of Grafana dashboards written from the catalog."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import zlens
from zlens.catalog import exposition
from zlens.exposition import dashboards
from zlens.exposition.render import render

FOLDER = Path(__file__).parents[2] / "contrib" / "grafana"
#: Views of the web UI that have a dashboard.
VIEWS = ("overview", "processors", "partitions", "guests", "io", "cpumf")
_NAME = re.compile(r"\b((?:zvm|zos|linux|hmc|cpumf)_[a-z0-9_]+)")


def expressions(dashboard: dict[str, object]) -> list[str]:
    panels = dashboard["panels"]
    assert isinstance(panels, list)
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_view_has_dashboard() -> None:
    assert tuple(dashboards.dashboards()) == VIEWS
    assert {path.stem for path in FOLDER.glob("*.json")} == {*VIEWS}


@pytest.mark.parametrize("name", VIEWS)
def test_dashboard_files_are_current(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert json.loads(text) == dashboards.dashboards()[name], "make contrib"


@pytest.mark.parametrize("name", VIEWS)
def test_dashboard_queries_use_exported_metrics(name: str) -> None:
    exported = {metric for group in exposition.names().groups for metric in group.names()}
    dashboard = dashboards.dashboards()[name]
    for expr in (*expressions(dashboard), dashboard["templating"]["list"][1]["query"]):
        named = _NAME.findall(expr)
        assert named
        assert {*named} <= exported, expr


def test_panels_do_not_overlap() -> None:
    for dashboard in dashboards.dashboards().values():
        cells = [
            (x, y)
            for panel in dashboard["panels"]
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len(cells) == len({*cells})
        assert max(x for x, _ in cells) < 24


@pytest.mark.long
def test_zvm_dashboard_has_data(sim_session: zlens.Session) -> None:
    page = render(sim_session._core, openmetrics=False, rows=None).decode()
    there = {*re.findall(r"^([a-z0-9_]+)[{ ]", page, re.M)}
    for name in ("overview", "processors", "partitions", "guests", "io", "cpumf"):
        shown = [
            expr for expr in expressions(dashboards.dashboards()[name]) if {*_NAME.findall(expr)} & there
        ]
        assert len(shown) >= 4, name
