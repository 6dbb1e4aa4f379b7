"""A session: open inputs and queries on them."""

from __future__ import annotations

import datetime as dt
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from zlens.engine.cancellation import hold_lock
from zlens.errors import QueryError
from zlens.inputs import record_intervals
from zlens.inputs.options import ALL, Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import (
    Interval,
    IntervalSource,
    PrecomputedTable,
    Progress,
    RawTable,
    SizedSource,
    Source,
    StoredSource,
    SystemInfo,
    table_prefix,
)
from zlens.inputs.unix_time import from_unix_us
from zlens.session.open_inputs import open_inputs
from zlens.session.selection import condition, is_selected
from zlens.session.source_tables import SourceTables

if TYPE_CHECKING:
    from zlens.catalog.cpumf import FormulaPolicy
    from zlens.catalog.groups import Groups
    from zlens.compiler.kept_rows import KeptDays
    from zlens.engine.engine import Engine
    from zlens.engine.kept_tables import KeptTables
    from zlens.engine.results import QueryResult
    from zlens.readers.throughput.table import Throughput
    from zlens.session.queries import Queries
    from zlens.session.source_choice import SystemSource
    from zlens.session.throughput_join import ClockOffset

#: Engines are created one at a time, because queries may come from many threads.
_OPENING = threading.RLock()


class _RepeatedRows:
    """Conditions for rows of a session's tables that repeat another source, found when they are needed."""

    def __init__(self, session: CoreSession) -> None:
        self._session = session

    def get(self, table: str, /) -> tuple[str, set[str]] | None:
        return self._session.repeated_rows_sql(table)


def _size(source: Source) -> int:
    """Return the bytes of a source's files."""
    if isinstance(source, SizedSource):
        return source.size
    return sum(int(file.get("bytes") or 0) for file in source.info())


