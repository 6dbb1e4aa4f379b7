"""Throughput of runs with and without multithreading: measured values, bounds and predictions.

A point value requires path factors, calibrated from a measured pair of runs or given by hand: capacity
factors determine the speed of cores, not the work of a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from zlens.models.optional_numbers import product, ratio
from zlens.models.scenario import Scenario
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt.bounds import ROUNDING, TWICE, DemandPart, ThroughputBound
from zlens.models.smt.publications import ThreadFile
from zlens.rendering.answer import Answer, AnswerFigure, Value
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

#: Maximum number of runs with figures: a sweep of more is unreadable.
_MOST_FIGURES = 20
MISSES = (
    "Capacity factors do not predict throughput: for IBM's published serialization workload they give 1.05 "
    "times the run without SMT, but 0.649 was measured"
)
_MOVED = "between IBM's published SMT-2 runs of one workload, predictions with them are off by 12% to 28%"
#: A run this far above its own bound shows that the bound does not apply.
_BEYOND = 1.02


class SmtRun(Struct, frozen=True):
    """A run with its derived values. Factors are ratios; work is None if unknown."""

    says: Mapping[str, Any]
    raw: tuple[float, ...] | None
    density: float | None
    factor: float | None
    maximum: float | None

    @property
    def name(self) -> str:
        return str(self.says["name"])

    @property
    def measured(self) -> bool:
        return self.says["etr"] is not None

    @property
    def processors(self) -> int:
        return int(self.says["cores"] * self.says["threads"])

    @property
    def work(self) -> tuple[float, ...] | None:
        """MT-1 equivalent demand of each part: with one thread active per core."""
        if self.raw is None or self.density is None or self.factor is None:
            return None
        slowing = smt_bounds.slowdown(self.density, self.factor)
        return tuple(demand / slowing for demand in self.raw)

    def parts(self, demands: Sequence[float]) -> list[DemandPart]:
        parts = []
        for part, demand in zip(self.says["part"], demands, strict=True):
            virtual_cpus = part["guests"] * part["virtual_cpus"]
            serial = part["serial"] / 100.0
            parts.append(DemandPart(part["name"], demand, virtual_cpus, serial, part["serial_at_once"]))
        return parts


class ExpectedThroughput(Struct, frozen=True):
    """Expected throughput of a run. predicted: None without path factors."""

    bounds: list[ThroughputBound]
    demands: str
    predicted: float | None = None
    density: float | None = None

    @property
    def limiting(self) -> ThroughputBound | None:
        return smt_bounds.lowest_bound(self.bounds)

    @property
    def most(self) -> float | None:
        """Transactions per second that the limiting bound allows."""
        return self.limiting.most if self.limiting else None

    @property
    def held_by(self) -> str | None:
        return self.limiting.held_by if self.limiting else None


def add_runs(answer: Answer, scenario: Scenario) -> None:
    """Add tables, figures and notes on the runs of a scenario."""
    runs = [_run(scenario, says) for says in scenario["run"]]
    _check_combinations(scenario, runs)
    with_demands = {run.name: run for run in runs if run.raw is not None}
    base = _base(scenario, with_demands)
    expected = [_expected(scenario, answer, run, base, with_demands) for run in runs]
    pairs = list(zip(runs, expected, strict=True))
    bounds = [row for run, outlook in pairs for row in _bound_rows(run, outlook)]
    answer.tables += [
        answer_table("smt", "runs", "Throughput", [_row(run, outlook) for run, outlook in pairs]),
        answer_table("smt", "bounds", "Bounds", bounds, columns="run_bounds"),
    ]
    measured = [run for run in runs if run.measured]
    if measured:
        reference = base if base is not None and base.measured else measured[0]
        compared = [_compare_to_base(run, reference) for run in measured]
        demands = [row for run in measured for row in _demand_rows(run, reference)]
        answer.tables += [
            answer_table("smt", "against", f"Measured, relative to {reference.name}", compared),
            answer_table("smt", "demands", "Demands", demands),
        ]
    if any(run.says["threads"] == 2 for run in runs):
        answer.tables.append(
            answer_table("smt", "published", "", ThreadFile.load().ranges, columns="published_ranges")
        )
    for run, outlook in pairs if len(pairs) <= _MOST_FIGURES else ():
        name, most, predicted = run.name, outlook.most, outlook.predicted
        answer.figures.append(AnswerFigure(f"bound_{name}", most, "1/s", f"{name}: throughput at most", 3))
        if predicted is not None:
            text = f"{name}: throughput predicted"
            answer.figures.append(AnswerFigure(f"predicted_{name}", predicted, "1/s", text, 3))
        if run.measured and most and run.says["etr"] > most * _BEYOND:
            answer.notes.append(
                f"{name}: measured throughput is above the bound of {outlook.held_by}: its data is "
                "inconsistent, or a part has more virtual CPUs than the scenario states"
            )
    answer.charts.append(_chart(pairs))


def _run(scenario: Scenario, says: Mapping[str, Any]) -> SmtRun:
    error, path = scenario.error, f"run.{says['name']}"
    measured = says["etr"] is not None
    if measured != (says["processor_busy"] is not None):
        has, missing = ("etr", "processor_busy") if measured else ("processor_busy", "etr")
        raise error(f"{path} has {has} without {missing}", f"add {missing}, or leave {has} out")
    for part in says["part"]:
        if part["busy"] is not None and not measured:
            what = f"{path}.part.{part['name']}.busy is given, but the run was not measured"
            raise error(what, "add etr and processor_busy, or leave it out")
    demands = [part["demand"] for part in says["part"]]
    raw: Sequence[float] | None = None
    if None not in demands:
        raw = demands
    elif any(demand is not None for demand in demands):
        raise error(f"{path} has demands of some parts only", "set the demand of each part, or of no part")
    elif measured:
        used_by_part = [ratio(product(part["guests"], part["busy"]), 100.0) for part in says["part"]]
        if used_by_part.count(None) > 1:
            raise error(f"{path} has more than one part without busy", "add busy to all parts but one")
        processors = says["cores"] * says["threads"]
        raw = smt_bounds.split(says["etr"], processors, says["processor_busy"] / 100.0, used_by_part)
        if raw is None:
            what = f"{path}: its parts were busier than its {processors} processors"
            raise error(what, "set busy of each guest, in percent of one processor")
    return SmtRun(says, None if raw is None else tuple(raw), *_state(scenario, says))


def _state(scenario: Scenario, says: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Return thread density, capacity factor and largest capacity factor, measured or derived."""
    if says["threads"] == 1:
        for key in ("thread_density", "capacity_factor"):
            if says[key] is not None:
                what = f"run.{says['name']}.{key} is given, but the run has one thread per core"
                raise scenario.error(what, "write threads = 2, or leave it out")
        return 1.0, 1.0, 1.0
    density = says["thread_density"]
    if density is None and says["core_busy"] and says["processor_busy"] is not None:
        density = 2.0 * says["processor_busy"] / says["core_busy"]
        if not 1.0 - ROUNDING <= density <= 2.0 + ROUNDING:
            raise scenario.error(
                f"run.{says['name']}: its threads sum to {density:.2f} of core_busy",
                "processor_busy and core_busy must be from the same interval",
                "1 to 2",
            )
        density = min(2.0, max(1.0, density))
    factor, maximum = (ratio(says[key], 100.0) for key in ("capacity_factor", "max_capacity_factor"))
    if factor is None and density is not None and maximum is not None:
        factor = 1.0 + (density - 1.0) * (maximum - 1.0)
    if maximum is None and factor is not None and density is not None and density > 1.0:
        maximum = min(TWICE, max(1.0, 1.0 + (factor - 1.0) / (density - 1.0)))
    return density, factor, maximum


