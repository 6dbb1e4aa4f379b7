"""The page that Prometheus scrapes, and whether there is one."""

from __future__ import annotations

import threading
from typing import Any

from zlens.engine import cancelling
from zlens.exposition.limits import Limits
from zlens.exposition.render import render
from zlens.server.place import Place


class _Page:
    """One form of the page; computed once for the newest intervals, however often it is scraped."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.newest: Any = None
        self.body = b""


def page(place: Place, openmetrics: bool, limits: Limits) -> bytes:
    """The metrics of the newest interval of each system."""
    kept: _Page = place.once(("metrics", openmetrics, limits), _Page)
    with cancelling.held(kept.lock):
        newest = _newest(place)
        if newest != kept.newest:
            kept.body = render(place.session, openmetrics=openmetrics, limits=limits)
            kept.newest = newest
        return kept.body


def ready(place: Place) -> bool:
    """Whether there is an interval to tell of."""
    return bool(_newest(place))


def _newest(place: Place) -> list[tuple[str, str, int]]:
    systems = place.session.systems
    return [(info.system, info.source, info.intervals[-1].end_us) for info in systems if info.intervals]
