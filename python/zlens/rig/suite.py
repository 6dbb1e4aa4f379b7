"""Suites: many scenarios, each value of a dimension with each of the others, run at two levels.

Source: IBM, "z/VM 6.4 Performance", z/VM 6.4 Regression Performance.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.errors import ScenarioError
from zlens.models.scenario import ScenarioValues, read
from zlens.models.scenario_keys import key_table
from zlens.rig import batch, definition, jobs
from zlens.rig.definition import Citation, Policy, RigCase, RigDefinition
from zlens.rig.runners import RunData, Runner
from zlens.schema.validators import DocumentErrors

#: The suite that zlens ships.
SHIPPED = definition.FOLDER / "suites" / "regression.toml"


class Suite(Struct, frozen=True):
    """A checked file. rig: its scenarios as cases, its levels as policies; groups: by case."""

    rig: RigDefinition
    groups: dict[str, str | None]


class SuiteRuns(Struct, frozen=True):
    """Completed runs as pairs of the study of regressions, and the errors of others."""

    pairs: list[dict[str, Any]]
    errors: list[str]


def load(file: str) -> Suite:
    """Return a suite; ScenarioError with key, value and cure if it cannot be used."""
    values = read(file)
    problem = DocumentErrors(file, ScenarioError, text=values.text)
    checked = key_table("rig.suite").check(dict(values), "", problem)
    names = [dimension["name"] for dimension in checked["dimension"]]
    if checked["group"] is not None and checked["group"] not in names:
        raise problem.value("group", checked["group"], f"one of {', '.join(names)}")
    cases: list[RigCase] = []
    groups: dict[str, str | None] = {}
    for chosen in itertools.product(*(dimension["value"] for dimension in checked["dimension"])):
        settings: dict[str, Any] = {}
        for value in chosen:
            for key, setting in value["set"].items():
                if key in settings:
                    raise problem.general_error(f"two dimensions set {key}", "leave it out of one")
                settings[key] = setting
        name = ", ".join(value["name"] for value in chosen)
        cases.append(RigCase(name, settings, {}))
        by_dimension = dict(zip(names, chosen, strict=True))
        groups[name] = by_dimension.get(checked["group"], {}).get("name")
    rig = RigDefinition(
        name=Path(file).stem,
        file=file,
        title=checked["title"],
        text=checked["text"],
        area="",
        source=Citation(**checked["source"]),
        scenario=ScenarioValues(checked["scenario"], ""),
        cases=tuple(cases),
        policies=tuple(Policy(**checked[level], judged=True) for level in ("base", "comparison")),
        controls=(),
        observations=(),
        seeds=checked["seeds"],
        chart="bars",
        along="",
        not_reproduced=None,
        toml=values.text,
    )
    definition.check_runs(rig, problem)
    return Suite(rig, groups)


def changed(suite: Suite, settings: Sequence[str]) -> Suite:
    """Return a suite with settings for all its runs; ScenarioError for those that its scenarios set."""
    return Suite(definition.changed(suite.rig, settings), suite.groups)


def run(
    suite: Suite,
    runner: Runner,
    folder: str,
    *,
    seeds: int | None = None,
    workers: int | None = None,
    progress: batch.Progress | None = None,
) -> SuiteRuns:
    """Run all scenarios at both levels. Raises BatchInterrupted after an interrupt; its runs are kept."""
    rig = suite.rig
    wanted = [(rig, jobs.rig_jobs(rig, seeds))]
    done = batch.run(wanted, runner, folder, jobs=workers, progress=progress)
    errors = [f"{one.job.name}: {one.error}" for one in done.values() if one.error is not None]
    runs = {(one.job.case, one.job.variant, one.job.seed): one for one in done.values() if one.error is None}
    base, comparison = (level.name for level in rig.policies)
    pairs = []
    for case in rig.cases:
        seeds_of_base = sorted(seed for name, level, seed in runs if (name, level) == (case.name, base))
        for seed in seeds_of_base:
            if (case.name, comparison, seed) not in runs:
                continue
            name = case.name if len(seeds_of_base) == 1 else f"{case.name}, {seed}"
            pair: dict[str, Any] = {"name": name}
            if suite.groups[case.name] is not None:
                pair["group"] = suite.groups[case.name]
            for key, level in (("base", base), ("comparison", comparison)):
                pair[key] = _run_values(runs[case.name, level, seed].data)
            pairs.append(pair)
    return SuiteRuns(pairs, errors)


def _run_values(data: RunData) -> dict[str, Any]:
    """Return the values of a run in a file of the study."""
    values = {"file": str(Path(data.files[0]).absolute())}
    if data.throughput is not None:
        values["throughput"] = str(Path(data.throughput).absolute())
    return values