def _check_combinations(scenario: Scenario, runs: Sequence[SmtRun]) -> None:
    error = scenario.error
    if len({run.name for run in runs}) < len(runs):
        raise error("two runs have the same name", "use unique names")
    for run in runs:
        parts = run.says["part"]
        if len({part["name"] for part in parts}) < len(parts):
            raise error(f"two parts of run.{run.name} have the same name", "use unique names")
        paths = [part["path"] is not None for part in parts]
        if any(paths) and not all(paths) and run.says["calibrated_by"] is None:
            what = f"run.{run.name} has paths of some parts only"
            raise error(what, "set a path for each, or calibrated_by")


def _base(scenario: Scenario, with_demands: Mapping[str, SmtRun]) -> SmtRun | None:
    """Return the base run: the named one, else the first measured one, preferably without multithreading."""
    if scenario["base"] is not None:
        return _find_run(scenario, with_demands, scenario["base"], "base")
    runs = with_demands.values()
    return min(runs, key=lambda run: (not run.measured, run.says["threads"]), default=None)


def _find_run(scenario: Scenario, with_demands: Mapping[str, SmtRun], name: str, key: str) -> SmtRun:
    run = with_demands.get(name)
    if run is None:
        raise scenario.error(
            f"{key} is {name}, but no measured run has that name",
            "name another run",
            ", ".join(list(with_demands)[:20]) or "a run with etr and processor_busy",
        )
    return run


