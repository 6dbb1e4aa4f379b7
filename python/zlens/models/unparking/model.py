"""Unparking: number of cores that a system in a vertical partition runs in, by the rules of three systems."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from msgspec.structs import astuple

from zlens.models.published_numbers import number
from zlens.models.scenario import Scenario
from zlens.models.unparking import policies
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable
from zlens.rendering.answer_columns import answer_columns, answer_table
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = "unparking: cores that z/VM runs in (LARGE, MEDIUM, SMALL), and the rules of Linux and z/OS"


#: Constants that the rules of each system use.
_OF = {
    "zvm": (
        "unpark_projection_factor",
        "unpark_projection_base",
        "unparking_model",
        "excessuse_setting",
        "excessuse_high",
        "excessuse_medium",
        "excessuse_low",
        "unpark_pad_beyond_entitlement",
        "unpark_low_powered",
        "unpark_lows_filled",
    ),
    "linux": (),
    "zos": ("wlm_unpark_busy", "wlm_park_busy"),
}
#: Weight of the previous value in the kernel's average of steal time (HD_STEAL_AVG_WEIGHT).
_STEAL_WEIGHT = int(number("linux_steal_weight"))


def solve(scenario: Scenario) -> Answer:
    """Solve by the rules of one system."""
    policy = scenario["policy"]
    cores = _cores(scenario)
    for system, names in _OF.items():
        for name in names if system != policy else ():
            scenario.unused(name)
    answer = {"zvm": _zvm, "linux": _linux, "zos": _zos}[policy](scenario, cores)
    if scenario.title:
        answer.title = scenario.title
    return answer


def _cores(scenario: Scenario) -> policies.VerticalCores:
    error = scenario.error
    share = scenario["medium_share"]
    if scenario["mediums"] and share is None:
        raise error("medium_share is missing: mediums have an entitlement", "add medium_share = 78")
    cores = policies.VerticalCores(scenario["highs"], scenario["mediums"], scenario["lows"], share or 0.0)
    if not cores.online:
        raise error("the partition has no cores", "write highs = 1 or more")
    if scenario["lows_unparked"] > cores.lows:
        raise error(f"lows_unparked is {scenario['lows_unparked']}, but lows is {cores.lows}", "reduce it")
    return cores


def _zvm(scenario: Scenario, cores: policies.VerticalCores) -> Answer:
    sources = [key for key in ("used", "history", "projection") if scenario[key] is not None]
    if len(sources) != 1:
        raise scenario.error(f"use is given {len(sources)} times", "set one of used, history, projection")
    uses: list[float | None] = scenario["history"] or [scenario["used"]]
    projections = [_projection(scenario, used) for used in uses]
    if sources == ["projection"]:
        scenario.unused("unpark_projection_factor")
        scenario.unused("unpark_projection_base")
    solve_rules = _with_data if scenario["global_performance_data"] else _without_data
    return solve_rules(scenario, cores, uses, projections)


def _projection(scenario: Scenario, used: float | None) -> float:
    if used is None:
        return float(scenario["projection"])
    return policies.projected(used, scenario["projection_factor"], scenario["projection_base"])


def _with_data(
    scenario: Scenario,
    cores: policies.VerticalCores,
    uses: Sequence[float | None],
    projections: Sequence[float],
) -> Answer:
    scenario.unused("unpark_pad_beyond_entitlement")
    notes: list[str] = []
    powers, figures = _lows(scenario, cores, notes)
    unparked = [policies.zvm(cores, powers, power, scenario["low_powered"]) for power in projections]
    names = ("LARGE", "MEDIUM", "SMALL")
    counts = {name: [getattr(each, name.lower()) for each in unparked] for name in names}
    effect = scenario["unparking"]
    rows = [_model(name, cores, of_it, uses, name == effect) for name, of_it in counts.items()]
    text = f"unparked by {effect}, the setting in effect"
    figures = [
        AnswerFigure("unparked", fmean(counts[effect]), "cores", text, 1),
        AnswerFigure("projection", fmean(projections), "% of 1", "projected use", 1),
        AnswerFigure("entitlement", cores.entitlement, "% of 1", "entitlement", 1),
        AnswerFigure("powered", float(unparked[0].powered), "cores", "cores that appear powered", 0),
        *figures,
    ]
    if missing := max(result.short for result in unparked):
        notes.append(
            f"the projection exceeds the power of all powered cores by up to {missing:.1f}% of one core: "
            "all of them are unparked, and work waits"
        )
    if len(uses) > 1:
        later = zip(uses[1:], counts["SMALL"][:-1], strict=True)
        late = sum(used is not None and used > 100.0 * small for used, small in later)
        if late:
            notes.append(
                f"SMALL: {late:,} of {len(uses) - 1:,} intervals used more than the cores unparked for them"
            )
    if rows[2][6] is not None and rows[2][6] > 60 and rows[2][1] < rows[0][1]:
        notes.append(
            "With SMALL the remaining cores are busier and virtual CPUs wait longer for dispatch: in IBM's "
            "measurement of 80 processors the servers' mean wait rose from 1.8 to 257 microseconds"
        )
    tables = [
        answer_table("unparking", "models", "Cores by model", rows),
        *_decisions(uses, projections, counts),
    ]
    means = ChartSeries("unparked", [row[1] for row in rows])
    chart = Chart("Unparked cores", "bars", list(counts), (means,), "cores")
    return Answer(
        "unparking", "Unparking of z/VM", tables, figures, [chart, *_over_time(uses, counts)], notes,
        follow=("models", "unparked"),
    )  # fmt: skip


def _decisions(
    uses: Sequence[float | None], projections: Sequence[float], counts: dict[str, list[int]]
) -> list[AnswerTable]:
    """Return the decisions after each interval of a history."""
    if len(uses) < 2:
        return []
    intervals = range(1, len(uses) + 1)
    rows = list(zip(intervals, uses, projections, *counts.values(), strict=True))
    leading = answer_columns("unparking", "decisions")
    columns = (*leading, *(AnswerColumn(name.lower(), name, "cores") for name in counts))
    return [AnswerTable("decisions", "Decisions, one after each interval of two seconds", columns, rows)]


def _over_time(uses: Sequence[float | None], counts: dict[str, list[int]]) -> list[Chart]:
    if len(uses) < 2:
        return []
    times = [policies.ZVM_SECONDS * index for index in range(1, len(uses) + 1)]
    series = [ChartSeries("used", [None if used is None else used / 100 for used in uses])]
    series += [ChartSeries(name, [float(count) for count in of_it]) for name, of_it in counts.items()]
    return [Chart("Use and unparked cores", "lines", times, tuple(series), "cores", "seconds")]


def _lows(
    scenario: Scenario, cores: policies.VerticalCores, notes: list[str]
) -> tuple[list[float], list[AnswerFigure]]:
    """Return the power that each vertical-low appears to have."""
    error = scenario.error
    setting = scenario["excessuse"]
    sources = [key for key in ("excess", "lows_power") if scenario[key] is not None]
    sources += ["partition"] if scenario["partition"] else []
    if len(sources) > 1:
        raise error(f"{' and '.join(sources)} are alternatives", "keep one of them")
    for level in ("HIGH", "MEDIUM", "LOW"):
        if level != setting or sources in ([], ["lows_power"]) or not cores.lows:
            scenario.unused(f"excessuse_{level.lower()}")
    if not cores.lows:
        for name in ("excessuse_setting", "unpark_low_powered", "unpark_lows_filled"):
            scenario.unused(name)
    power = scenario["lows_power"]
    if power is not None:
        if len(power) != cores.lows:
            raise error(f"lows_power has {len(power)} values, but lows is {cores.lows}", "set one for each")
        scenario.unused("unpark_lows_filled")
        scenario.unused("excessuse_setting")
        return [0.0] * cores.lows if setting == "NONE" else power, []
    excess, figures = scenario["excess"], []
    if scenario["partition"]:
        if scenario["weight"] is None:
            raise error("weight is missing: excess is shared by weight", "add weight = 100")
        others = [
            (one["weight"], one["entitlement"], one["used"], max(one["demand"] or 0.0, one["used"]))
            for one in scenario["partition"]
        ]
        spare, excess = policies.excess_power(scenario["weight"], 100.0 * cores.lows, others)
        figures = [AnswerFigure("spare", spare, "% of 1", "entitlement that the others leave", 1)]
    if excess is None:
        if cores.lows:
            notes.append("no excess power is given: vertical-lows count as having no power")
        for name in ("excessuse_setting", "unpark_low_powered", "unpark_lows_filled"):
            scenario.unused(name)
        return [0.0] * cores.lows, figures
    counted = 0.0 if setting == "NONE" else excess * scenario[f"excessuse_{setting.lower()}"] / 100
    figures += [
        AnswerFigure("excess", excess, "% of 1", "excess power for this partition", 1),
        AnswerFigure("counted", counted, "% of 1", f"excess that EXCESSUSE {setting} counts on", 1),
    ]
    return policies.low_power(counted, cores.lows, evenly=scenario["lows_filled"] == "evenly"), figures


def _without_data(
    scenario: Scenario,
    cores: policies.VerticalCores,
    uses: Sequence[float | None],
    projections: Sequence[float],
) -> Answer:
    """Solve with Global Performance Data off: projection and CPUPAD."""
    for name in _OF["zvm"][2:]:
        if name != "unpark_pad_beyond_entitlement":
            scenario.unused(name)
    if cores.lows:
        scenario.assume("unpark_lows_without_data")
    pad, beyond = scenario["cpupad"], scenario["pad_beyond_entitlement"]
    with_pad = [policies.add_pad(each, pad, cores.entitlement, beyond=beyond) for each in projections]
    if all(projection + pad <= cores.entitlement for projection in projections):
        scenario.unused("unpark_pad_beyond_entitlement")
    counts = [policies.zvm_without_gpd(cores, power) for power in with_pad]
    row = _model("GPD off", cores, counts, uses, True)
    figures = [
        AnswerFigure("unparked", fmean(counts), "cores", "unparked", 1),
        AnswerFigure("projection", fmean(projections), "% of 1", "projected use", 1),
        AnswerFigure("padded", fmean(with_pad), "% of 1", "with CPUPAD", 1),
        AnswerFigure("entitlement", cores.entitlement, "% of 1", "entitlement", 1),
    ]
    notes = [
        "without Global Performance Data z/VM goes by its own use and CPUPAD: "
        "UNPARKING and EXCESSUSE have no effect"
    ]
    table = answer_table("unparking", "models", "Cores", [row])
    by_name = {"Unparked": counts}
    charts, tables = _over_time(uses, by_name), [table, *_decisions(uses, projections, by_name)]
    title = "Unparking of z/VM without Global Performance Data"
    follow = ("models", "unparked")
    return Answer("unparking", title, tables, figures, charts, notes, follow=follow)


def _model(
    name: str,
    cores: policies.VerticalCores,
    counts: Sequence[int],
    uses: Sequence[float | None],
    in_effect: bool,
) -> tuple[Any, ...]:
    """Return the row of means over the decisions; cores count as highs, then mediums, then lows."""
    mean = fmean(counts)
    reported = [used for used in uses if used is not None]
    busy = min(100.0, fmean(reported) / mean) if reported and mean else None
    highs = fmean(min(count, cores.highs) for count in counts)
    mediums = fmean(min(max(0, count - cores.highs), cores.mediums) for count in counts)
    lows = fmean(max(0, count - cores.entitled) for count in counts)
    return (name, mean, highs, mediums, lows, cores.online - mean, busy, in_effect)


def _linux(scenario: Scenario, cores: policies.VerticalCores) -> Answer:
    if scenario["steal"] is None:
        raise scenario.error("steal is missing: Linux decides by it", "add steal = [0, 10, 40]")
    threshold = scenario["steal_threshold"]
    ticks = policies.linux(cores.entitled, cores.online, scenario["steal"], threshold, _STEAL_WEIGHT)
    times = [policies.LINUX_SECONDS * index for index in range(1, len(ticks) + 1)]
    rows = [
        (index, time, *astuple(tick)) for index, (time, tick) in enumerate(zip(times, ticks, strict=True), 1)
    ]
    states = [cores.online, *(tick.cores for tick in ticks)]
    changes = [index for index, (previous, current) in enumerate(pairwise(states), 1) if previous != current]
    first = policies.LINUX_SECONDS * changes[0] if changes else None
    figures = [
        AnswerFigure("unparked", float(ticks[-1].cores), "cores", "cores of high capacity at the end", 0),
        AnswerFigure("entitled", float(cores.entitled), "cores", "cores with entitlement", 0),
        AnswerFigure("changes", float(len(changes)), "", "number of changes", 0),
        AnswerFigure("first_change", first, "s", "first change after", 2),
    ]
    notes = ["Linux parks no core: vertical-lows of low capacity get work last"]
    if not cores.entitled or not cores.lows:
        notes.append(
            "without entitled cores, or without vertical-lows, the kernel leaves all cores at high capacity"
        )
    elif not changes and threshold <= max(tick.steal for tick in ticks) < threshold + _STEAL_WEIGHT - 1:
        out = threshold + _STEAL_WEIGHT - 1
        notes.append(
            f"the average is truncated to full percent and stops up to {_STEAL_WEIGHT - 1} points below a "
            f"constant steal time: {f'from {out}% on steady steal' if out <= 100 else 'no steady steal'} "
            f"removes vertical-lows, and below {threshold}% restores them"
        )
    series = (
        ChartSeries("steal", [float(tick.steal) for tick in ticks]),
        ChartSeries("average", [float(tick.average) for tick in ticks]),
    )
    chart = Chart("Steal, and the kernel's average of it", "lines", times, series, "%", "seconds")
    table = answer_table("unparking", "ticks", "Quarters of a second", rows)
    return Answer("unparking", "Hiperdispatch of Linux", [table], figures, [chart], notes)


def _zos(scenario: Scenario, cores: policies.VerticalCores) -> Answer:
    if not scenario["interval"]:
        raise scenario.error("interval is missing: WLM decides by past use", "add [[interval]]")
    limits = policies.Wlm(scenario["wlm_unpark_busy"], scenario["wlm_park_busy"])
    scenario.assume("wlm_order")
    lows = scenario["lows_unparked"]
    rows = []
    for index, values in enumerate(scenario["interval"], 1):
        interval = policies.WlmInterval(**values)
        decision = policies.zos(cores, lows, interval, limits)
        lows = decision.lows
        busy, used, free = interval.busy, interval.used, interval.free
        counts = (lows, cores.entitled + lows)
        rows.append((index, busy, used, used - cores.entitlement, free, *counts, decision.why))
    figures = [
        AnswerFigure("unparked", float(rows[-1][6]), "cores", "unparked at the end", 0),
        AnswerFigure("lows", float(lows), "cores", "vertical-lows of them", 0),
        AnswerFigure("guaranteed", cores.entitlement, "% of 1", "guaranteed capacity", 1),
    ]
    notes = ["WLM never parks vertical-highs and -mediums; these rules do not cover capping by PR/SM"]
    table = answer_table("unparking", "intervals", "Intervals of two seconds", rows)
    return Answer("unparking", "HiperDispatch of z/OS", [table], figures, [], notes)
