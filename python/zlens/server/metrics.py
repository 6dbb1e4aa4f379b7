"""The page that Prometheus scrapes, and whether there is one."""

from __future__ import annotations

import threading
from typing import Any

from zlens.engine import cancellation
from zlens.exposition.limits import ExportLimits
from zlens.exposition.render import render
from zlens.server.workspace import Workspace

OPENMETRICS = "application/openmetrics-text"
_CONTENT = {
    True: f"{OPENMETRICS}; version=1.0.0; charset=utf-8",
    False: "text/plain; version=0.0.4; charset=utf-8",
}


class MetricsPages:
    """The page in both forms; each is computed once for the newest intervals, however often it is scraped."""

    def __init__(self, limits: ExportLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        #: By form: the newest intervals, and their page.
        self._kept: dict[bool, tuple[Any, bytes]] = {}

    def page(self, place: Workspace, *, openmetrics: bool) -> bytes:
        """The metrics of the newest interval of each system."""
        # One at a time: a second scrape waits for the first one's page.
        with cancellation.hold_lock(self._lock):
            intervals = newest(place)
            of, body = self._kept.get(openmetrics, (None, b""))
            if of != intervals:
                body = render(place.session, openmetrics=openmetrics, limits=self._limits)
                self._kept[openmetrics] = intervals, body
            return body


def ready(place: Workspace) -> bool:
    """Whether there is an interval to tell of."""
    return bool(newest(place))


def newest(place: Workspace) -> list[tuple[str, str, int]]:
    """The newest interval of each system and source."""
    systems = place.session.systems
    return [(info.system, info.source, info.intervals[-1].end_us) for info in systems if info.intervals]


def content_type(*, openmetrics: bool) -> str:
    """The content type of an answer."""
    return _CONTENT[openmetrics]


def wants_openmetrics(accept: str | None) -> bool:
    """Whether the Accept header of a request prefers OpenMetrics to text."""
    quality = {"text/plain": 0.0, OPENMETRICS: 0.0}
    for part in (accept or "").lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        if name in quality and weight.replace(".", "", 1).isdecimal():
            quality[name] = max(quality[name], float(weight))
    return quality[OPENMETRICS] > 0 and quality[OPENMETRICS] >= quality["text/plain"]
