"""Selects the source from which a system is shown if several describe the same of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

from zlens.catalog import measures
from zlens.catalog.expressions import literal, quote
from zlens.compiler.plan import ROWS
from zlens.inputs.source import Source, SystemInfo, table_prefix

#: Suffixes of the names of rollup tables.
_LEVELS = ("_hour", "_day")
#: System and source.
SystemSource = tuple[str, str]


def tables_by_source(sources: Iterable[Source]) -> dict[SystemSource, frozenset[str]]:
    """Return the raw tables of each system's own records."""
    own: dict[SystemSource, frozenset[str]] = {}
    for source in sources:
        records: dict[SystemSource, set[str]] = {}
        for row in source.inventory(with_layouts=False):
            if row.system is not None:
                records.setdefault((row.system, row.source), set()).add(table_prefix(row.name))
        keys = [(info.system, info.source) for info in source.systems]
        known = {record for key in keys for record in records.get(key, ())}
        # Systems of one source mostly have the same records.
        tables_by_missing: dict[frozenset[str], frozenset[str]] = {}
        for key in keys:
            others = frozenset(known - records.get(key, set()))
            if others not in tables_by_missing:
                tables_by_missing[others] = frozenset(
                    table for table in source.tables if table.partition("_")[0] not in others
                )
            own[key] = own.get(key, frozenset()) | tables_by_missing[others]
    return own


def measures_by_source(
    has_data: Callable[[str, frozenset[str]], bool], own: Mapping[SystemSource, frozenset[str]]
) -> dict[SystemSource, list[str]]:
    """Return the measures for which each system's own inputs have data."""
    filled: dict[frozenset[str], list[str]] = {}
    by_source = {}
    for key, tables in own.items():
        if tables not in filled:
            filled[tables] = [name for name in measures.measure_names() if has_data(name, tables)]
        by_source[key] = filled[tables]
    return by_source


def sources_by_system(
    infos: Iterable[SystemInfo], filled: Mapping[SystemSource, Collection[str]], requested: str | None
) -> dict[str, list[SystemInfo]]:
    """Return the sources of each system that several describe, the one to show first.

    That is the requested one, or the one with the longest recording; among recordings that differ by less
    than an interval, the one with data for most measures.
    """
    by_system: dict[str, list[SystemInfo]] = {}
    for info in infos:
        by_system.setdefault(info.system, []).append(info)
    by_name = {}
    for system, system_infos in by_system.items():
        names = {info.source for info in system_infos}
        source_counts = Counter(name for source in names for name in filled.get((system, source), ()))
        if any(count > 1 and _of_one_source(name) for name, count in source_counts.items()):
            by_name[system] = _ordered(system_infos, filled, requested)
    return by_name


def _ordered(
    infos: Sequence[SystemInfo], filled: Mapping[SystemSource, Collection[str]], requested: str | None
) -> list[SystemInfo]:
    # A lake and a file may have the same source.
    lengths: Counter[str] = Counter()
    for info in infos:
        first, last = _span(info, info) or (0, 0)
        lengths[info.source] += last - first
    longest = max(lengths.values())
    step = max(info.nominal_s or 0.0 for info in infos) * 1e6

    def rank(info: SystemInfo) -> tuple[bool, float, int, str]:
        shorter = longest - lengths[info.source]
        measures = len(filled.get((info.system, info.source), ()))
        return info.source != requested, (shorter if shorter >= step else 0.0), -measures, info.source

    return sorted(infos, key=rank)


def _of_one_source(measure: str) -> bool:
    """Return whether rows of a measure from several sources for one system and time are equivalent."""
    table = measures.load_measure(measure)
    # Sources record different events.
    return not table.plain and bool(table.rows) and measure != "event"


def repeated_rows_sql(
    table: str, several: Mapping[str, Iterable[SystemInfo]], filled: Mapping[SystemSource, Container[str]]
) -> tuple[str, set[str]] | None:
    """Return the SQL condition for rows of a table that repeat another source, and the columns that it names.

    The table is a measure or its rollup; other tables have all their rows. Its rows are also a table ROWS. A
    row repeats a source before its own if that one recorded its time and has rows at all, or if another
    system's rows of the machine are shown instead. None if no row does.

    several  as returned by `sources_by_system`
    """
    measure, time = table, "interval_end"
    for level in _LEVELS:
        if table.endswith(level):
            measure, time = table.removesuffix(level), "bucket_end"
    if measure not in measures.measure_names() or not _of_one_source(measure):
        return None
    observed = measures.load_measure(measure).column("observer") is not None
    tests = []
    for system, infos in several.items():
        filling = [info for info in infos if measure in filled.get((system, info.source), ())]
        for position, info in enumerate(filling):
            times = []
            for before in filling[:position]:
                span, own_span = _span(before, info), _span(before, before)
                if before.source == info.source or span is None or own_span is None:
                    continue
                shown = _is(system, before.source)
                # Rows in UTC have one observer of a machine; local times are no times of its intervals.
                if observed and info.local_time and info.machine and not before.local_time:
                    others = f"machine = {literal(info.machine)} AND system <> {literal(system)}"
                    shown += f" OR {others} AND {_within(time, own_span)}"
                rows = f"SELECT 1 FROM {quote(ROWS)} WHERE {shown}"
                times.append(f"{_within(time, span)} AND EXISTS ({rows})")
            if times:
                tests.append(f"{_is(system, info.source)} AND ({' OR '.join(times)})")
    named = {"system", "source", time, *(["machine"] if observed else [])}
    return (f"coalesce({' OR '.join(tests)}, false)", named) if tests else None


def _span(info: SystemInfo, other: SystemInfo) -> tuple[int, int] | None:
    """Return the time that a source recorded, in microseconds by the clock of another source of the system.

    An interval of the other source that ends up to half an interval later is included.
    """
    step = round((info.nominal_s or 0.0) * 1e6)
    first, last = info.ends_us or (info.first_us, info.last_us)
    if first is None or last is None:
        return None
    shift = 0
    if info.local_time != other.local_time:
        offset_s = other.utc_offset_s if info.local_time else info.utc_offset_s
        shift = (-1 if info.local_time else 1) * (offset_s or 0) * 1_000_000
    return first - (step if info.ends_us else 0) + shift, last + step // 2 + shift


def _is(system: str, source: str) -> str:
    return f"system = {literal(system)} AND source = {literal(source)}"


def _within(time: str, span_us: tuple[int, int]) -> str:
    return f"{time} > make_timestamptz({span_us[0]}) AND {time} <= make_timestamptz({span_us[1]})"
