"""The page /metrics, which Prometheus scrapes."""

from __future__ import annotations

from zlens.exposition.render import render
from zlens.server.workspace import Workspace

OPENMETRICS = "application/openmetrics-text"
#: Content type of a response, by whether it is OpenMetrics.
CONTENT_TYPES = {
    True: f"{OPENMETRICS}; version=1.0.0; charset=utf-8",
    False: "text/plain; version=0.0.4; charset=utf-8",
}


def page(workspace: Workspace, *, openmetrics: bool, rows: int | None) -> bytes:
    """Return the metrics of the newest interval of each system, computed once.

    rows   of each measure and system, the largest; None: all
    """
    return workspace.compute_once(
        ("metrics", openmetrics),
        lambda: render(workspace.session, openmetrics=openmetrics, rows=rows),
    )


def newest(workspace: Workspace) -> list[tuple[str, str, int]]:
    """Return the end of the newest interval of each system and source in microseconds."""
    systems = workspace.session.systems
    return [(info.system, info.source, info.intervals[-1].end_us) for info in systems if info.intervals]


def wants_openmetrics(accept: str | None) -> bool:
    """Return whether the Accept header of a request prefers OpenMetrics to text."""
    quality = {"text/plain": 0.0, OPENMETRICS: 0.0}
    for part in (accept or "").lower().split(","):
        name, *parameters = (field.strip() for field in part.split(";"))
        weight = next((field[2:] for field in parameters if field.startswith("q=")), "1")
        if name in quality and weight.replace(".", "", 1).isdecimal():
            quality[name] = max(quality[name], float(weight))
    return quality[OPENMETRICS] > 0 and quality[OPENMETRICS] >= quality["text/plain"]
