"""What the first view asks for, worked out in the background when the server begins."""

from __future__ import annotations

import threading

from zlens.engine.cancelling import Cancel
from zlens.errors import ZlensError
from zlens.server import schema
from zlens.server.place import Place

#: Measures that the overview shows; of a lazy one the columns.
SHOWN: dict[str, tuple[str, ...]] = {"guest": ("userid", "cpu_pct"), "load": (), "cec": (), "event": ()}
#: How long the end of the server waits for a step that is being ended.
_PATIENCE_S = 5.0


def warm(place: Place) -> None:
    """Work out what the overview asks for. Who asks for a part meanwhile waits for that part alone."""
    schema.answer(place, {})
    for table, columns in SHOWN.items():
        if not place.session.fills(table):
            continue
        if columns:
            place.kept(table, columns)
        else:
            place.session.sql(f"SELECT count(*) FROM {table}").first(1)


class Warming:
    """The work in the background, until it is done or ended."""

    def __init__(self, place: Place) -> None:
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._run, args=(place,), name="zlens-warming", daemon=True)
        self._thread.start()

    def _run(self, place: Place) -> None:
        with self._cancel.current():
            try:
                warm(place)
            except (ZlensError, OSError, MemoryError):
                # Who asks for it is told what is wrong.
                return

    def end(self, patience_s: float = _PATIENCE_S) -> None:
        """End the work and wait for that: the engine must not be closed under it."""
        self._cancel.cancel("the server is ending")
        self.wait(patience_s)

    def wait(self, patience_s: float | None = None) -> None:
        self._thread.join(patience_s)
