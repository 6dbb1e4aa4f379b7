"""Comparison of systems, time windows or inputs."""

from __future__ import annotations

from typing import Any

from zlens.compare import CompareOptions, Side, compare, measure_run, render, tables
from zlens.compare.data_format import objects
from zlens.engine import cancellation
from zlens.errors import QueryError
from zlens.server import json_values
from zlens.server.workspace import Workspace

_WINDOW = ("system", "from", "to", "input", "source")


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    windows = [request["base"], *request["others"]]
    names = [
        window["name"] or ("base" if not index else "other" if index == 1 else f"other{index}")
        for index, window in enumerate(windows)
    ]
    if len(set(names)) < len(names):
        raise QueryError("two sides have the same name", cure="rename one of them")
    sides = []
    for index, (name, window) in enumerate(zip(names, windows, strict=True)):
        cancellation.report_progress(index, len(windows) + 1, f"measuring {name}")
        key = tuple(window[part] for part in _WINDOW)

        def work(key: tuple[Any, ...] = key, name: str = name) -> Any:
            with workspace.open_narrow(*key) as session:
                return measure_run(session, name)

        sides.append(Side(name, [workspace.compute_once(("run", key), work)]))
    options = CompareOptions.from_values(request)
    cancellation.report_progress(len(windows), len(windows) + 1, "testing differences")
    comparison = compare(sides, options)
    if request["format"] == "html":
        return {"html": render(comparison, "html")}
    by_kind: dict[str, list[Any]] = {"difference": [], "part": [], "warning": [], "note": []}
    for entry in objects(comparison):
        by_kind[entry["kind"]].append(json_values.json_value(entry))
    return {
        "sides": [
            {"name": side.name, "systems": side.systems, **json_values.json_value(_span(side))}
            for side in sides
        ],
        "differences": by_kind["difference"],
        "waterfall": by_kind["part"],
        "warnings": by_kind["warning"],
        "notes": by_kind["note"],
        "criterion": [
            line for system in comparison.systems for line in tables.criterion_lines(system, names)
        ],
        "not_tested": list(
            dict.fromkeys(why for system in comparison.systems for why in tables.reasons(system.rows))
        ),
    }


def _span(side: Side) -> dict[str, Any]:
    runs = [run for side_run in side.runs for run in side_run.systems.values()]
    return {
        "from": min((run.first for run in runs if run.first), default=None),
        "to": max((run.last for run in runs if run.last), default=None),
        "intervals": sum(run.intervals for run in runs),
    }
