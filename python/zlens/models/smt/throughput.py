"""Throughput of runs with and without multithreading: what was measured, what bounds it, what is predicted.

A point value is given only with path factors, calibrated from a measured pair of runs or given by hand:
capacity factors say how fast cores work, not how much work a transaction becomes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zlens.models.answer import Answer, Figure, Table, Value
from zlens.models.scenario import Scenario
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt.bounds import Bound, Part
from zlens.models.smt.tables import AGAINST, BOUNDS, DEMANDS, RUNS, published
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Integer, Key, Line, Many, Number, Spec

#: Rounding of printed percentages can lead this far beyond 1 or 2 threads.
_ROUNDING = 0.02
#: Two threads never do more than twice the work of one.
_TWICE = 2.0
#: More runs than this make no figures: nobody reads a sweep of so many.
_MOST_FIGURES = 20
MISSES = (
    "Capacity factors do not predict throughput: for IBM's published serialization workload they say 1.05 of "
    "the run without SMT, and 0.649 was measured"
)
_MOVED = "between IBM's published SMT-2 runs of one workload predictions miss by 12 % to 28 % with them"
#: A run this far above its own bound is none that the bound can hold for.
_BEYOND = 1.02

PART = Spec(
    (
        Key("name", Line(), "name of the part: clients, servers, ..."),
        Key("guests", Integer(1, 100_000), "guests that run it", default=1),
        Key("virtual_cpus", Integer(1, 128), "virtual processors of each guest", default=1),
        Key(
            "busy",
            Number(0, 12_800),
            "measured busy of each guest; one part may leave it out and has what is left",
            "% of one logical processor",
            default=None,
        ),
        Key("demand", Number(0, 1e9), "raw CPU time of a transaction instead", "s", default=None),
        Key("path", Number(0, 1000, above=True), "path factor against the base run", default=None),
        Key("serial", Number(0, 100), "what of it runs only so many at once", "% of its demand", default=0.0),
        Key("serial_at_once", Integer(1, 100_000), "how many run that at once", default=1),
    )
)

RUN = Spec(
    (
        Key("name", Line(), "name of the run"),
        Key("cores", Integer(1, 1000), "logical cores"),
        Key("threads", Integer(1, 2), "threads activated on each core", default=1),
        Key("etr", Number(0, 1e12, above=True), "measured throughput", "transactions/s", default=None),
        Key(
            "processor_busy",
            Number(0, 100),
            "measured busy, mean of all logical processors (threads)",
            "%",
            default=None,
        ),
        Key("core_busy", Number(0, 100), "measured busy, mean of all cores", "%", default=None),
        Key("thread_density", Number(1, 2), "measured; else from both kinds of busy", default=None),
        Key("capacity_factor", Number(50, 400), "measured; else from thread density", "%", default=None),
        Key("max_capacity_factor", Number(100, 200), "its largest capacity factor", "%", default=None),
        Key("in_system", Number(0, 1e12), "transactions in the system, mean", default=None),
        Key("calibrated_by", Line(), "measured run whose path factors hold for this one", default=None),
        Key("part", Many(PART, least=1), "who runs a part of each transaction"),
    )
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run and what follows from what it says. Factors are ratios; work is None where it cannot be known."""

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
        """Demand of each part as if alone on a core: MT-1 equivalent."""
        if self.raw is None or self.density is None or self.factor is None:
            return None
        slowing = smt_bounds.slowing(self.density, self.factor)
        return tuple(demand / slowing for demand in self.raw)

    def parts(self, demands: Sequence[float]) -> list[Part]:
        return [
            Part(
                part["name"],
                demand,
                part["guests"] * part["virtual_cpus"],
                part["serial"] / 100.0,
                part["serial_at_once"],
            )
            for part, demand in zip(self.says["part"], demands, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of a run. predicted: None without path factors. paths: of each part, None without."""

    bounds: list[Bound]
    held: Bound | None
    demands: str
    predicted: float | None = None
    density: float | None = None


def extend(answer: Answer, scenario: Scenario) -> None:
    """Adds what there is to say of the runs of a scenario."""
    runs = [_run(scenario, says) for says in scenario["run"]]
    _together(scenario, runs)
    known = {run.name: run for run in runs if run.raw is not None}
    base = _base(scenario, known)
    expected = [_expected(scenario, answer, run, base, known) for run in runs]
    pairs = list(zip(runs, expected, strict=True))
    answer.tables += [
        Table("runs", "Throughput", RUNS, [_row(run, one) for run, one in pairs]),
        Table("bounds", "Bounds", BOUNDS, [row for run, one in pairs for row in _bound_rows(run, one)]),
    ]
    measured = [run for run in runs if run.measured]
    if measured:
        of = base if base is not None and base.measured else measured[0]
        rows = [_against(run, of) for run in measured]
        answer.tables.append(Table("against", f"Measured, against {of.name}", AGAINST, rows))
        rows = [row for run in measured for row in _demand_rows(run, of)]
        answer.tables.append(Table("demands", "Demands", DEMANDS, rows))
    if any(run.says["threads"] == 2 for run in runs):
        answer.tables.append(published())
    for run, one in pairs if len(pairs) <= _MOST_FIGURES else ():
        most = one.held.most if one.held else None
        answer.figures.append(Figure(f"bound_{run.name}", most, "1/s", f"{run.name}: throughput at most", 3))
        if one.predicted is not None:
            answer.figures.append(
                Figure(f"predicted_{run.name}", one.predicted, "1/s", f"{run.name}: throughput predicted", 3)
            )
        if run.measured and most and run.says["etr"] > most * _BEYOND:
            answer.notes.append(
                f"{run.name}: measured throughput is above the bound of {one.held and one.held.held_by}: its "
                "numbers do not belong together, or a part has more virtual processors than the scenario says"
            )
    answer.charts.append(_chart(pairs))


def _run(scenario: Scenario, says: Mapping[str, Any]) -> Run:
    wrong, here = scenario.problem.wrong, f"run.{says['name']}"
    measured = says["etr"] is not None
    if measured != (says["processor_busy"] is not None):
        there, lacks = ("etr", "processor_busy") if measured else ("processor_busy", "etr")
        raise wrong(f"{here} has {there} without {lacks}", f"add {lacks}, or leave {there} out")
    for part in says["part"]:
        if part["busy"] is not None and not measured:
            raise wrong(
                f"{here}.part.{part['name']}.busy of a run that was not measured",
                "add etr and processor_busy, or leave it out",
            )
    given = [part["demand"] for part in says["part"]]
    raw: Sequence[float] | None = None
    if None not in given:
        raw = given
    elif any(demand is not None for demand in given):
        raise wrong(f"{here} has a demand of some parts only", "give the demand of each part, or none")
    elif measured:
        known = [
            None if part["busy"] is None else part["guests"] * part["busy"] / 100.0 for part in says["part"]
        ]
        if known.count(None) > 1:
            raise wrong(f"{here} has more than one part without busy", "add busy to all parts but one")
        processors = says["cores"] * says["threads"]
        raw = smt_bounds.split(says["etr"], processors, says["processor_busy"] / 100.0, known)
        if raw is None:
            raise wrong(
                f"{here}: its parts were busier than its {processors} processors",
                "busy is of each guest, in percent of one processor",
            )
    return Run(says, None if raw is None else tuple(raw), *_state(scenario, says))


def _state(scenario: Scenario, says: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Thread density, capacity factor and its largest value, each measured or from the others."""
    if says["threads"] == 1:
        for key in ("thread_density", "capacity_factor"):
            if says[key] is not None:
                raise scenario.problem.wrong(
                    f"run.{says['name']}.{key} of a run with one thread on a core",
                    "write threads = 2, or leave it out",
                )
        return 1.0, 1.0, 1.0
    density = says["thread_density"]
    if density is None and says["core_busy"] and says["processor_busy"] is not None:
        density = 2.0 * says["processor_busy"] / says["core_busy"]
        if not 1.0 - _ROUNDING <= density <= 2.0 + _ROUNDING:
            raise scenario.problem.wrong(
                f"run.{says['name']}: its threads sum to {density:.2f} of core_busy",
                "processor_busy and core_busy must be of one interval",
                "1 to 2",
            )
        density = min(2.0, max(1.0, density))
    factor = None if says["capacity_factor"] is None else says["capacity_factor"] / 100.0
    maximum = None if says["max_capacity_factor"] is None else says["max_capacity_factor"] / 100.0
    if factor is None and density is not None and maximum is not None:
        factor = 1.0 + (density - 1.0) * (maximum - 1.0)
    if maximum is None and factor is not None and density is not None and density > 1.0:
        maximum = min(_TWICE, max(1.0, 1.0 + (factor - 1.0) / (density - 1.0)))
    return density, factor, maximum


def _together(scenario: Scenario, runs: Sequence[Run]) -> None:
    wrong = scenario.problem.wrong
    if len({run.name for run in runs}) < len(runs):
        raise wrong("two runs have the same name", "give each a name of its own")
    for run in runs:
        parts = run.says["part"]
        if len({part["name"] for part in parts}) < len(parts):
            raise wrong(f"two parts of run.{run.name} have the same name", "give each a name of its own")
        paths = [part["path"] is not None for part in parts]
        if any(paths) and not all(paths) and run.says["calibrated_by"] is None:
            raise wrong(f"run.{run.name} has a path of some parts only", "give each a path, or calibrated_by")


def _base(scenario: Scenario, known: Mapping[str, Run]) -> Run | None:
    """The named one; else the first measured run, one without multithreading before others."""
    name = scenario["base"]
    if name is None:
        return min(known.values(), key=lambda run: (not run.measured, run.says["threads"]), default=None)
    return _named(scenario, known, name, "base")


def _named(scenario: Scenario, known: Mapping[str, Run], name: str, where: str) -> Run:
    found = known.get(name)
    if found is None:
        raise scenario.problem.wrong(
            f"{where} is {name}, and no measured run is called so",
            "name another run",
            ", ".join(list(known)[:20]) or "a run with etr and processor_busy",
        )
    return found


def _expected(
    scenario: Scenario, answer: Answer, run: Run, base: Run | None, known: Mapping[str, Run]
) -> Expected:
    """Bounds from its own demands where it has any, else from the base run's; a point with path factors."""
    point = any(part["path"] for part in run.says["part"]) or run.says["calibrated_by"] is not None
    own = None
    if run.raw is not None:
        bounds = smt_bounds.raw_bounds(run.parts(run.raw), run.processors)
        own = Expected(bounds, smt_bounds.binding(bounds), "its own")
        if not point:
            return own
    if base is None:
        raise scenario.problem.wrong(
            f"run.{run.name} has no demands, and no run was measured",
            "add a run with etr, processor_busy and busy of its parts, or demand to each part",
        )
    by = run.says["calibrated_by"]
    from_run = base if by is None else _named(scenario, known, by, f"run.{run.name}.calibrated_by")
    if point and not from_run.measured:
        raise scenario.problem.wrong(
            f"run.{run.name} is to be predicted from run.{from_run.name}, which was not measured",
            f"add etr and processor_busy to run.{from_run.name}",
        )
    if by is not None and from_run.says["threads"] != run.says["threads"]:
        raise scenario.problem.wrong(
            f"run.{run.name}.calibrated_by is {by}, which was measured with threads = "
            f"{from_run.says['threads']}, not {run.says['threads']}",
            "path factors come from a measured run with as many threads; leave it out for bounds alone",
        )
    work, paths = _of_parts(scenario, run, base), None
    if point:
        grown = _of_parts(scenario, run, from_run)
        paths = [
            part["path"] or (other / alone if alone else 1.0)
            for part, other, alone in zip(run.says["part"], grown, work, strict=True)
        ]
        work = [demand * path for demand, path in zip(work, paths, strict=True)]
    parts = run.parts(work)
    maximum = _maximum(answer, run, from_run, base)
    if maximum is None and point:
        raise scenario.problem.wrong(
            f"run.{run.name} is to be predicted without max_capacity_factor",
            "add it; without it there are bounds alone",
        )
    maximum = maximum or _TWICE
    cores, threads = run.says["cores"], run.says["threads"]
    if threads == 2:
        scenario.assume("smt_idle_cores_first")
    bounds = smt_bounds.work_bounds(parts, cores, threads, maximum)
    held = smt_bounds.binding(bounds)
    density = smt_bounds.density_at(parts, cores, threads, maximum)
    demands = f"of {base.name}" + (f", path of {by}" if by else ", path given" if point else "")
    if not point:
        if threads != base.says["threads"]:
            answer.notes.append(_no_point(run))
        else:
            answer.notes.append(
                f"{run.name}: no point value without path factors; name the run that they are of "
                f"(calibrated_by), or give each part a path"
            )
        return Expected(bounds, held, demands, None, density)
    reached = _reached(scenario, from_run)
    most = held.most if held else None
    predicted = None if reached is None or most is None else reached * most
    if predicted is not None:
        scenario.assume("smt_bound_reached")
    _path_notes(answer, run, from_run, by, paths or [])
    if own is not None:
        return replace(own, predicted=predicted, density=density)
    return Expected(bounds, held, demands, predicted, density)


def _of_parts(scenario: Scenario, run: Run, of: Run) -> list[float]:
    """Work of each part of a run as another run has it, by the parts' names."""
    if of.work is None:
        raise scenario.problem.wrong(
            f"run.{of.name} does not say how its threads slowed each other",
            "add thread_density (or core_busy), and max_capacity_factor or capacity_factor",
        )
    known = {part["name"]: demand for part, demand in zip(of.says["part"], of.work, strict=True)}
    for part in run.says["part"]:
        if part["name"] not in known:
            raise scenario.problem.wrong(
                f"run.{run.name}.part.{part['name']} is no part of run.{of.name}",
                "name it like that one's",
                ", ".join(known),
            )
    if len(known) > len(run.says["part"]):
        missing = set(known) - {part["name"] for part in run.says["part"]}
        raise scenario.problem.wrong(
            f"run.{run.name} lacks part {min(missing)} of run.{of.name}",
            "add it: its demand is part of a transaction",
        )
    return [known[part["name"]] for part in run.says["part"]]  # fmt: skip


def _maximum(answer: Answer, run: Run, from_run: Run, base: Run) -> float | None:
    """Largest capacity factor of a run: its own, else of the run its path factors are of, or of the base."""
    if run.says["threads"] == 1:
        return 1.0
    if run.maximum is not None:
        return run.maximum
    for other in (from_run, base):
        if other.says["threads"] == 2 and other.maximum is not None:
            answer.notes.append(
                f"{run.name}: its max_capacity_factor is that of {other.name}, {100 * other.maximum:.0f} %; "
                "other work on the threads has another one"
            )
            return other.maximum
    answer.notes.append(
        f"{run.name}: without max_capacity_factor its bounds are those of 200 %, the most two threads can do"
    )
    return None


def _reached(scenario: Scenario, run: Run) -> float | None:
    """What part of its own bound a measured run reached."""
    if run.work is None:
        return None
    if run.maximum is None:
        raise scenario.problem.wrong(f"run.{run.name} has no max_capacity_factor", "add it to calibrate with")
    bounds = smt_bounds.work_bounds(run.parts(run.work), run.says["cores"], run.says["threads"], run.maximum)
    held = smt_bounds.binding(bounds)
    return run.says["etr"] / held.most if held is not None and held.most else None


def _no_point(run: Run) -> str:
    return (
        f"{run.name}: no point value, only bounds, for no path factor is calibrated (calibrated_by). {MISSES}"
    )


def _path_notes(answer: Answer, run: Run, from_run: Run, by: str | None, paths: Sequence[float]) -> None:
    if by is None and run.says["threads"] == 2 and all(path == 1.0 for path in paths):
        answer.notes.append(f"{run.name}: path factors of 1 leave nothing but the capacity factor. {MISSES}")
    elif by is not None and by != run.name:
        answer.notes.append(
            f"{run.name}: path factors hold for the configuration they were measured in ({from_run.name}); "
            f"{_MOVED}"
        )


def _row(run: Run, one: Expected) -> tuple[Value, ...]:
    etr = run.says["etr"]
    most = one.held.most if one.held else None
    return (
        run.name,
        run.says["cores"],
        run.says["threads"],
        etr,
        most,
        one.held.held_by if one.held else None,
        100.0 * etr / most if etr is not None and most else None,
        one.demands,
        one.predicted,
        100.0 * (one.predicted / etr - 1.0) if one.predicted is not None and etr else None,
        one.density,
    )


def _bound_rows(run: Run, one: Expected) -> list[tuple[Value, ...]]:
    return [
        (
            run.name,
            bound.held_by,
            bound.demand,
            bound.at_once,
            bound.most,
            "binds" if bound is one.held else "",
        )
        for bound in one.bounds
    ]


def _against(run: Run, base: Run) -> tuple[Value, ...]:
    says = run.says
    ratio = says["etr"] / base.says["etr"]
    raw, before = sum(run.raw or ()), sum(base.work or ())
    known = run.density is not None and run.factor is not None
    slowing = smt_bounds.slowing(run.density or 1.0, run.factor or 1.0) if known else None
    return (
        run.name,
        ratio,
        smt_bounds.itr_ratio(ratio, base.says["processor_busy"], says["processor_busy"]),
        raw / sum(base.raw or ()) if sum(base.raw or ()) else None,
        run.density,
        None if run.factor is None else 100.0 * run.factor,
        None if run.maximum is None else 100.0 * run.maximum,
        slowing,
        smt_bounds.path_factor(raw, before, run.density or 1.0, run.factor or 1.0) if known else None,
        None if says["in_system"] is None else says["in_system"] / says["etr"],
    )


def _demand_rows(run: Run, base: Run) -> list[tuple[Value, ...]]:
    before = {part["name"]: at for at, part in enumerate(base.says["part"])}
    rows: list[tuple[Value, ...]] = []
    for n, (part, demand) in enumerate(zip(run.says["part"], run.raw or (), strict=True)):
        at = before.get(part["name"])
        of_base = base.raw[at] if at is not None and base.raw else None
        path = base.work[at] if at is not None and base.work else None
        rows.append((
            run.name,
            part["name"],
            part["guests"] * part["virtual_cpus"],
            100.0 * demand * run.says["etr"] / part["guests"],
            demand,
            demand / of_base if of_base else None,
            run.work[n] / path if path and run.work else None,
        ))  # fmt: skip
    return rows


def _chart(pairs: Sequence[tuple[Run, Expected]]) -> Chart:
    series = [
        Series("measured", [run.says["etr"] for run, _ in pairs]),
        Series("at most", [one.held.most if one.held else None for _, one in pairs]),
    ]
    if any(one.predicted is not None for _, one in pairs):
        series.append(Series("predicted", [one.predicted for _, one in pairs]))
    return Chart("Throughput", "bars", [run.name for run, _ in pairs], tuple(series), "1/s")
