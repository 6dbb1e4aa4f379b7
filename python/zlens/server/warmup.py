"""Computes the data of the first view in the background when the server starts."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from zlens.catalog import measures
from zlens.engine.cancellation import CancelToken
from zlens.errors import ZlensError
from zlens.server import endpoints, findings, fleet, peaks, schema
from zlens.server.workspace import Workspace

#: Measures that the overview shows, and columns of them.
SHOWN: dict[str, Sequence[str]] = {
    "load": (
        *("interval_end", "seconds", "flag", "busy_pct", "guest_pct", "tv", "page_rate"),
        *("virtual_io_rate", "etr", "logged_on", "active"),
    ),
    "cec": (),
    "event": (),
    "guest": ("userid", "cpu_pct"),
}
#: Seconds to wait for a canceled step at the end of the server.
_PATIENCE_S = 5.0


def warm(place: Workspace) -> None:
    """Compute the data of the overview; a request for one part waits for that part only."""
    if place.has_many_systems:
        # What a system needs is computed when it is asked for.
        schema.answer(place, {})
        fleet.answer(place, endpoints.find("GET", "fleet").check({}))
        return
    # Before any table is created: a table with too few columns would be created again.
    wanted = peaks.reads(place)
    for table, columns in SHOWN.items():
        if place.session.has_data(table):
            wanted[table] = [*wanted.get(table, ()), *columns]
    for table, columns in wanted.items():
        place.announce(table, columns)
    schema.answer(place, {})
    every_system = endpoints.find("GET", "findings/stream").check({})
    # The others are computed when the page asks for them; the charts of the overview come before.
    next((part for part in findings.stream(place, every_system) if part["rows"]), None)
    # First those that no chart of the overview asks for, beside the others that charts ask for themselves.
    for table in sorted(wanted, key=lambda table: table in SHOWN):
        if measures.load_measure(table).lazy:
            place.materialized_table(table, wanted[table])
        else:
            place.session.sql(f"SELECT count(*) FROM {table}").first(1)


class Warmup:
    """The background thread, until it is done or canceled."""

    def __init__(self, place: Workspace) -> None:
        self._cancel = CancelToken()
        self._thread = threading.Thread(target=self._run, args=(place,), name="zlens-warming", daemon=True)
        self._thread.start()

    def _run(self, place: Workspace) -> None:
        with self._cancel.current():
            try:
                warm(place)
            except (ZlensError, OSError, MemoryError):
                # The request for the same data reports the error.
                return

    def end(self, patience_s: float = _PATIENCE_S) -> None:
        """Cancel the work and wait for it: the engine must not be closed while in use."""
        self._cancel.cancel("the server is ending")
        self.wait(patience_s)

    def wait(self, patience_s: float | None = None) -> None:
        self._thread.join(patience_s)
