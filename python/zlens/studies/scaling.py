"""Scaling study: one workload in partitions of increasing size, against the capability of the machine.

Source: IBM, "z/VM Support for Eighty Logical Processors": ITR ratio to the smallest run against the ratio of
capability, "gradual rolloff with no sharp inflection points".
"""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog.capacity_curves import Point
from zlens.models.capacity import curve_sources, scaling, usl
from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.studies import scaling_notes, scaling_tables
from zlens.studies.measurement import MeasuredRun, resolve_path
from zlens.studies.run_keys import run_of
from zlens.studies.runs import WorkloadRun
from zlens.studies.scaling_tables import ScaledRun

SUMMARY = "a workload in partitions of increasing size, against the capability of the machine"
SPEC = key_table("scaling.scenario")


def solve(scenario: Scenario, *, as_published: bool = False) -> Answer:
    runs = _runs(scenario, as_published)
    named_curve = _named_curve(scenario)
    curve = _curve(scenario, named_curve, [run for run, _ in runs])
    by_name = {run.name: (run, measured) for run, measured in runs}
    compared = scaling.compared(
        [scaling.ScalingRun(_cores(run), run.etr, run.busy, run.itr, run.name) for run, _ in runs], curve
    )
    rows = []
    for scaled in compared:
        run, measured = by_name[scaled.run.name]
        factor = scaling.factor(curve, scaled.run.processors) if curve else None
        rows.append(ScaledRun(run, scaled, factor, measured))
    bends = scaling.rolloffs(compared, scenario["rolloff_gain"])
    fit = _fit_law(rows)
    relative = scenario["relative"]
    return Answer(
        "scaling",
        scenario.title or "A scaling study",
        scaling_tables.tables(rows, fit, relative=relative),
        list(_figures(rows, bends)),
        list(scaling_tables.charts(rows, fit, relative=relative)),
        list(scaling_notes.notes(rows, bends, fit, scenario, named_curve, as_published)),
        follow=("scaling", "itrr"),
    )


def _runs(scenario: Scenario, as_published: bool) -> list[tuple[WorkloadRun, MeasuredRun | None]]:
    runs: list[tuple[WorkloadRun, MeasuredRun | None]] = []
    seen: set[str] = set()
    for number, values in enumerate(scenario["run"], 1):
        location = f"run[{number}]"
        if values["name"] in seen:
            raise scenario.error(f'{location}.name is "{values["name"]}" again', cure="use unique names")
        seen.add(values["name"])
        run, measured = run_of(values, location, scenario.problem, as_published=as_published)
        if run.processors is None:
            what = f"{location}.processors is missing: logical processors online"
            raise scenario.error(what, "add processors")
        if run.cores is not None and run.cores > run.processors + 0.5:
            what = f"{location}.cores is {run.cores:g}, but it has {run.processors:g} processors"
            raise scenario.error(what, f"change {location}.cores", "a processor or more on each core")
        if run.etr is None and run.itr is None:
            expected = "etr, itr, or a file with throughput"
            raise scenario.error(f"{location} has no throughput", f"add {location}.etr", expected)
        runs.append((run, measured))
    return runs


def _cores(run: WorkloadRun) -> int:
    assert run.cores is not None
    return max(1, round(run.cores))


def _named_curve(scenario: Scenario) -> curve_sources.NamedCurve | None:
    """Return the curve that the file selects; a data path is relative to the file."""
    data = scenario["data"]
    path = None if data is None else resolve_path(data, scenario.problem.file)
    return curve_sources.named_curve(Scenario({**scenario.values, "data": path}, scenario.problem))


def _curve(
    scenario: Scenario, named_curve: curve_sources.NamedCurve | None, runs: list[WorkloadRun]
) -> list[Point] | None:
    """Return the factors of the machine and of runs; None without any."""
    points = dict(named_curve.curve) if named_curve else {}
    for n, run in enumerate(runs, 1):
        if run.caf is None:
            continue
        earlier = points.setdefault(_cores(run), run.caf)
        if earlier != run.caf:
            what = f"run[{n}].factor is {run.caf:g}, but {_cores(run)} cores have {earlier:g} elsewhere"
            raise scenario.error(what, "keep one of the two")
    if not points:
        return None
    points.setdefault(1, 1.0)
    return sorted(points.items())


def _fit_law(rows: list[ScaledRun]) -> usl.UslFit | None:
    points = [(float(row.scaled.run.processors), row.scaled.itr) for row in rows if row.scaled.itr]
    sizes = tuple(size for size, _ in points)
    if len(set(sizes)) < len(sizes):
        return None
    fit = usl.fit(sizes, tuple(rate for _, rate in points if rate))
    # As many runs as parameters always fit exactly.
    return fit if fit is not None and fit.freedom > 0 else None


def _figures(rows: list[ScaledRun], bends: list[scaling.Rolloff]) -> Iterator[AnswerFigure]:
    last = rows[-1].scaled
    if len(rows) > 1:
        yield AnswerFigure("itrr", last.itrr, "", f"ITR ratio of {last.run.name}", 3)
        yield AnswerFigure("expected", last.ratio, "", "Ratio expected of it", 3)
        yield AnswerFigure("efficiency", last.efficiency, "", "Efficiency of it", 3)
    if bends:
        yield AnswerFigure("rolls_off_after", float(bends[0].after), "cores", "Rolls off after", 0)
