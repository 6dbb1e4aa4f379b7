"""Sides of a comparison: runs and the values of their intervals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct, field

from zlens.catalog.comparison_metrics import ComparabilityFile, ComparedMetric, compared_metrics
from zlens.compare.printed_values import printed_series
from zlens.compare.rounding import rounding_bounds
from zlens.compare.series import Key, MetricSeries, Point
from zlens.errors import QueryError
from zlens.schema.wording import phrase
from zlens.session.session import CoreSession

#: Columns that depend on the formula of finite CPI.
_FINITE = ("est_finite_cpi", "est_instr_cmplx_cpi", "est_scpl1m", "complexity_s", "finite_cache_s")


class SystemRun(Struct):
    """The data of one system in one run; times are in the display zone."""

    system: str
    facts: dict[str, str] = field(default_factory=dict)
    series: dict[Key, list[Point]] = field(default_factory=dict)
    first: dt.datetime | None = None
    last: dt.datetime | None = None
    intervals: int = 0
    machine_type: str | None = None
    synthetic: bool = False
    #: Status of CPU MF columns whose formulas are unverified or the user's own.
    doubts: dict[str, str] = field(default_factory=dict)
    #: For a listing, the maximum change of a metric's value by rounding.
    roundings: dict[Key, float] = field(default_factory=dict)
    #: The metrics of listings that are no measures.
    printed: list[ComparedMetric] = field(default_factory=list)


class SideRun(Struct):
    """One run of a side: a file, a folder, several files of the same time, or a window of them."""

    label: str
    systems: dict[str, SystemRun]


class Side(Struct):
    name: str
    runs: list[SideRun]

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(name for run in self.runs for name in run.systems))

    def runs_of(self, system: str) -> list[SystemRun]:
        """Return the data of a system in each run."""
        return [run.systems[system] for run in self.runs if system in run.systems]


def measure_run(session: CoreSession, label: str, metrics: Iterable[ComparedMetric] | None = None) -> SideRun:
    """Return all compared metrics of a session."""
    selected = tuple(compared_metrics() if metrics is None else metrics)
    infos = session.systems
    if not infos:
        raise QueryError(f"{label} does not contain the requested systems", cure=phrase("systems"))
    systems: dict[str, SystemRun] = {}
    for info in infos:
        run = systems.setdefault(info.system, SystemRun(info.system))
        run.machine_type = run.machine_type or info.machine_type
        run.synthetic = run.synthetic or info.synthetic
    _spans(session, systems)
    _doubts(session, systems)
    filled_facts = [
        fact
        for fact in ComparabilityFile.load().fact
        if fact.table == "system" or session.has_data(fact.table)
    ]
    series = [
        MetricSeries(table, by, where, list(group))
        for (table, by, where), group in groupby(sorted(selected, key=_series_key), key=_series_key)
        # Without throughput there are no transactions, so the query is skipped.
        if session.has_data(table) and (table != "per_transaction" or session.throughput is not None)
    ]
    results = session.answers(
        [*(fact.query for fact in filled_facts), *(table_series.query for table_series in series)]
    )
    for fact, result in zip(filled_facts, results, strict=False):
        for system, text in result.rows:
            if system in systems and text:
                systems[system].facts[fact.name] = " ".join(str(text).split())
    for table_series, result in zip(series, results, strict=True):
        for (system, key), points in table_series.points(result.rows).items():
            if system in systems:
                systems[system].series[key] = points
    for (system, key), rounding in rounding_bounds(session, series).items():
        if system in systems:
            systems[system].roundings[key] = rounding
    if metrics is None:
        _printed(session, systems)
    return SideRun(label, systems)


def _printed(session: CoreSession, systems: dict[str, SystemRun]) -> None:
    """Add the numbers of listings that no compared measure has."""
    measured = {key.rpartition(".")[2] for run in systems.values() for key, _ in run.series}
    series = list(printed_series(session, measured))
    for printed, result in zip(series, session.answers([each.query for each in series]), strict=True):
        points, roundings = printed.values(result.rows)
        for (system, key), values in points.items():
            if system in systems:
                systems[system].series[key] = values
                systems[system].roundings[key] = roundings[system, key]
        for run in systems.values():
            run.printed += printed.metrics


def _series_key(metric: ComparedMetric) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    return metric.table, metric.by, tuple(metric.where.items())


def _spans(session: CoreSession, systems: dict[str, SystemRun]) -> None:
    rows = session.sql(
        "SELECT system, source, min(interval_end), max(interval_end), count(*), "
        "arg_min(seconds, interval_end) FROM interval WHERE flag IS NULL GROUP BY system, source"
    ).rows
    for system, source, first, last, count, seconds in rows:
        run = systems.get(system)
        if run is None or first is None or count <= run.intervals:
            continue
        start = first - dt.timedelta(seconds=seconds or 0)
        run.first, run.last = (session.display(time, system, source) for time in (start, last))
        run.intervals = count


def _doubts(session: CoreSession, systems: dict[str, SystemRun]) -> None:
    """Set the status of unverified CPU MF columns; their formulas are used only on request."""
    requested = session.options.allow_unverified or session.options.weights
    if not requested or not session.has_data("cpumf_type"):
        return
    rows = session.sql("SELECT DISTINCT system, finite_cpi_status, rni_status FROM cpumf_type").rows
    for system, finite, rni in rows:
        for status, columns in ((finite, _FINITE), (rni, ("rni",))):
            if system in systems and status in ("unverified", "user"):
                systems[system].doubts.update(dict.fromkeys(columns, status))
