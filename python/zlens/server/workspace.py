"""The session the server was started with, narrower ones over the same inputs, and runs of the rig."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

import zlens
from zlens.catalog import measures
from zlens.catalog.expressions import quote
from zlens.engine import cancellation
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.server.resource_pool import ResourcePool
from zlens.server.rig_runs import RigRuns
from zlens.server.sql_workers import ProcessesOf, SqlWorkers
from zlens.session.session import CoreSession

#: Narrower sessions kept open, with the measures they have computed.
MAX_NARROW_SESSIONS = 6
#: Runs of the rig kept open.
MAX_OPEN_RUNS = 4
#: With more systems, requests for one of them read its data alone, by a place of its own.
MANY_SYSTEMS = 50
#: Places of systems kept open.
MAX_OPEN_SYSTEMS = 4
#: Answers kept because they are requested repeatedly, such as findings.
MAX_CACHED_ANSWERS = 32
#: Maximum derived tables, which requests for different windows share.
MAX_DERIVED_TABLES = 48
#: Tables with some columns of a lazy measure before one with all columns is made.
MAX_PARTIAL_TABLES = 4


class Workspace(Struct):
    """The data that requests read.

    inputs      as named by the user; no other file is ever read
    processes   answer SQL and scenarios of the user; None: this process does
    runs        the runs of the rig that can be opened, if any
    live        whether data still arrive
    """

    session: CoreSession
    inputs: Sequence[str]
    processes: SqlWorkers | ProcessesOf | None = None
    runs: RigRuns | None = None
    live: bool = False
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
        if self.processes is not None:
            self.processes.close()

    @property
    def names(self) -> list[str]:
        """Names of the inputs: without their folders if these names differ."""
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
    ) -> Iterator[CoreSession]:
        """A session of one system, a time window, one of the inputs, or one source of each system."""
        options = self._options(system, start, end, source)
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
        """The place of a run of the rig, by SCENARIO/RUN; None: this one."""
        if run is None:
            yield self
            return
        if self.runs is None:
            raise QueryError("this server has no rig runs", cure="serve their folder")
        files, throughput = self.runs.files(run)
        options = Options(throughput=throughput)
        with self._opened_runs.use(
            run, lambda: Workspace(zlens.open(files, options=options), files, runs=self.runs)
        ) as place:
            yield place

    @property
    def has_many_systems(self) -> bool:
        """Whether measures of all systems are too many to be computed for a request."""
        return not self.live and len(self.session.systems) > MANY_SYSTEMS

    @contextmanager
    def for_systems(self, request: dict[str, Any]) -> Iterator[Workspace]:
        """The place of the source that a request names; if this one is wide, of one system or machine."""
        systems = self._asked(request) if self.has_many_systems else ()
        options = self._options(None, None, None, request.get("source"))
        if systems:
            options = replace(options, systems=systems)
        if options == self.session.options:
            yield self
            return

        def opened() -> Workspace:
            session = self._reopened(options) if systems else self.session.narrow(options)
            return Workspace(session, self.inputs, live=self.live)

        with self._opened_systems.use(options, opened) as place:
            yield place

    def machines(self) -> list[tuple[str, ...]]:
        """The systems of each machine; one of no known machine is by itself."""
        known = {info.system: info.machine for info in self.session.systems if info.machine}
        found: dict[tuple[str | None, str | None], list[str]] = {}
        for name in dict.fromkeys(info.system for info in self.session.systems):
            machine = known.get(name)
            found.setdefault((machine, None if machine else name), []).append(name)
        return [tuple(sorted(names)) for names in found.values()]

    @contextmanager
    def open_separately(
        self, systems: tuple[str, ...], start: str | float | None, end: str | float | None
    ) -> Iterator[CoreSession]:
        """A session of these systems in a time window, not kept: a thousand are read one after another."""
        with self._reopened(replace(self._options(None, start, end, None), systems=systems)) as session:
            yield session

    def _asked(self, request: dict[str, Any]) -> tuple[str, ...]:
        """The systems that a request is about; none if it is about all, or names one that is not here."""
        machine = (request.get("where") or {}).get("machine")
        machines = machine if isinstance(machine, list) else [machine]
        wanted = {info.system for info in self.session.systems if info.machine and info.machine in machines}
        if request.get("system") is not None:
            wanted = {info.system for info in self.session.systems if info.system == request["system"]}
        return tuple(sorted(wanted))

    def _reopened(self, options: Options) -> CoreSession:
        """A session over sources of its own: statements over those of all systems name the files of all."""
        # Throughput may be of other systems; whether it belongs to the input was asked before.
        return zlens.open(self.inputs, options=replace(options, throughput=None)).narrow(options)

    def _session(self, options: Options, input: str | None) -> CoreSession:
        if input is None and self.has_many_systems:
            return self._reopened(options)
        if input is None:
            return self.session.narrow(options)
        return zlens.open(self.inputs[self.names.index(input)], options=options)

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
        """The names of all systems; QueryError if `system` is not one of them."""
        names = list(dict.fromkeys(info.system for info in self.session.systems))
        if system not in names:
            raise QueryError(f"no system is named {system!r}", expected=f"one of {', '.join(names)}")
        return names

    def compute_once(self, key: Any, work: Callable[[], Any]) -> Any:
        """An answer that stays the same while the server runs, computed by the first request for it."""
        with self._guard:
            answering = self._answering.setdefault(key, threading.RLock())
        with cancellation.hold_lock(answering):
            with self._guard:
                if key in self._answers:
                    self._answers.move_to_end(key)
                    return self._answers[key]
            try:
                answer = work()
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
        """A table with columns of a measure: the measure itself, or for a lazy one a table computed once.

        Requests repeat, so a new column is added to the earlier ones; after a few such tables all columns
        are kept, which limits their number.
        """
        if table not in measures.measure_names() or not measures.load_measure(table).lazy:
            return table
        return self.session.materialize_measure(table, self._columns_to_keep(table, columns))

    def announce(self, table: str, columns: Sequence[str]) -> None:
        """Announce columns of a measure: the first request for some of them computes all."""
        self.session.announce(table, self._columns_to_keep(table, columns))

    def _columns_to_keep(self, table: str, columns: Sequence[str]) -> frozenset[str]:
        """The columns to keep of a measure: these, and all that were wanted before."""
        names = [column.name for column in measures.load_measure(table).columns]
        with cancellation.hold_lock(self._guard):
            count, wanted = self._wanted.get(table, (0, frozenset()))
            if not wanted >= set(columns):
                leading = {
                    "system",
                    "source",
                    "interval_end",
                    "seconds",
                    "flag",
                    *measures.load_measure(table).key,
                }
                wanted = wanted | {name for name in {*columns, *leading} if name in names}
                count += 1
                if count > MAX_PARTIAL_TABLES:
                    wanted = frozenset(names)
                self._wanted[table] = (count, wanted)
            return wanted

    def is_long(self, table: str, columns: Sequence[str], rows: int) -> bool:
        """Whether a measure has at least `rows` rows; `columns` are some that are computed anyway."""
        if table not in self._lengths:
            counted = self.session.select(f"SELECT count(*) FROM {quote(table)}", {table: columns})
            self._lengths[table] = counted.rows[0][0]
        return self._lengths[table] >= rows

    def materialized_query(self, query: str, table: str, columns: Sequence[str]) -> str | None:
        """A table with the rows of a query over columns of a measure; None if there are too many."""
        with self._guard:
            if query not in self._derived and len(self._derived) >= MAX_DERIVED_TABLES:
                return None
            self._derived.add(query)
        return quote(self.session.materialize_query(query, {table: columns}))
