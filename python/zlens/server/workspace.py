"""The workspace of the server: its session, narrower sessions, caches, and runs of the rig."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import measures
from zlens.catalog.aggregation import KNOWN
from zlens.catalog.expressions import quote
from zlens.engine import cancellation
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.server.precedence import Precedence
from zlens.server.resource_pool import ResourcePool
from zlens.server.rig_runs import RigRuns
from zlens.server.sql_workers import SqlWorkers
from zlens.session.session import CoreSession

if TYPE_CHECKING:
    from zlens.live.session_transfer import Published

_T = TypeVar("_T")
#: Maximum open narrower sessions, with the measures that they have computed.
MAX_NARROW_SESSIONS = 6
#: Maximum open runs of the rig.
MAX_OPEN_RUNS = 4
#: With more systems, a request for one of them uses a workspace of that system.
MANY_SYSTEMS = 50
#: Maximum open workspaces of systems.
MAX_OPEN_SYSTEMS = 4
#: Maximum cached answers that are requested repeatedly, such as findings.
MAX_CACHED_ANSWERS = 32
#: Maximum derived tables, shared by requests for different windows.
MAX_DERIVED_TABLES = 48
#: Tables with some columns of a lazy measure before one with all columns is created.
MAX_PARTIAL_TABLES = 4


class Workspace(Struct):
    """The data that requests read.

    inputs      names of the inputs; no other file is read
    processes   workers for SQL and scenarios of the user; None if this process runs them
    published   the live data for these workers, which end with the workspace
    runs        runs of the rig that can be opened, if any
    live        whether data is still arriving
    precedence  of requests over work in the background
    """

    session: CoreSession
    inputs: Sequence[str]
    processes: SqlWorkers | None = None
    published: Published | None = None
    runs: RigRuns | None = None
    live: bool = False
    precedence: Precedence = field(default_factory=Precedence)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _narrower: ResourcePool[CoreSession] = field(default_factory=lambda: ResourcePool(MAX_NARROW_SESSIONS))
    _opened_runs: ResourcePool[Workspace] = field(default_factory=lambda: ResourcePool(MAX_OPEN_RUNS))
    _opened_systems: ResourcePool[Workspace] = field(default_factory=lambda: ResourcePool(MAX_OPEN_SYSTEMS))
    _answers: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    _answering: dict[Any, threading.RLock] = field(default_factory=dict)
    _wanted: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    _lengths: dict[str, int] = field(default_factory=dict)
    _derived: set[str] = field(default_factory=set)

    def close(self) -> None:
        self._opened_runs.close()
        self._opened_systems.close()
        self._narrower.close()
        self.session.close()
        if self.processes is not None and self.published is not None:
            self.processes.end_idle(lambda data: data is self.published)
        elif self.processes is not None:
            self.processes.close()

    @property
    def names(self) -> list[str]:
        """Names of the inputs, without folders if these names differ."""
        short = [Path(name).name or name for name in self.inputs]
        return short if len(set(short)) == len(short) else list(self.inputs)

    @contextmanager
    def open_narrow(
        self,
        system: str | None = None,
        start: str | float | None = None,
        end: str | float | None = None,
        input: str | None = None,
        source: str | None = None,
        selection: Mapping[str, Any] | None = None,
    ) -> Iterator[CoreSession]:
        """Yield a session limited to a system, a time window, an input, or a source of each system.

        selection   other options, by their names, instead of those of the session
        """
        options = replace(self._options(system, start, end, source), **(selection or {}))
        if input is not None and input not in self.names:
            raise QueryError(f"no input is named {input!r}", expected=f"one of {', '.join(self.names)}")
        if len(self.inputs) == 1:
            input = None
        if options == self.session.options and input is None:
            yield self.session
            return
        with self._narrower.use((options, input), lambda: self._session(options, input)) as session:
            yield session

    @contextmanager
    def for_run(self, run: str | None) -> Iterator[Workspace]:
        """Yield the workspace of a run of the rig, SCENARIO/RUN; this one if `run` is None."""
        if run is None:
            yield self
            return
        if self.runs is None:
            raise QueryError("this server has no rig runs", cure="serve their folder")
        files, throughput = self.runs.files(run)
        options = Options(throughput=throughput)
        with self._opened_runs.use(
            run, lambda: Workspace(CoreSession(files, options), files, runs=self.runs)
        ) as workspace:
            yield workspace

    @property
    def has_many_systems(self) -> bool:
        """Whether there are too many systems to compute measures of all for a request."""
        return not self.live and len(self.session.systems) > MANY_SYSTEMS

    @contextmanager
    def for_systems(self, request: dict[str, Any]) -> Iterator[Workspace]:
        """Yield a workspace of the source and, among many systems, the system or machine of a request."""
        systems = self._requested_systems(request) if self.has_many_systems else ()
        options = self._options(None, None, None, request.get("source"))
        if systems:
            options = replace(options, systems=systems)
        if options == self.session.options:
            yield self
            return

        def open_workspace() -> Workspace:
            session = self._reopened(options) if systems else self.session.narrow(options)
            session.keeps_tables = self.session.keeps_tables
            return Workspace(session, self.inputs, live=self.live, precedence=self.precedence)

        with self._opened_systems.use(options, open_workspace) as workspace:
            yield workspace

    def machines(self) -> list[tuple[str, ...]]:
        """Return the systems of each machine; a system without a known machine is separate."""
        machine_by_system = {info.system: info.machine for info in self.session.systems if info.machine}
        systems_by_machine: dict[tuple[str | None, str | None], list[str]] = {}
        for name in dict.fromkeys(info.system for info in self.session.systems):
            machine = machine_by_system.get(name)
            systems_by_machine.setdefault((machine, None if machine else name), []).append(name)
        return [tuple(sorted(names)) for names in systems_by_machine.values()]

    @contextmanager
    def open_separately(
        self, systems: tuple[str, ...], start: str | float | None, end: str | float | None
    ) -> Iterator[CoreSession]:
        """Yield a session of these systems in a time window; not cached, as all are read in sequence."""
        with self._reopened(replace(self._options(None, start, end, None), systems=systems)) as session:
            yield session

    def _requested_systems(self, request: dict[str, Any]) -> tuple[str, ...]:
        """Return the systems that a request selects; empty if it selects all, or one that does not exist."""
        machine = (request.get("where") or {}).get("machine")
        machines = machine if isinstance(machine, list) else [machine]
        systems = {info.system for info in self.session.systems if info.machine and info.machine in machines}
        if request.get("system") is not None:
            systems = {info.system for info in self.session.systems if info.system == request["system"]}
        return tuple(sorted(systems))

    def _reopened(self, options: Options) -> CoreSession:
        """Open the inputs again: statements over the sources of all systems name the files of all systems."""
        # Throughput may belong to other systems; whether it matches the input was checked before.
        return CoreSession(self.inputs, replace(options, throughput=None)).narrow(options)

    def _session(self, options: Options, input: str | None) -> CoreSession:
        if input is None and self.has_many_systems:
            return self._reopened(options)
        if input is None:
            return self.session.narrow(options)
        return CoreSession([self.inputs[self.names.index(input)]], options)

    def _options(self, system: str | None, start: Any, end: Any, source: str | None) -> Options:
        options = self.session.options
        if source is not None:
            known = sorted({info.source for info in self.session.systems})
            if source not in known:
                raise QueryError(f"no source is named {source!r}", expected=f"one of {', '.join(known)}")
            options = replace(options, source=source)
        if system is not None and self.system_names(system) != [system]:
            options = replace(options, systems=(system,))
        if start is not None or end is not None:
            options = replace(
                options,
                start=options.start if start is None else parse_time_spec(start),
                end=options.end if end is None else parse_time_spec(end),
            )
        return options

    def system_names(self, system: str) -> list[str]:
        """Return the names of all systems; raises QueryError if `system` is not one of them."""
        names = list(dict.fromkeys(info.system for info in self.session.systems))
        if system not in names:
            raise QueryError(f"no system is named {system!r}", expected=f"one of {', '.join(names)}")
        return names

    def compute_once(self, key: Any, compute: Callable[[], _T]) -> _T:
        """Return a cached answer; the first request computes it with `compute`, others wait."""
        with self._guard:
            lock = self._answering.setdefault(key, threading.RLock())
        with cancellation.hold_lock(lock):
            with self._guard:
                if key in self._answers:
                    self._answers.move_to_end(key)
                    known: _T = self._answers[key]
                    return known
            try:
                answer = compute()
            except BaseException:
                with self._guard:
                    self._answering.pop(key, None)
                raise
            with self._guard:
                self._answers[key] = answer
                while len(self._answers) > MAX_CACHED_ANSWERS:
                    self._answering.pop(self._answers.popitem(last=False)[0], None)
            return answer

    def materialized_table(self, table: str, columns: Sequence[str]) -> str:
        """Return a table with columns of a measure: the measure, or for a lazy one a materialized table.

        Requests repeat, so new columns are added to earlier ones; after MAX_PARTIAL_TABLES tables all columns
        are materialized.
        """
        if table not in measures.measure_names() or not measures.load_measure(table).lazy:
            return table
        [name] = self.session.queries.materialize({table: self.columns_to_keep(table, columns)})
        return name

    def columns_to_keep(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        """Return the columns of a measure to materialize: these, and all that were requested before."""
        names = [column.name for column in measures.load_measure(table).columns]
        if self.session.queries.states_known(table):
            names.append(KNOWN)
        with cancellation.hold_lock(self._guard):
            count, requested = self._wanted.get(table, (0, frozenset()))
            if not requested >= set(columns):
                leading = {*measures.LEADING_NAMES, *measures.load_measure(table).key}
                requested = requested | {name for name in {*columns, *leading} if name in names}
                count += 1
                if count > MAX_PARTIAL_TABLES:
                    requested = frozenset(names)
                self._wanted[table] = (count, requested)
            return requested

    def row_count(self, table: str, columns: Sequence[str]) -> int:
        """Return the number of a measure's rows; `columns` are needed anyway."""
        if table not in self._lengths:
            result = self.session.queries.select(f"SELECT count(*) FROM {quote(table)}", {table: columns})
            self._lengths[table] = result.rows[0][0]
        return self._lengths[table]

    def materialized_query(self, query: str, table: str, columns: Sequence[str]) -> str | None:
        """Materialize a query over columns of a measure; None beyond MAX_DERIVED_TABLES."""
        with self._guard:
            if query not in self._derived and len(self._derived) >= MAX_DERIVED_TABLES:
                return None
            self._derived.add(query)
        return quote(self.session.queries.materialize_query(query, {table: columns}))
