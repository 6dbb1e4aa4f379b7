"""Computes what the web UI shows first of a lake, so that a server finds it in the user's cache folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from itertools import chain
from typing import Any

from zlens.catalog import measures
from zlens.catalog.aggregation import KNOWN
from zlens.inputs.source import Progress
from zlens.lake.location import open_lake
from zlens.server import aggregate, endpoints, findings, peaks
from zlens.server.workspace import Workspace
from zlens.session.session import CoreSession


@cache
def view_requests() -> list[dict[str, Any]]:
    """Return the requests of views for long measures, without their selection."""
    text = resources.files("zlens.server").joinpath("view_requests.json").read_text(encoding="utf-8")
    requests: list[dict[str, Any]] = json.loads(text)
    return requests


def prepare(
    lake: str | os.PathLike[str],
    *,
    systems: Iterable[str] = (),
    progress: Progress | None = None,
    report: Callable[[str], None] | None = None,
) -> None:
    """Compute the long tables that views show first, and keep them in the user's cache folder.

    systems  only these systems; empty: all
    report   is called with the name of each system when its tables are kept

    Tables that are kept already are not computed again. Raises LakeError, InputError and QueryError.
    """
    name = os.fspath(lake)
    open_lake(name)
    with CoreSession([name]) as session:
        session.keeps_tables = True
        workspace = Workspace(session, [name])
        try:
            known = list(dict.fromkeys(info.system for info in session.systems))
            selected = [*dict.fromkeys(systems)] or known
            for system in selected:
                workspace.system_names(system)
            for number, system in enumerate(selected):
                if progress is not None:
                    progress(number, len(selected), system)
                with workspace.for_systems({"system": system, "source": None}) as place:
                    # Of many systems, rules are checked in sessions of their own.
                    _prepare(place, system, rules=place is workspace)
                if report is not None:
                    report(system)
        finally:
            workspace.close()


def _prepare(workspace: Workspace, system: str, *, rules: bool) -> None:
    endpoint = endpoints.find("POST", "aggregate")
    requests = [
        endpoint.check({**request, "system": system})
        for request in view_requests()
        if workspace.session.has_data(request["table"])
    ]
    columns: dict[str, set[str]] = {}
    for request in requests:
        columns.setdefault(request["table"], set()).update(aggregate.reads(workspace, request))
        columns[request["table"]].update(request["keep"])
    for table, read in peaks.reads(workspace).items():
        columns.setdefault(table, set()).update(read)
    tables = {
        table: workspace.columns_to_keep(table, [*read])
        for table, read in columns.items()
        if measures.load_measure(table).lazy
    }
    queries = workspace.session.queries
    short_tables = {
        name: [*(queries.schema.column_names(name) or ()), KNOWN]
        for name in measures.measure_names()
        if not measures.load_measure(name).lazy and queries.has_data(name)
    }
    steps = queries.materialize(tables)
    if rules:
        # Rules need most columns: tables are computed once with those of all.
        findings.answer(workspace, endpoints.find("GET", "findings").check({}))
    for _ in chain(steps, queries.materialize(short_tables)):
        pass
    for request in requests:
        aggregate.answer(workspace, request)
    peaks.answer(workspace, endpoints.find("GET", "peak").check({"system": system}))