def _expected(
    scenario: Scenario, answer: Answer, run: SmtRun, base: SmtRun | None, with_demands: Mapping[str, SmtRun]
) -> ExpectedThroughput:
    """Return bounds from its own demands, else from the base run; a point value with path factors."""
    point = any(part["path"] for part in run.says["part"]) or run.says["calibrated_by"] is not None
    from_own = None
    if run.raw is not None:
        bounds = smt_bounds.work_bounds(run.parts(run.raw), run.processors)
        from_own = ExpectedThroughput(bounds, "its own")
        if not point:
            return from_own
    if base is None:
        raise scenario.error(
            f"run.{run.name} has no demands, and no run was measured",
            "add a run with etr, processor_busy and busy of its parts, or demand to each part",
        )
    by = run.says["calibrated_by"]
    from_run = base if by is None else _find_run(scenario, with_demands, by, f"run.{run.name}.calibrated_by")
    if point and not from_run.measured:
        what = f"run.{run.name} is predicted from run.{from_run.name}, which was not measured"
        raise scenario.error(what, f"add etr and processor_busy to run.{from_run.name}")
    if by is not None and from_run.says["threads"] != run.says["threads"]:
        raise scenario.error(
            f"run.{run.name}.calibrated_by is {by}, which was measured with threads = "
            f"{from_run.says['threads']}, not {run.says['threads']}",
            "path factors must come from a measured run with as many threads; leave it out for bounds only",
        )
    work, paths = _work_of_parts(scenario, run, base), None
    if point:
        grown = _work_of_parts(scenario, run, from_run)
        paths = [
            part["path"] or (grown_demand / base_demand if base_demand else 1.0)
            for part, grown_demand, base_demand in zip(run.says["part"], grown, work, strict=True)
        ]
        work = [demand * path for demand, path in zip(work, paths, strict=True)]
    parts = run.parts(work)
    maximum = _maximum(answer, run, from_run, base)
    if maximum is None and point:
        what = f"run.{run.name} is predicted, but has no max_capacity_factor"
        raise scenario.error(what, "add it, or leave out path factors for bounds only")
    maximum = maximum or TWICE
    cores, threads = run.says["cores"], run.says["threads"]
    if threads == 2:
        scenario.assume("smt_idle_cores_first")
    bounds = smt_bounds.work_bounds(parts, cores, threads, maximum)
    density = smt_bounds.density_at(parts, cores, threads, maximum)
    demands = f"of {base.name}" + (f", path of {by}" if by else ", path given" if point else "")
    expected = ExpectedThroughput(bounds, demands, None, density)
    if not point:
        answer.notes.append(
            f"{run.name}: no point value without path factors; name the run that has them "
            "(calibrated_by), or set a path for each part"
            if threads == base.says["threads"]
            else f"{run.name}: no point value, only bounds, because no path factor is calibrated "
            f"(calibrated_by). {MISSES}"
        )
        return expected
    predicted = product(_part_of_bound_reached(scenario, from_run), expected.most)
    if predicted is not None:
        scenario.assume("smt_bound_reached")
    _path_notes(answer, run, from_run, by, paths or [])
    return replace(from_own or expected, predicted=predicted, density=density)


def _work_of_parts(scenario: Scenario, run: SmtRun, source: SmtRun) -> list[float]:
    """Return the work of each part of a run, from another run by part name."""
    if source.work is None:
        raise scenario.error(
            f"run.{source.name} has no slowdown of its threads",
            "add thread_density (or core_busy), and max_capacity_factor or capacity_factor",
        )
    demands = {part["name"]: demand for part, demand in zip(source.says["part"], source.work, strict=True)}
    names = [part["name"] for part in run.says["part"]]
    for name in names:
        if name not in demands:
            what = f"run.{run.name}.part.{name} is not a part of run.{source.name}"
            raise scenario.error(what, "use the same part names", ", ".join(demands))
    for name in sorted(set(demands) - set(names)):
        what = f"run.{run.name} has no part {name} of run.{source.name}"
        raise scenario.error(what, "add it: its demand is part of a transaction")
    return [demands[name] for name in names]


