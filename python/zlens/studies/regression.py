"""Regression study: throughput ratios of many workloads before and after a change.

Source: IBM, "z/VM 6.4 Performance": of some 120 workloads mean and standard deviation of the ratios of ETR
and ITR, comparison / base; "z/VM Performance Update" (2013): "within usual 5% regression criteria".
"""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from zlens.models.optional_numbers import product, ratio
from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable, Value
from zlens.rendering.answer_columns import answer_columns
from zlens.rendering.charts import MOST_BARS, Chart, ChartSeries
from zlens.studies.measurement import MeasuredRun, resolve_path
from zlens.studies.notes import AS_PUBLISHED, machine_note, run_notes, shorten_list, shorten_notes
from zlens.studies.ratio_statistics import outlier_scores, ratio_spread
from zlens.studies.run_keys import run_of
from zlens.studies.run_tables import other_numbers, window
from zlens.studies.runs import WorkloadRun

SUMMARY = "many workloads before and after a change: mean and spread of their ratios, outliers"
SPEC = key_table("regression.scenario")


class RunPair(Struct, frozen=True):
    """A workload before and after a change. runs: the runs of its ratios; empty if the ratios are given."""

    name: str
    group: str | None
    etrr: float | None
    itrr: float | None
    runs: tuple[WorkloadRun, ...] = ()
    measured: tuple[MeasuredRun | None, ...] = ()

    def verdict(self, criterion: float) -> str:
        """Return worse, within or better by the criterion in percent; the worse of the two ratios counts."""
        ratios = [ratio for ratio in (self.etrr, self.itrr) if ratio is not None]
        if min(ratios) < 1 - criterion / 100 - _ROUNDING:
            return "worse"
        return "better" if max(ratios) > 1 + criterion / 100 + _ROUNDING else "within"


#: Minimum number of pairs for outlier detection.
_FEWEST = 5
#: 1.05 is within 5% despite rounding errors.
_ROUNDING = 1e-9


def solve(scenario: Scenario, *, as_published: bool = False) -> Answer:
    pairs = _pairs(scenario, as_published)
    criterion, max_score = scenario["criterion"], scenario["outlier_score"]
    scores = [
        *zip(pairs, outlier_scores([pair.etrr for pair in pairs]), strict=True),
        *zip(pairs, outlier_scores([pair.itrr for pair in pairs]), strict=True),
    ]
    outlying = {pair.name for pair, score in scores if score is not None and abs(score) > max_score}
    outliers = outlying if len(pairs) >= _FEWEST else set()
    verdicts = [pair.verdict(criterion) for pair in pairs]
    runs = [each for pair in pairs for each in zip(pair.runs, pair.measured, strict=True)]
    tables = [
        _summary(pairs, outliers),
        _groups(pairs, criterion),
        _table(pairs, verdicts, outliers),
        other_numbers([run for run, _ in runs]),
        window([(run.name, measured) for run, measured in runs if measured is not None]),
    ]
    return Answer(
        "regression",
        scenario.title or "A regression study",
        [table for table in tables if table is not None],
        list(_figures(pairs, verdicts)),
        [_chart(pairs)],
        list(_notes(pairs, verdicts, outliers, criterion, as_published)),
    )


def _pairs(scenario: Scenario, as_published: bool) -> list[RunPair]:
    pairs: list[RunPair] = []
    seen: set[str] = set()
    problem = scenario.problem
    for location, values in _expand_patterns(scenario):
        name = values["name"]
        if name in seen:
            raise problem.general_error(f'{location}.name is a duplicate: "{name}"', "use unique names")
        seen.add(name)
        sides = [(side, values[side]) for side in ("base", "comparison") if values[side] is not None]
        ratios = [key for key in ("etrr", "itrr") if values[key] is not None]
        if sides and ratios:
            cure = f"leave out {ratios[0]}, which follows from the runs"
            raise problem.general_error(f"{location} has {ratios[0]} and runs", cure)
        if not sides and not ratios:
            expected = "base and comparison, or etrr and itrr"
            raise problem.general_error(f"{location} has no ratio", "add them", expected)
        if not sides:
            pairs.append(RunPair(name, values["group"], values["etrr"], values["itrr"]))
            continue
        if len(sides) == 1:
            missing = "comparison" if sides[0][0] == "base" else "base"
            raise problem.general_error(f"{location}.{missing} is missing", f"add {missing}")
        found = []
        for side, given in sides:
            place, shown = f"{location}.{side}", f"{name}, {side}"
            found.append(run_of(given, place, problem, name=shown, as_published=as_published))
        runs, measured = zip(*found, strict=True)
        base, comparison = runs
        etrr, itrr = ratio(comparison.etr, base.etr), ratio(comparison.itr, base.itr)
        if etrr is None and itrr is None:
            raise problem.general_error(
                f"{location}, {name}, has no throughput for both runs",
                f"add {location}.base.etr and {location}.comparison.etr",
                "etr of both, or itr, or files with throughput",
            )
        pairs.append(RunPair(name, values["group"], etrr, itrr, runs, measured))
    return pairs


