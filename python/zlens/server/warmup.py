"""Warmup: computes the data of the first view in the background when the server starts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from zlens.catalog import measures
from zlens.engine.cancellation import CancelToken
from zlens.errors import ZlensError
from zlens.server import endpoints, findings, peaks, schema
from zlens.server.workspace import Workspace

#: Measures of the timeline, which every view has.
TIMELINE = ("load", "event")
#: Columns that the overview shows, by measure; empty: all, which take as long as some of them.
SHOWN: dict[str, Sequence[str]] = {
    "load": (),
    "event": (),
    "capacity": (),
    "cec": (),
    "partition": ("partition", "msu_actual"),
    "workload": ("class", "class_kind", "appl_cp_pct", "performance_index"),
    "guest": ("userid", "cpu_pct"),
}
#: Seconds to wait for a canceled step when the server ends.
_PATIENCE_S = 5.0


def warm(workspace: Workspace) -> None:
    """Compute the data of the overview; a request waits only for the part that it needs."""
    if workspace.has_many_systems:
        from zlens.server import fleet

        # Data of a system are computed when they are requested.
        schema.answer(workspace, {"parts": ["systems"]})
        fleet.answer(workspace, endpoints.find("GET", "fleet").check({}))
        return
    # Before any table is created: a table with too few columns would be created again.
    columns_by_table = peaks.reads(workspace)
    for table, shown in SHOWN.items():
        if workspace.session.has_data(table):
            columns = shown or [column.name for column in measures.load_measure(table).columns]
            columns_by_table[table] = [*columns_by_table.get(table, ()), *columns]
    tables = {table: workspace.columns_to_keep(table, read) for table, read in columns_by_table.items()}
    # Requests that need one of them earlier compute it with all these columns.
    workspace.session.queries.materialize(tables)
    schema.answer(workspace, {"parts": ["systems"]})
    for table in TIMELINE:
        _materialize(workspace, table, tables)
    every_system = endpoints.find("GET", "findings/stream").check({})
    # Compute other stages when they are requested, because the charts of the overview are more urgent.
    next((part for part in findings.stream(workspace, every_system) if part["rows"]), None)
    # First the tables that no chart of the overview requests; charts request the others in parallel.
    for table in sorted(tables, key=lambda table: table in SHOWN):
        # The requests of the open view come first, which may be another one.
        workspace.precedence.pause()
        _materialize(workspace, table, tables)


def _materialize(workspace: Workspace, table: str, tables: Mapping[str, Iterable[str]]) -> None:
    if table in tables:
        # Planned now, with the columns that rules need.
        [_] = workspace.session.queries.materialize({table: tables[table]})


class Warmup:
    """The background thread that computes the data, until it is done or canceled."""

    def __init__(self, workspace: Workspace) -> None:
        self._cancel = CancelToken()
        self._thread = threading.Thread(
            target=self._run, args=(workspace,), name="zlens-warming", daemon=True
        )
        self._thread.start()

    def _run(self, workspace: Workspace) -> None:
        with self._cancel.current():
            try:
                warm(workspace)
            except (ZlensError, OSError, MemoryError):
                # The request for the same data reports the error.
                return

    def end(self, patience_s: float = _PATIENCE_S) -> None:
        """Cancel the work and wait for it, because the engine must not be closed while in use."""
        self._cancel.cancel("the server is ending")
        self.wait(patience_s)

    def wait(self, patience_s: float | None = None) -> None:
        self._thread.join(patience_s)
