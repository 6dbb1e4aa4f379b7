"""Capability of many processors: what a partition of n of them brings, split or whole, and how work scales.

Source: IBM, "z/VM for eighty logical processors": CAF values, effective capability n x c(n), tables 2 to 9.
Capability is in single processors: one processor alone brings 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from zlens.catalog import machines
from zlens.catalog.machines import Point
from zlens.models.answer import Answer, Column, Figure, Table
from zlens.models.capacity import runs as capacity_runs
from zlens.models.capacity import scaling
from zlens.models.capacity.measured_curve import NamedCurve, known
from zlens.models.scenario import Scenario
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Choice, Integer, Key, Line, Many, Named, Number, Spec

SUMMARY = "capability of n processors, whole or over partitions, and how runs of a workload scale beside it"

_RUN = Spec(
    (
        Key("name", Line(), "name of the run", default=None),
        Key("processors", Integer(1, 10_000), "logical processors of the partition"),
        Key("etr", Number(0, 1e15, above=True), "external throughput rate", "per second", default=None),
        Key("busy", Number(0, 100, above=True), "average logical processor busy", "%", default=None),
        Key(
            "itr",
            Number(0, 1e15, above=True),
            "internal throughput rate where ETR and busy are not given",
            "per second",
            default=None,
        ),
    )
)

SPEC = Spec(
    (
        Key("machine", Line(), "whose curve: a machine of the catalog, such as z14-m05", default=None),
        Key(
            "factors",
            Named(Number(0, 2, above=True)),
            "a curve of one's own: factor by number of processors; those between are interpolated",
            default=None,
        ),
        Key(
            "adjustments",
            Many(Integer(1, 131_072), 1),
            "a curve of one's own as /proc/sysinfo has it: Adjustment 02-way and on",
            "65,536ths",
            default=None,
        ),
        Key(
            "data",
            Line(),
            "a file that tells the curve: /proc/sysinfo of a Linux, or monitor data of z/VM",
            default=None,
        ),
        Key("system", Line(), "which system of that file", default=None),
        Key("sizes", Many(Integer(1, 10_000), 1), "sizes of partitions to compare", default=None),
        Key("processors", Integer(1, 10_000), "processors to spread over partitions", default=None),
        Key(
            "partitions",
            Many(Integer(1, 10_000), 1),
            "over how many partitions they are spread, as evenly as it goes",
            default=[1, 2, 4, 8],
        ),
        Key("run", Many(_RUN), "a run of a workload that was measured", default=[]),
        Key(
            "rolloff_gain",
            Number(0, 1),
            "a run rolls off where its ITR gains less than this part of what the capability gains",
            constant="rolloff_gain",
        ),
        Key(
            "usl",
            Choice(("runs", "curve", "no")),
            "what the Universal Scalability Law is fitted to: the runs, or the machine's own curve",
            default="runs",
        ),
        Key(
            "usl_fits_within",
            Number(0, 100),
            "largest miss of a law that is said to fit",
            "%",
            constant="usl_fits_within",
        ),
        Key(
            "usl_one",
            Number(0, 1e15, above=True),
            "throughput of one processor where it is known; else it is fitted",
            "per second",
            default=None,
        ),
        Key("confidence", Number(50, 99.99), "confidence of the intervals", "%", default=95.0),
    )
)

EXAMPLE = """\
# Eighty processors of a z14: one partition or several, and did a workload scale as it should?
# The runs: IBM, "z/VM for eighty logical processors", table 4.
model = "capacity"
title = "Eighty processors of a z14"

machine = "z14-m05"          # or factors, adjustments, or data = "/proc/sysinfo"
sizes = [16, 32, 48, 64, 80] # partitions to compare
processors = 80              # to spread ...
partitions = [1, 2, 4, 8]    # ... over so many partitions

[[run]]
name = "A9NZ524Y"
processors = 19
etr = 82817.32               # per second
busy = 95.4                  # % of the average logical processor

[[run]]
name = "AS2Z9140"
processors = 38
etr = 155433.48
busy = 95.6