class CoreSession:
    """Inputs opened with options. A context manager; `close` releases memory and the spill folder."""

    def __init__(
        self,
        inputs: Iterable[str | os.PathLike[str]],
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.options = options or Options()
        self._narrowed: dict[Options, CoreSession] = {}
        self.sources, self._found = open_inputs([os.fspath(name) for name in inputs], self.options, progress)
        if self.throughput is not None:
            from zlens.session.throughput_join import check_systems

            check_systems(self.throughput, self.systems)

    _queries: Queries | None = None
    #: Precomputed rows of measures, by name; they are read instead of compiled.
    computed: Mapping[str, RawTable] = {}
    #: Whether it reads few intervals and each measure once, so that planning dominates its time.
    brief: bool = False
    #: Whether tables of many rows of a lake are kept for later sessions.
    keeps_tables: bool = False

    @classmethod
    def from_sources(
        cls,
        sources: list[Source],
        options: Options,
        *,
        found: Iterable[Problem] = (),
        computed: Mapping[str, RawTable] | None = None,
    ) -> Self:
        """Return a session over open sources, with precomputed rows of measures."""
        session = cls.__new__(cls)
        session.options, session.sources, session._found = options, sources, list(found)
        session.computed, session._narrowed = computed or {}, {}
        return session

    def __enter__(self) -> CoreSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the engine; later queries open it again."""
        if self._queries is not None:
            self._queries.close()
            self._queries = None
        while self._narrowed:
            self._narrowed.popitem()[1].close()

    @property
    def without_buckets(self) -> CoreSession:
        """The same input and options without --every: means cover the recorded intervals."""
        if not self.options.every_s:
            return self
        return self._shared(replace(self.options, every_s=None))

    @property
    def without_groups(self) -> CoreSession:
        """The same input and options without --group: totals are over members, not over groups."""
        if not (self.options.group or self.options.group_lines):
            return self
        return self._shared(replace(self.options, group=None, group_lines=None))

    @property
    def with_kept_days(self) -> CoreSession:
        """The same input and options for ledgers (Options.kept_days)."""
        is_grouped = self.options.group or self.options.group_lines
        if self.options.kept_days or not (is_grouped or any(self.kept_days.whole.values())):
            return self
        return self._shared(replace(self.options, kept_days=True))

    def _shared(self, options: Options) -> CoreSession:
        """Return the session with other options that all threads share; it is closed with this one."""
        return self._narrowed.setdefault(options, self.narrow(options))

    def narrow(self, options: Options) -> Self:
        """Return a session over the same open inputs, with other systems and times."""
        return type(self).from_sources(self.sources, options, found=self._found, computed=self.computed)

    # -- the input -----------------------------------------------------------------------------------

    @cached_property
    def systems(self) -> list[SystemInfo]:
        """Systems of the input that the options select, by name."""
        selected = self.options.systems
        infos = [info for source in self.sources for info in source.systems]
        return sorted(
            (info for info in infos if not selected or info.system in selected),
            key=lambda info: (info.system, info.source),
        )

    @cached_property
    def kept_days(self) -> KeptDays:
        """Days of a lake without raw tables, within the options."""
        from zlens.session import kept_days

        return kept_days.find(self.sources, self.systems, self.options)

    @cached_property
    def tables_by_source(self) -> dict[SystemSource, frozenset[str]]:
        """Raw tables of each system's own records, by system and source."""
        from zlens.session import source_choice

        return source_choice.tables_by_source(self.sources)

    @cached_property
    def measures_by_source(self) -> dict[SystemSource, list[str]]:
        """Measures for which each system's own inputs have data, by system and source."""
        from zlens.session import source_choice

        return source_choice.measures_by_source(self.queries.has_data, self.tables_by_source)

    @cached_property
    def sources_by_system(self) -> dict[str, list[SystemInfo]]:
        """Sources of each system that several describe, the one that is shown first."""
        # Most systems have one source, and comparing several requires an inventory.
        if len({info.system for info in self.systems}) == len(self.systems):
            return {}
        from zlens.session import source_choice

        return source_choice.sources_by_system(self.systems, self.measures_by_source, self.options.source)

    @property
    def systems_in_order(self) -> list[SystemInfo]:
        """Systems by name; the source that is shown comes first."""
        positions = {
            id(info): position
            for infos in self.sources_by_system.values()
            for position, info in enumerate(infos)
        }
        return sorted(self.systems, key=lambda info: (info.system, positions.get(id(info), 0)))

    def repeated_rows_sql(self, table: str) -> tuple[str, set[str]] | None:
        """Return SQL of the condition for rows that repeat another source, and the columns that it names."""
        if self.options.source == ALL or not self.sources_by_system:
            return None
        from zlens.session import source_choice

        return source_choice.repeated_rows_sql(table, self.sources_by_system, self.measures_by_source)

    @property
    def problems(self) -> list[Problem]:
        """Problems found so far, without decoding everything."""
        return [*self._found, *(problem for source in self.sources for problem in source.problems())]

    def all_problems(self) -> list[Problem]:
        """Return all problems; decodes everything once to find them."""
        problems = self._quality_problems
        if self.options.every_s:
            problems = [*problems, *record_intervals.problems(self._other_intervals, self.options.every_s)]
        return [*self.reading_problems(), *self._of_chosen(problems)]

    def reading_problems(self) -> list[Problem]:
        """Return the problems that reading finds; decodes everything once to find them."""
        noted = (problem for source in self.sources for problem in source.problems(complete=True))
        return self._of_chosen([*self._found, *noted])

    def _of_chosen(self, problems: Iterable[Problem]) -> list[Problem]:
        selected = self.options.systems
        return [
            problem
            for problem in problems
            if not selected or problem.system is None or problem.system in selected
        ]

    @cached_property
    def _quality_problems(self) -> list[Problem]:
        """Problems found by measures: withheld or suspect counters, systems that moved."""
        # Cached, because computing them takes longer than most queries and the input does not change.
        from zlens.inputs.data_quality import find_quality_problems, quality_views

        filled = {name for _, _, names in quality_views() for name in names if self.has_data(f"role.{name}")}
        if not filled:
            return []
        queries = self.queries
        return find_quality_problems(
            queries.rows, lambda query, reads: queries.select(query, reads).rows, filled
        )

    def display(self, time: dt.datetime, system: str, source: str | None = None) -> dt.datetime:
        """Return a time in the system's local zone; in UTC with the option, or if the zone is unknown.

        Without `source`, the zone is that of the source that is shown first.
        """
        zone = self.zone(system, source)
        return time if zone is None else time.astimezone(zone)

    def zone(self, system: str, source: str | None = None) -> dt.tzinfo | None:
        """Return the zone in which `display` shows times of a system; None for an unknown system."""
        if self.options.utc:
            return dt.UTC
        info = self._clock(system, source)
        return info.zone() if info else None

    def is_local(self, system: str, source: str | None = None) -> bool:
        """Return whether times of a system, as `display` shows them, are local to an unknown zone."""
        info = self._clock(system, source)
        return info is not None and info.local_time

    def _clock(self, system: str, source: str | None) -> SystemInfo | None:
        return (self._by_source.get((system, source)) if source else None) or self._by_name.get(system)

    @cached_property
    def _by_name(self) -> dict[str, SystemInfo]:
        """The source of each system that is shown first; cached, because reports look up thousands."""
        clocks = {(info.system, info.local_time) for info in self.systems}
        if len(clocks) == len({system for system, _ in clocks}):
            # Any source has the clock of its system, and which is shown first requires an inventory.
            return {info.system: info for info in reversed(self.systems)}
        several = self.sources_by_system
        # Sources of different measures: one with a zone.
        ordered = sorted(
            self.systems_in_order, key=lambda info: info.system not in several and info.local_time
        )
        return {info.system: info for info in reversed(ordered)}

    @cached_property
    def _by_source(self) -> dict[tuple[str, str], SystemInfo]:
        return {(info.system, info.source): info for info in self.systems}

    @cached_property
    def other_clocks(self) -> frozenset[SystemSource]:
        """Sources whose times cannot be compared with those of the source that is shown first of the system.

        One of both has times that are local to an unknown zone, the other does not.
        """
        return frozenset(
            (info.system, info.source)
            for info in self.systems
            if info.local_time != self._by_name[info.system].local_time
        )

    # -- running -------------------------------------------------------------------------------------

    @property
    def queries(self) -> Queries:
        """The queries of the input; opens the engine on first use."""
        if self._queries is None:
            with hold_lock(_OPENING):
                if self._queries is None:
                    self._queries = self._make_queries()
        return self._queries

    @property
    def engine(self) -> Engine:
        """The SQL engine over the input; opened on first use."""
        return self.queries.engine

    def _make_queries(self) -> Queries:
        if not self.options.is_selective and not self.options.every_s:
            # Months of intervals are read only on request.
            return self._open_queries(self._selected_intervals)
        intervals = self._chosen_intervals
        return self._open_queries(lambda: intervals)

    def sql(self, query: str) -> QueryResult:
        """Run one SELECT over measures, raw tables and roles; QueryError if it is invalid.

        The result has `rows`, and exports Arrow to pandas, Polars, pyarrow and DuckDB.
        """
        return self.queries.answer(query)

    def answers(self, queries: Sequence[str], *, streamed: bool = False) -> Iterator[QueryResult]:
        """Run several SELECTs, and yield their results; what their measures share is computed once.

        streamed  whether most results are read as streams
        """
        return self.queries.answers(queries, streamed=streamed)

    def has_data(self, name: str) -> bool:
        """Return whether the input has data for a measure or role."""
        return self.queries.has_data(name)

    # -- the user's throughput -----------------------------------------------------------------------

    @cached_property
    def throughput(self) -> Throughput | None:
        """The throughput file named in the options; None without one."""
        options = self.options
        if options.throughput is None:
            return None
        from zlens.readers.throughput.table import parse_columns, read

        columns = options.throughput_columns
        return read(options.throughput, parse_columns(columns) if columns else None)

    def throughput_rows(self, intervals: Iterable[tuple[SystemInfo, Interval]]) -> list[tuple[Any, ...]]:
        """Return the rows of the throughput file joined with intervals."""
        if self.throughput is None:
            return []
        from zlens.session.throughput_join import join_intervals

        return join_intervals(self.throughput, intervals, self.options.tz, self.options.throughput_offset_s)

    def throughput_offsets(self) -> list[ClockOffset]:
        """Return the clock offset with the best correlation of rate and busy, for each source of a system."""
        if self.throughput is None:
            return []
        from zlens.session.throughput_join import WORK_QUERY, suggest_offsets

        return suggest_offsets(self.throughput, self.systems, self.sql(WORK_QUERY).rows, self.options)

    def throughput_notes(self, *, suggested: bool = False) -> list[str]:
        """Return how the throughput file was interpreted, in lines; suggested: with a clock offset."""
        if self.throughput is None:
            return []
        from zlens.session.throughput_join import describe

        intervals = self._selected_intervals()
        lines = describe(
            self.throughput, self.systems, self.throughput_rows(intervals), len(intervals), self.options
        )
        return lines + [offset.describe() for offset in self.throughput_offsets()] if suggested else lines

    # -- intervals -----------------------------------------------------------------------------------

    @property
    def has_intervals(self) -> bool:
        """Whether any interval is within the options, of any record type."""
        return any(is_selected(self.options, *each) for each in self._all_intervals())

    def _all_intervals(self) -> Iterator[tuple[SystemInfo, Interval]]:
        yield from ((info, interval) for info in self.systems for interval in info.intervals)
        # Last, because they are read from records.
        yield from self._other_intervals

    def intervals_of(self, info: SystemInfo) -> Sequence[Interval]:
        """Return the intervals of a system that the options select, in order of time; QueryError for none."""
        if not self.options.is_selective:
            return info.intervals
        return [interval for chosen, interval in self._chosen_intervals if chosen is info]

    def span_us(self, info: SystemInfo) -> tuple[int | None, int | None]:
        """Return start and end of what the options select of a system, in microseconds UTC."""
        chosen = self.intervals_of(info) if self.options.is_selective else ()
        return (chosen[0].start_us, chosen[-1].end_us) if chosen else (info.first_us, info.last_us)

    @cached_property
    def _chosen_intervals(self) -> list[tuple[SystemInfo, Interval]]:
        """The intervals that the options select, including the choice of the busiest."""
        intervals = self._selected_intervals()
        return self._peak(intervals, self.options.peak_minutes) if self.options.peak_minutes else intervals

    def _selected_intervals(self) -> list[tuple[SystemInfo, Interval]]:
        """Return the intervals that the options select, in order of system and time."""
        rows: list[tuple[SystemInfo, Interval]] = []
        for info in self.systems:
            if info.nominal_s and self.options.every_s and self.options.every_s < 0.99 * info.nominal_s:
                raise QueryError(
                    f"{self.options.every_s} s is shorter than the intervals of {info.system}",
                    expected=f"{info.nominal_s:g} s or more",
                )
            rows += [
                (info, interval) for interval in info.intervals if is_selected(self.options, info, interval)
            ]
        if not rows and self.options.is_selective and any(info.intervals for info in self.systems):
            if self.has_intervals or any(self.kept_days.whole.values()):
                return rows
            spans = ", ".join(_span(self, info) for info in self.systems if info.intervals)
            raise QueryError("no interval lies in the selected times", expected=f"times within {spans}")
        return rows

    @cached_property
    def _other_intervals(self) -> list[tuple[SystemInfo, Interval]]:
        from zlens.catalog import smf_sections

        return self._record_intervals(lambda: smf_sections.interval_tables(smf_sections.layouts()))

    @cached_property
    def _load_intervals(self) -> list[tuple[SystemInfo, Interval]]:
        """Intervals of `_other_intervals` for which the measure load has rows: those of processors."""
        from zlens.catalog import smf_sections

        return self._record_intervals(
            lambda: smf_sections.interval_tables(smf_sections.entity_layouts("processor"))
        )

    def _record_intervals(self, tables: Callable[[], Iterable[str]]) -> list[tuple[SystemInfo, Interval]]:
        own = [source for source in self.sources if source.name == record_intervals.SOURCE]
        if not own:
            return []
        # Looked up by name, because listing a source's tables reads the layouts of all its records.
        interval_tables = [table for table in tables() if any(table in source.tables for source in own)]
        if not interval_tables:
            return []
        files = [source for source in own if isinstance(source, IntervalSource)]
        if len(files) == len(own):
            # Opening has found those of all record types at once. Lakes and live inputs have only rows.
            found = chain.from_iterable(source.interval_rows(interval_tables) for source in files)
            return record_intervals.find_record_intervals(self.systems, record_intervals.merge(found))
        # A session that selects intervals needs these before its engine is open.
        queries = self._queries or self._open_queries(list)
        try:
            rows = queries.engine.query_all_records(
                interval_tables, record_intervals.COLUMNS, record_intervals.QUERY
            )
            return record_intervals.find_record_intervals(self.systems, rows)
        finally:
            if queries is not self._queries:
                queries.close()

    def _peak(
        self, intervals: list[tuple[SystemInfo, Interval]], minutes: int
    ) -> list[tuple[SystemInfo, Interval]]:
        """Return the intervals in the busiest window, for each system that has one without a gap."""
        from zlens.session import busiest

        without_peak = self.narrow(replace(self.options, peak_minutes=None, every_s=None))
        try:
            loads = busiest.loads(without_peak.sql(busiest.load_query()).rows, self.systems)
        finally:
            without_peak.close()
        peaks = busiest.peaks(loads, minutes, self.options.every_s)
        return record_intervals.within_time_range(intervals, peaks)

    # -- the engine's tables -------------------------------------------------------------------------

    def _open_queries(self, intervals: Callable[[], list[tuple[SystemInfo, Interval]]]) -> Queries:
        from zlens.compiler.plan import CompilerInput
        from zlens.engine.engine import Engine
        from zlens.session import session_tables
        from zlens.session.queries import Queries

        def chosen(of_records: list[tuple[SystemInfo, Interval]]) -> list[tuple[SystemInfo, Interval]]:
            if self.options.peak_minutes:
                return record_intervals.within_time_range(of_records, intervals())
            return [
                (info, interval) for info, interval in of_records if is_selected(self.options, info, interval)
            ]

        def others() -> list[tuple[SystemInfo, Interval]]:
            return chosen(self._other_intervals)

        def of_load() -> list[tuple[SystemInfo, Interval]]:
            return record_intervals.replace_intervals(intervals(), chosen(self._load_intervals))

        @cache
        def ends() -> tuple[int, int] | None:
            ends_us = [interval.end_us for _, interval in [*intervals(), *others()]]
            return (min(ends_us), max(ends_us)) if ends_us else None

        session_tables_by_name = {
            **session_tables.tables(
                self.options,
                self.sources,
                self.systems,
                intervals,
                others,
                factor=self.factor,
                sources_by_system=lambda: self.sources_by_system,
                all_problems=self.all_problems,
                reading_problems=self.reading_problems,
            ),
            **(self._since(ends()) if self.computed and self.options.is_selective else self.computed),
        }
        raw_tables: dict[str, list[RawTable]] = {}
        if self.throughput is not None:
            for table in session_tables.throughput_tables(self.throughput_rows, intervals, of_load):
                raw_tables[table.name] = [table]
        releases: dict[str | None, list[str]] = {}
        for info in self.systems:
            releases.setdefault(info.release, []).append(info.system)
        repeated = _RepeatedRows(self)
        engine = Engine(
            SourceTables(raw_tables, self.sources),
            session_tables_by_name,
            where=lambda table, columns: condition(self.options, table, columns, ends),
            folders=[path for source in self.sources for path in getattr(source, "folders", ())],
            size=sum(map(_size, self.sources)),
            brief=self.brief,
            repeated=repeated,
            kept=self._kept_tables(),
        )
        source = CompilerInput(
            engine.raw,
            {
                name: [(column.name, column.type) for column in table.columns]
                for name, table in session_tables_by_name.items()
            },
            releases,
            summed=self.options.every_s is not None,
            trust=self._trust,
            groups=self._groups,
            kept=self.kept_days if self.options.kept_days else None,
            published=self.options.as_published,
            precomputed={
                name for name, table in session_tables_by_name.items() if isinstance(table, PrecomputedTable)
            },
            helpers={
                name: table.helpers
                for name, table in session_tables_by_name.items()
                if isinstance(table, session_tables.SessionTable)
            },
            repeated=repeated,
            counted=False,
        )
        return Queries(engine, source, self._record_bytes)

    def _kept_tables(self) -> KeptTables | None:
        """Return the tables that sessions over the same lakes share; None if some depend on other inputs."""
        from zlens.engine.kept_tables import KeptTables

        options = self.options
        files = (options.group, options.group_lines, options.weights, options.throughput)
        if not self.keeps_tables or self.computed or options.is_selective or any(files):
            return None
        digests = [source.contents_digest for source in self.sources if isinstance(source, StoredSource)]
        if len(digests) < len(self.sources):
            return None
        return KeptTables(repr((digests, options)))

    def _since(self, span: tuple[int, int] | None) -> dict[str, RawTable]:
        """Return the precomputed rows that the first and last selected interval require."""
        return {
            name: table.since(span[0]) if span is not None and isinstance(table, PrecomputedTable) else table
            for name, table in self.computed.items()
        }

    def _record_bytes(self) -> dict[str, int]:
        """Return the bytes of each kind of record, by prefix of the names of its raw tables."""
        sizes: Counter[str] = Counter()
        for source in self.sources:
            for row in source.inventory(with_layouts=False):
                sizes[table_prefix(row.name)] += row.bytes or 0
        return sizes

    @cached_property
    def _trust(self) -> FormulaPolicy:
        from zlens.catalog.cpumf import CpumfWeights, FormulaPolicy

        weights = CpumfWeights()
        if self.options.weights:
            from zlens.catalog import cpumf_weights

            weights = cpumf_weights.read(self.options.weights)
        return FormulaPolicy(self.options.allow_unverified, weights)

    @cached_property
    def _groups(self) -> Groups | None:
        from zlens.catalog import groups

        if self.options.group_lines:
            return groups.parse(self.options.group_lines, "group")
        return groups.read(self.options.group) if self.options.group else None

    def unmatched_groups(self) -> list[str]:
        """Return the patterns of the user's groups that match nothing in the selected data.

        Kinds that the data does not have at all, such as partitions, are left out.
        """
        from zlens.catalog import groups

        if self._groups is None:
            return []
        members = self.without_groups

        def answer(table: str, query: str) -> list[tuple[Any, ...]]:
            return members.sql(query).rows if members.queries.query_has_data(f"FROM {table}") else []

        return groups.unmatched(self._groups, {info.system for info in self.systems}, answer)

    def factor(self, system: str) -> float | None:
        """Return the weight of a second of a system, if the user's groups set it."""
        return self._groups.factors.get(system) if self._groups else None

    def cluster(self, system: str) -> str | None:
        """Return the cluster of a system, if the user's groups assign one."""
        from zlens.catalog import groups

        return groups.cluster(system, self._groups)


def empty_session() -> CoreSession:
    """Return a session without input: every table exists and is empty, so that queries can be checked."""
    return CoreSession.from_sources([], Options())


def _span(session: CoreSession, info: SystemInfo) -> str:
    first, last = (
        session.display(from_unix_us(info.intervals[index].end_us), info.system, info.source)
        for index in (0, -1)
    )
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} ({info.system})"
