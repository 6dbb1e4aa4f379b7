"""Multithreading: metrics of cores, the three CPU times, capacity left, and bounds on throughput.

Arithmetic and its sources: metrics.py and bounds.py; runs and predictions: throughput.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zlens.catalog import processor_types
from zlens.models.optional_numbers import difference, product, ratio
from zlens.models.scenario import Scenario
from zlens.models.smt import metrics as smt_metrics
from zlens.models.smt import throughput as smt_throughput
from zlens.models.smt.bounds import ROUNDING
from zlens.models.smt.metrics import CoreMetrics, CpuTimes, StateTimes
from zlens.rendering.answer import Answer, AnswerFigure, Value
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries
from zlens.schema.wording import phrase

SUMMARY = "multithreading: core metrics, CPU times, capacity left, bounds on throughput"

TYPES = processor_types.modeled_types()
#: A core less busy than this is nearly idle: 1%.
_NEARLY_IDLE = 0.01
#: Capacity left beyond what core busy suggests, in cores, that deserves a note.
_SURPRISING = 0.1


def solve(scenario: Scenario) -> Answer:
    """Add each kind of table that the scenario has entries for."""
    kinds = ("core", "time", "hyptop", "run")
    if not any(scenario[kind] for kind in kinds):
        raise scenario.error("the scenario has no core, time, hyptop or run", phrase("scenario_example"))
    answer = Answer("smt", scenario.title or "Multithreading", [])
    metrics_of_cores = [_metrics(scenario, entry) for entry in scenario["core"]]
    cores, of_threads = _cores(scenario, answer, metrics_of_cores)
    times = [*of_threads, *(_time_entry(scenario, entry) for entry in scenario["time"])]
    if any(row[1] != row[3] and row[2] is not None for row in times):
        scenario.assume("smt_mt1_rule")
    if cores:
        answer.tables.append(answer_table("smt", "cores", "Cores", cores))
        _add_types(scenario, answer, metrics_of_cores)
        series = (
            ChartSeries("core busy", [_percent(metrics.busy) for metrics in metrics_of_cores]),
            ChartSeries("MT utilization", [_percent(metrics.utilization) for metrics in metrics_of_cores]),
        )
        answer.charts.append(Chart("Cores", "bars", [str(row[0]) for row in cores], series, "%"))
    if times:
        answer.tables.append(answer_table("smt", "times", "CPU time", times))
    if scenario["hyptop"]:
        rows = [_partition(scenario, entry) for entry in scenario["hyptop"]]
        answer.tables.append(answer_table("smt", "partitions", "Partitions by hyptop", rows))
    if scenario["run"]:
        smt_throughput.add_runs(answer, scenario)
        answer.follow = ("runs", "bound") if len(scenario["run"]) > len(answer.figures) else None
    return answer


def _cores(
    scenario: Scenario, answer: Answer, metrics: Sequence[CoreMetrics]
) -> tuple[list[tuple[Value, ...]], list[tuple[Value, ...]]]:
    """Return a row for each core, and one for the time of each thread with samples."""
    rows: list[tuple[Value, ...]] = []
    times: list[tuple[Value, ...]] = []
    unknown, idle = [], []
    for core, core_metrics in zip(scenario["core"], metrics, strict=True):
        if core["samples"] is not None:
            threads = smt_metrics.thread_cpu_times(core["samples"], core_metrics.maximum, core["sample"])
            times += [
                _time_row(f"core {core['name']} thread {number}", time, None, None)
                for number, time in enumerate(threads)
            ]
        given = core["max_capacity_factor"] is not None and core["samples"] is None
        if core_metrics.density is not None and core_metrics.maximum is None:
            unknown.append(core["name"])
        elif given and 0 < (core_metrics.busy or 0.0) < _NEARLY_IDLE:
            idle.append(core["name"])
        used, share = _percent(core_metrics.utilization), core["share"]
        cells = (*_metric_cells(core_metrics), used, share, difference(share, used))
        rows.append((core["name"], core["type"], *cells))
    if unknown:
        answer.notes.append(
            f"core {', '.join(unknown[:5])}: no largest capacity factor, so some values cannot be computed; "
            "set max_capacity_factor, or samples or counters with both one and two threads active"
        )
    if idle:
        answer.notes.append(
            f"core {', '.join(idle[:5])}: nearly idle; printed capacity factors of such systems differ from "
            "those computed from thread density (IBM's idle system: 103% printed, 112% computed)"
        )
    return rows, times


def _metrics(scenario: Scenario, core: Mapping[str, Any]) -> CoreMetrics:
    """Return the metrics of a core from its one kind of data."""
    error, path = scenario.error, f"core.{core['name']}"
    counters = ("cycles_one", "instructions_one", "cycles_two", "instructions_two")
    counts = [core[key] for key in counters]
    has_counters = any(count is not None for count in counts)
    single = ("samples", "threads_busy", "thread_density", "productivity")
    kinds = sum(core[key] is not None for key in single) + has_counters
    if kinds != 1:
        raise error(
            f"{path} has {kinds} kinds of data",
            "set one of them",
            "samples; counters; threads_busy or productivity, with core_busy; or thread_density",
        )
    maximum = ratio(core["max_capacity_factor"], 100.0)
    busy = ratio(core["core_busy"], 100.0)
    if core["samples"] is not None:
        _check_samples(scenario, core)
        return smt_metrics.measured(smt_metrics.state_times(core["samples"], core["sample"]), maximum)
    if has_counters:
        if None in counts:
            raise error(f"{path} has no {counters[counts.index(None)]}", "set all four counters")
        wall = product(product(core["seconds"], core["ghz"]), 1e9)
        if wall is not None and counts[0] + counts[2] > wall * (1.0 + ROUNDING):
            what = f"{path}: more core cycles than {core['seconds']:g} s at {core['ghz']:g} GHz"
            raise error(what, "set cycles of the core: do not add those of two threads")
        return smt_metrics.measured(StateTimes(counts[0], counts[2], counts[1], counts[3], wall), maximum)
    if core["threads_busy"] is not None:
        if busy is None or len(core["threads_busy"]) > 2:
            raise error(f"{path}.threads_busy needs core_busy and one or two threads", "add core_busy")
        density = smt_metrics.density_of(core["core_busy"], core["threads_busy"])
        if density is None:
            return CoreMetrics(busy=0.0, maximum=maximum, utilization=0.0)
        if not 1.0 - ROUNDING <= density <= 2.0 + ROUNDING:
            cure = "threads_busy and core_busy must be from the same interval"
            raise error(f"{path}: its threads sum to {density:.2f} of core_busy", cure, "1 to 2")
        return smt_metrics.by_density(min(2.0, max(1.0, density)), maximum, busy)
    if core["thread_density"] is not None:
        return smt_metrics.by_density(core["thread_density"], maximum, busy)
    if busy is None:
        raise error(f"{path}.productivity needs core_busy", "add core_busy")
    return smt_metrics.by_productivity(core["productivity"] / 100.0, maximum, busy)


def _check_samples(scenario: Scenario, core: Mapping[str, Any]) -> None:
    samples = core["samples"]
    if len(samples) > 2 or len({len(thread) for thread in samples}) > 1:
        lengths = ", ".join(str(len(thread)) for thread in samples[:3])
        what = f"core.{core['name']}.samples has {len(samples)} threads of {lengths} samples"
        raise scenario.error(what, "set one list for each thread, all of the same length", "one or two lists")


def _metric_cells(metrics: CoreMetrics) -> tuple[float | None, ...]:
    """Return metrics as in the columns, without utilization."""
    percent = map(_percent, (metrics.productivity, metrics.factor, metrics.maximum))
    return (_percent(metrics.busy), metrics.density, *percent)


def _add_types(scenario: Scenario, answer: Answer, metrics: Sequence[CoreMetrics]) -> None:
    """Add a row and figures for each type of core."""
    of_types: list[tuple[Value, ...]] = []
    for kind in TYPES:
        cores = [
            (core_metrics, core["share"] / 100.0)
            for core, core_metrics in zip(scenario["core"], metrics, strict=True)
            if core["type"] == kind
        ]
        if not cores:
            continue
        combined, used, left = smt_metrics.combined_metrics(cores)
        share = sum(share for _, share in cores)
        of_types.append(
            (kind, len(cores), *_metric_cells(combined), _percent(used), 100.0 * share, _percent(left))
        )
        for key, value, text in (
            ("used", used, "used of its cores, counting both threads"),
            ("left", left, "left of their shares"),
        ):
            figure = AnswerFigure(f"{key}_{kind.lower()}", _percent(value), "% of 1", f"{kind}: {text}")
            answer.figures.append(figure)
        busy = combined.busy
        if busy is not None and left is not None and left - len(cores) * (1.0 - busy) > _SURPRISING:
            answer.notes.append(
                f"{kind}: {100.0 * left:.0f}% of one core is left of {len(cores)} although they "
                f"were {100.0 * busy:.0f}% busy: second threads were idle, and only more "
                "concurrent virtual CPUs can use them"
            )
    answer.tables.append(answer_table("smt", "types", "Types of cores", of_types))


def _time_entry(scenario: Scenario, entry: Mapping[str, Any]) -> tuple[Value, ...]:
    parts = entry["alone"] is not None or entry["beside"] is not None
    if parts == (entry["mt1"] is not None):
        raise scenario.error(
            f"time.{entry['name']} has {'both raw and MT-1 equivalent time' if parts else 'no time'}",
            "set alone and beside, or mt1",
        )
    maximum = ratio(entry["max_capacity_factor"], 100.0)
    if entry["interval"] is not None and maximum is None:
        what = f"time.{entry['name']} has an interval without max_capacity_factor"
        raise scenario.error(what, "add it; 100 for cores with one active thread")
    if parts:
        times = smt_metrics.cpu_times(entry["alone"] or 0.0, entry["beside"] or 0.0, maximum)
        return _time_row(entry["name"], times, entry["interval"], maximum)
    appl = _percent(smt_metrics.appl(entry["mt1"], entry["interval"], maximum))
    return (entry["name"], None, entry["mt1"], None, None, appl)


def _time_row(name: str, times: CpuTimes, interval: float | None, maximum: float | None) -> tuple[Value, ...]:
    appl = _percent(smt_metrics.appl(times.mt1, interval, maximum))
    return (name, times.raw, times.mt1, times.prorated, times.scale, appl)


def _partition(scenario: Scenario, entry: Mapping[str, Any]) -> tuple[Value, ...]:
    core_time, thread_time = entry["core"], entry["thread"]
    density = smt_metrics.density_of(core_time, [thread_time])
    if thread_time > 2.0 * core_time * (1.0 + ROUNDING) or thread_time < core_time * (1.0 - ROUNDING):
        what = f"hyptop.{entry['name']}: thread time is not between 1 and 2 times core time"
        raise scenario.error(what, "copy both from the same line of hyptop")
    maximum = entry["max_capacity_factor"] / 100.0
    used = smt_metrics.real_use(core_time, thread_time, entry["management"], maximum)
    left = difference(product(100.0, entry["cores"]), used)
    return (entry["name"], core_time, thread_time, density, used, left)


def _percent(part: float | None) -> float | None:
    return product(100.0, part)