[[run]]
name = "AS3Z9140"
processors = 57
etr = 221439.86
busy = 97.6

[[run]]
name = "AS4Z9140"
processors = 76
etr = 265372.72
busy = 98.3

[[run]]
name = "AS5Z9140"
processors = 95
etr = 271351.24
busy = 99.9
"""

_SIZES = (
    Column("processors", "Processors"),
    Column("factor", "Factor", "", "what each brings (CAF)", 4),
    Column("how", "How", text="stated, or between stated ones, or beyond them"),
    Column("error", "Error", "%", "estimated error of an interpolated factor", 2),
    Column("capability", "Capability", "processors", "effective capability, n x c(n)", 2),
    Column("ratio", "Ratio", "", "to the first of them", 2),
)
_DEPLOYMENTS = (
    Column("name", "Deployed"),
    Column("sizes", "Sizes", text="partitions x processors of each"),
    Column("largest", "Largest", "processors", "processors of the largest partition"),
    Column("capability", "Capability", "processors", "of all of them together", 2),
    Column("gain", "Gain", "%", "more than with the first", 1),
    Column("how", "How", text="how the factors are known"),
    Column("error", "Error", "%", "estimated error", 2),
)


def solve(scenario: Scenario) -> Answer:
    """Tables of sizes, of deployments and of runs, as far as they are asked for."""
    source = known(scenario)
    answer = Answer("capacity", scenario.title or "Capability", [])
    if source is None and not scenario["run"]:
        raise scenario.problem.wrong(
            "there is no curve and no run",
            "write machine = ..., factors, adjustments or data",
            f"a machine of the catalog: {', '.join(machines.machines())}",
        )
    if source is not None:
        _curve(scenario, source, answer)
    else:
        _without_curve(scenario)
    if scenario["run"]:
        capacity_runs.add(scenario, None if source is None else source.curve, answer)
    else:
        scenario.unused("rolloff_gain")
    if scenario["usl"] == "curve" and source is not None:
        capacity_runs.add_law_of_curve(scenario, source.curve, answer)
    elif scenario["usl"] == "no" or not scenario["run"]:
        scenario.unused("usl_fits_within")
    return answer


def _without_curve(scenario: Scenario) -> None:
    asked = [key for key in ("sizes", "processors") if scenario[key] is not None]
    if scenario["usl"] == "curve":
        asked.append("usl")
    if asked:
        raise scenario.problem.wrong(
            f"{asked[0]} needs the curve of a machine", "write machine = ..., factors, adjustments or data"
        )


def _curve(scenario: Scenario, source: NamedCurve, answer: Answer) -> None:
    """What the curve says of sizes and deployments."""
    curve = source.curve
    sizes = scenario["sizes"] or _own_sizes(scenario, curve)
    answer.tables.append(Table("sizes", f"Partitions of {source.text}", _SIZES, _size_rows(curve, sizes)))
    if scenario["processors"] is not None:
        total = scenario["processors"]
        one = scaling.factor(curve, total, machines.complete())
        whole = None if one.value is None else total * one.value
        answer.figures += [
            Figure("factor", one.value, "", "Factor of the processors in one partition", 4),
            Figure("capability", whole, "processors", "Capability of the processors in one partition"),
        ]
        rows = _deployment_rows(scenario, curve)
        answer.tables.append(Table("deployments", f"{total:,} processors deployed", _DEPLOYMENTS, rows))
        answer.charts.append(
            Chart(
                f"Capability of {total:,} processors by deployment",
                "bars",
                [str(row[1]) for row in rows],
                (Series("capability", [row[3] for row in rows]),),
                "processors",
            )
        )
        answer.follow = ("deployments", "capability")
        if more := [n for n in scenario["partitions"] if n > total]:
            answer.notes.append(
                f"{total:,} processors do not make {_listed(more)} partitions: these are left out"
            )
    along = _along(curve, sizes)
    answer.charts.append(
        Chart(
            "Effective capability",
            "lines",
            [float(n) for n in along],
            (
                Series("capability", [scaling.capability(curve, n) for n in along]),
                Series("linear", [float(n) for n in along]),
            ),
            "processors",
            "processors",
        )
    )
    if source.status == "given":
        rises = next((n for (_, was), (n, now) in pairwise(curve) if now > was), None)
        if rises is not None:
            answer.notes.append(
                f"The curve rises at {rises:,} processors: no known machine brings more with each of more "
                "processors, so check it"
            )
    else:
        answer.notes.append(
            f"Curve: {source.text} ({source.status}: {source.source}); it is that of IBM's reference "
            "workloads at about 90% busy, and other workloads scale differently"
        )
    answer.notes += source.notes
    _say_how(scenario, curve, sizes, answer)


def _say_how(scenario: Scenario, curve: Sequence[Point], sizes: Sequence[int], answer: Answer) -> None:
    """Which factors are interpolated, among those asked for and those that runs are held against."""
    found: dict[str, list[int]] = {}
    for n in sorted({*sizes, *(run["processors"] for run in scenario["run"])}):
        found.setdefault(scaling.factor(curve, n).how, []).append(n)
    if "between" in found:
        answer.notes.append(
            f"Factors of {_listed(found['between'])} processors are on the straight line in ln n between "
            "stated ones; the error is what such a line misses on machines whose curve is known completely, "
            "or by the bend of this curve if that is more"
        )
    if "beyond" in found:
        end = curve[-1][0]
        answer.notes.append(
            f"The curve ends at {end:,} processors: for {_listed(found['beyond'])} it goes on as it ended, "
            f"and nothing is said of more than {2 * end:,}"
        )


def _listed(numbers: Sequence[int]) -> str:
    some = ", ".join(f"{n:,}" for n in numbers[:8])
    return some if len(numbers) <= 8 else f"{some} and {len(numbers) - 8:,} other numbers of"


def _own_sizes(scenario: Scenario, curve: Sequence[Point]) -> list[int]:
    """Without a wish: the sizes of the runs, or so many stated points as one takes in at a glance."""
    if scenario["run"]:
        return sorted({run["processors"] for run in scenario["run"]})
    if len(curve) <= 20:
        return [n for n, _ in curve]
    last = curve[-1][0]
    return sorted({n for n in (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160) if n < last} | {last})


def _size_rows(curve: Sequence[Point], sizes: Sequence[int]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for n in sizes:
        one = scaling.factor(curve, n, machines.complete())
        whole = None if one.value is None else n * one.value
        rows.append(
            (
                n,
                one.value,
                one.how if one.value is not None else "not known",
                _percent(one.error, one.value),
                whole,
                scaling.capability_ratio(curve, n, sizes[0]),
            )
        )
    return rows


def _deployment_rows(scenario: Scenario, curve: Sequence[Point]) -> list[tuple[Any, ...]]:
    total = scenario["processors"]
    rows: list[tuple[Any, ...]] = []
    first: float | None = None
    for partitions in scenario["partitions"]:
        if partitions > total:
            continue
        one = scaling.deployment(curve, total, partitions, machines.complete())
        first = one.capability if not rows else first
        gain = scaling.ratio(one.capability, first)
        rows.append(
            (
                f"{partitions:,} partition{'s' * (partitions > 1)}",
                " + ".join(f"{one.sizes.count(size):,} x {size:,}" for size in dict.fromkeys(one.sizes)),
                one.sizes[0],
                one.capability,
                None if gain is None else 100 * (gain - 1),
                one.how if one.capability is not None else "not known",
                _percent(one.error, one.capability),
            )
        )
    return rows


def _percent(error: float | None, value: float | None) -> float | None:
    return None if error is None or not value else 100 * error / value


def _along(curve: Sequence[Point], sizes: Sequence[int]) -> list[int]:
    """Places of the chart: some forty between one and the largest of what is asked and what is known."""
    last = max(curve[-1][0], *sizes)
    return sorted({1, last, *sizes, *range(1, last + 1, max(1, last // 40))})