def _expand_patterns(scenario: Scenario) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each pair with its location; patterns of files as the pairs of files that match."""
    problem = scenario.problem
    for number, values in enumerate(scenario["pair"], 1):
        location = f"pair[{number}]"
        patterns = {side: (values[side] or {}).get("file") or "" for side in ("base", "comparison")}
        if not any("*" in pattern for pattern in patterns.values()):
            yield location, values
            continue
        found = {side: _matching_files(pattern, problem.file) for side, pattern in patterns.items()}
        for side, other in (("base", "comparison"), ("comparison", "base")):
            if not found[side]:
                raise problem.general_error(
                    f"{location}.{side}.file matches no file: {patterns[side]!r}",
                    expected="a file name with * for what differs between pairs",
                )
            for texts, file in found[side].items():
                if texts not in found[other]:
                    raise problem.general_error(
                        f"{location}: {file} has no partner among {patterns[other]!r}",
                        expected=f"a file with {', '.join(map(repr, texts))} in place of *",
                    )
        for texts in found["base"]:
            sides = {side: values[side] | {"file": found[side][texts]} for side in found}
            yield location, values | {"name": " ".join([values["name"], *texts])} | sides


def _matching_files(pattern: str, base_file: str | None) -> dict[tuple[str, ...], str]:
    """Return the files that match a pattern, by the texts in place of each *; relative as the pattern is."""
    parts = pattern.split("*")
    expression = re.compile("([^/]*)".join(map(re.escape, parts)))
    folder = resolve_path("", base_file)
    escaped = "*".join(map(glob.escape, parts))
    names = sorted(glob.glob(escaped, root_dir=folder or None))
    return {match.groups(): name for name in names if (match := expression.fullmatch(name))}


def _chart(pairs: Sequence[RunPair]) -> Chart:
    """Return bars of each pair, or the sorted ratios if there are too many pairs."""
    title = "Comparison in percent of the base"
    if len(pairs) <= MOST_BARS:
        series = (
            ChartSeries("ETR", [product(100, pair.etrr) for pair in pairs]),
            ChartSeries("ITR", [product(100, pair.itrr) for pair in pairs]),
        )
        return Chart(title, "bars", [pair.name for pair in pairs], series, "%")
    positions = [float(position) for position in range(1, len(pairs) + 1)]
    ordered = []
    for _, heading, values in _known_ratios(pairs):
        rising: list[float | None] = [100 * value for value in sorted(values)]
        ordered.append(ChartSeries(heading, rising + [None] * (len(positions) - len(rising))))
    along = "pairs, each ratio separately"
    return Chart(f"{title}, in order", "lines", positions, tuple(ordered), "%", along)


def _figures(pairs: Sequence[RunPair], verdicts: Sequence[str]) -> Iterator[AnswerFigure]:
    for key, heading, values in _known_ratios(pairs):
        spread = ratio_spread(values)
        yield AnswerFigure(f"{key}_mean", spread.mean, "", f"{heading} ratio, mean", 3)
        text = f"{heading} ratio, standard deviation"
        yield AnswerFigure(f"{key}_deviation", spread.deviation, "", text, 3)
    worse = float(verdicts.count("worse"))
    yield AnswerFigure("worse", worse, f"of {len(pairs):,}", "Worse than the criterion", 0)


def _known_ratios(pairs: Sequence[RunPair]) -> Iterator[tuple[str, str, list[float]]]:
    yield "etrr", "ETR", [pair.etrr for pair in pairs if pair.etrr is not None]
    yield "itrr", "ITR", [pair.itrr for pair in pairs if pair.itrr is not None]


_SPREAD = answer_columns("studies", "spread")


def _without(pairs: Sequence[RunPair], names: Collection[str]) -> list[RunPair]:
    return [pair for pair in pairs if pair.name not in names]


def _summary(pairs: Sequence[RunPair], outliers: Collection[str]) -> AnswerTable:
    sets = [("ratio", pairs)]
    if outliers:
        sets.append(("ratio, without outliers", _without(pairs, outliers)))
    rows = [
        (f"{heading} {what}", *astuple(ratio_spread(values)))
        for what, some in sets
        for _, heading, values in _known_ratios(some)
    ]
    columns = (AnswerColumn("ratio", "Ratio"), *_SPREAD)
    return AnswerTable("summary", "Ratios, comparison / base", columns, rows)


def _groups(pairs: Sequence[RunPair], criterion: float) -> AnswerTable | None:
    groups = list(dict.fromkeys(pair.group for pair in pairs))
    if groups == [None]:
        return None
    columns = (
        AnswerColumn("group", "Group"),
        AnswerColumn("ratio", "Ratio"),
        *_SPREAD,
        AnswerColumn("worse", "Worse", decimals=0),
    )
    rows: list[tuple[Value, ...]] = []
    for group in groups:
        group_pairs = [pair for pair in pairs if pair.group == group]
        worse = sum(pair.verdict(criterion) == "worse" for pair in group_pairs)
        rows += [
            (group, heading, *astuple(ratio_spread(values)), worse)
            for _, heading, values in _known_ratios(group_pairs)
        ]
    return AnswerTable("groups", "By group", columns, rows)


def _table(pairs: Sequence[RunPair], verdicts: Sequence[str], outliers: Collection[str]) -> AnswerTable:
    columns = answer_columns("studies", "pairs")
    rows: list[tuple[Value, ...]] = []
    for pair, verdict in zip(pairs, verdicts, strict=True):
        base_s, comparison_s = (run.cpu_s for run in pair.runs) if pair.runs else (None, None)
        ratios = (pair.etrr, pair.itrr, ratio(comparison_s, base_s))
        is_outlier = pair.name in outliers if len(pairs) >= _FEWEST else None
        rows.append((pair.name, pair.group, *ratios, verdict, is_outlier))
    used = [
        column.key in _ALWAYS or any(row[index] is not None for row in rows)
        for index, column in enumerate(columns)
    ]
    shown = [tuple(compress(row, used)) for row in rows]
    return AnswerTable("pairs", "Pairs", tuple(compress(columns, used)), shown)


_ALWAYS = ("pair", "etrr", "itrr")


def _notes(
    pairs: Sequence[RunPair],
    verdicts: Sequence[str],
    outliers: Collection[str],
    criterion: float,
    as_published: bool,
) -> Iterator[str]:
    within = verdicts.count("within")
    yield (
        f"{within:,} of {len(pairs):,} pairs are within {criterion:g}% in all known ratios; "
        f"{verdicts.count('better'):,} are better and {verdicts.count('worse'):,} worse."
    )
    for key, heading, values in _known_ratios(pairs):
        mean = ratio_spread(values).mean
        if mean is not None and len(values) > 1:
            is_outside = abs(mean - 1) > criterion / 100 + _ROUNDING
            yield f"The mean {heading} ratio is {'not ' * is_outside}within {criterion:g}% of 1."
        yield from _outlier_note(key, heading, pairs, outliers)
    if outliers:
        names = [pair.name for pair in pairs if pair.name in outliers]
        yield f"Look at the outliers one by one: {shorten_list(names, '; ')}."
    if len(pairs) < _FEWEST:
        yield "With so few pairs mean and deviation mean little, and outliers cannot be detected."
    yield from shorten_notes(_pair_notes(pairs))
    if as_published:
        yield AS_PUBLISHED


def _pair_notes(pairs: Sequence[RunPair]) -> Iterator[str]:
    for pair in pairs:
        yield from run_notes(list(zip(pair.runs, pair.measured, strict=True)))
        yield from machine_note(pair.measured, f"{pair.name}: the runs")
        # Measured numbers are means whose last digits may differ.
        sizes = [run.processors for run in pair.runs if run.processors is not None]
        if len(sizes) > 1 and abs(sizes[0] - sizes[1]) > 0.05:
            yield (
                f"{pair.name}: the runs have different numbers of processors, so the ITR ratio does not "
                "show efficiency."
            )


def _outlier_note(
    key: str, heading: str, pairs: Sequence[RunPair], outliers: Collection[str]
) -> Iterator[str]:
    """Yield a note if a few outliers cause most of the deviation."""
    if not outliers:
        return
    of_all, of_rest = (
        ratio_spread([value for pair in some if (value := getattr(pair, key)) is not None]).deviation
        for some in (pairs, _without(pairs, outliers))
    )
    if of_all and of_rest is not None and of_rest < of_all / 2:
        yield (
            f"The deviation of the {heading} ratio, {of_all:.3f}, is mostly due to outliers; "
            f"without them it is {of_rest:.3f}."
        )