def _maximum(answer: Answer, run: SmtRun, from_run: SmtRun, base: SmtRun) -> float | None:
    """Return the largest capacity factor of a run, or of the run with its path factors, or of the base."""
    if run.says["threads"] == 1:
        return 1.0
    if run.maximum is not None:
        return run.maximum
    for source in (from_run, base):
        if source.says["threads"] == 2 and source.maximum is not None:
            answer.notes.append(
                f"{run.name}: its max_capacity_factor is from {source.name}, {100 * source.maximum:.0f}%; "
                "other work on the threads has a different one"
            )
            return source.maximum
    answer.notes.append(
        f"{run.name}: without max_capacity_factor its bounds assume 200%, the most two threads can do"
    )
    return None


def _part_of_bound_reached(scenario: Scenario, run: SmtRun) -> float | None:
    """Return the part of its own bound that a measured run reached."""
    if run.work is None:
        return None
    if run.maximum is None:
        raise scenario.error(f"run.{run.name} has no max_capacity_factor", "add it to calibrate with")
    bounds = smt_bounds.work_bounds(run.parts(run.work), run.says["cores"], run.says["threads"], run.maximum)
    limiting = smt_bounds.lowest_bound(bounds)
    return ratio(run.says["etr"], limiting.most if limiting else None)


def _path_notes(
    answer: Answer, run: SmtRun, from_run: SmtRun, by: str | None, paths: Sequence[float]
) -> None:
    if by is None and run.says["threads"] == 2 and all(path == 1.0 for path in paths):
        answer.notes.append(
            f"{run.name}: with path factors of 1 the prediction depends only on the capacity factor. {MISSES}"
        )
    elif by is not None and by != run.name:
        answer.notes.append(
            f"{run.name}: path factors apply to the configuration they were measured in ({from_run.name}); "
            f"{_MOVED}"
        )


def _row(run: SmtRun, expected: ExpectedThroughput) -> tuple[Value, ...]:
    etr, predicted = run.says["etr"], expected.predicted
    reached = ratio(product(100.0, etr), expected.most)
    error = 100.0 * (predicted / etr - 1.0) if predicted is not None and etr else None
    bound = (expected.most, expected.held_by, reached, expected.demands)
    return (run.name, run.says["cores"], run.says["threads"], etr, *bound, predicted, error, expected.density)


def _bound_rows(run: SmtRun, expected: ExpectedThroughput) -> list[tuple[Value, ...]]:
    limiting = expected.limiting
    return [(run.name, *astuple(bound), "binds" if bound is limiting else "") for bound in expected.bounds]


def _compare_to_base(run: SmtRun, base: SmtRun) -> tuple[Value, ...]:
    says = run.says
    etrr = says["etr"] / base.says["etr"]
    raw, base_work = sum(run.raw or ()), sum(base.work or ())
    slowing = path = None
    if run.density is not None and run.factor is not None:
        slowing = smt_bounds.slowdown(run.density or 1.0, run.factor or 1.0)
        # Growth that slower threads do not explain: spinning, colder caches, more work.
        path = ratio(raw, base_work * slowing)
    return (
        *(run.name, etrr, smt_bounds.itr_ratio(etrr, base.says["processor_busy"], says["processor_busy"])),
        *(ratio(raw, sum(base.raw or ())), run.density),
        *(product(100.0, run.factor), product(100.0, run.maximum)),
        *(slowing, path, ratio(says["in_system"], says["etr"])),
    )


def _demand_rows(run: SmtRun, base: SmtRun) -> list[tuple[Value, ...]]:
    index_by_name = {part["name"]: index for index, part in enumerate(base.says["part"])}
    rows: list[tuple[Value, ...]] = []
    for n, (part, demand) in enumerate(zip(run.says["part"], run.raw or (), strict=True)):
        index = index_by_name.get(part["name"])
        of_base = base.raw[index] if index is not None and base.raw else None
        path = base.work[index] if index is not None and base.work else None
        virtual_cpus = part["guests"] * part["virtual_cpus"]
        busy = 100.0 * demand * run.says["etr"] / part["guests"]
        growth = ratio(run.work[n] if run.work else None, path)
        rows.append((run.name, part["name"], virtual_cpus, busy, demand, ratio(demand, of_base), growth))
    return rows


def _chart(pairs: Sequence[tuple[SmtRun, ExpectedThroughput]]) -> Chart:
    series = [
        ChartSeries("measured", [run.says["etr"] for run, _ in pairs]),
        ChartSeries("at most", [expected.most for _, expected in pairs]),
    ]
    if any(expected.predicted is not None for _, expected in pairs):
        series.append(ChartSeries("predicted", [expected.predicted for _, expected in pairs]))
    return Chart("Throughput", "bars", [run.name for run, _ in pairs], tuple(series), "1/s")
