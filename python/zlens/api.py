"""The Python API: sessions with queries, reports and findings; simulations and the rig."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zlens.inputs.options import Options
from zlens.inputs.source import Progress
from zlens.session import session

if TYPE_CHECKING:
    from zlens.engine.results import QueryResult
    from zlens.findings.evaluate import FindingsResult
    from zlens.rig.results import RigResult
    from zlens.simulation.run import SimulationRun


class Session(session.CoreSession):
    """Open inputs. A context manager; `close` frees memory and removes the spill folder."""

    def sql(self, query: str) -> QueryResult:
        """Run one SELECT over measures, raw tables and roles; raises QueryError if it is invalid.

        The result has `rows`, exports Arrow to pandas, Polars and others, and is a table in notebooks.
        """
        from zlens.rendering import notebook

        result = super().sql(query)
        result.html = lambda: notebook.table(result, self)
        return result

    def report(
        self,
        name: str,
        format: str = "text",
        *,
        width: int | None = None,
        only: Sequence[str] = (),
        by_time: Sequence[str] = (),
        sort: str | None = None,
        top: int | None = None,
    ) -> str:
        """Return a classic report, by short name or FCX number, as text, csv, json or html.

        `only` limits it to subjects by name or pattern: a device, some guests. `by_time` also does, and adds
        their rows of every interval. `sort` names a column that sorts the rows, numbers from the highest and
        texts from A; `top` limits the rows over the window and of each interval. Raises QueryError if the
        report has no such rows or column.
        """
        from zlens import reports

        options = reports.ReportOptions(tuple(only), tuple(by_time), sort, top)
        return reports.render(name, self, format, width=width, options=options)

    def findings(
        self,
        *,
        classes: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        rules: Iterable[str | os.PathLike[str]] = (),
        baseline: Session | None = None,
    ) -> FindingsResult:
        """Return the findings, worst first: rules of the catalog, of the user and of the folders `rules`.

        zlens' own rules of thumb (class `heuristic`) apply only if `classes` names that class, `only` names
        the rule, or a baseline was better.
        """
        from zlens.findings.evaluate import find

        return find(self, classes=classes, only=only, folders=rules, baseline=baseline)


def simulate(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    output: str | os.PathLike[str],
    *,
    seed: int | None = None,
    hours: float | None = None,
    runs: int = 1,
    progress: Progress | None = None,
) -> list[SimulationRun]:
    """Simulate a scenario, a file or its parsed TOML, and write the monitor records of its z/VM systems.

    Each run has its files by system, its throughput file, and a summary: use by partition and user, and
    transactions. Several runs have consecutive seeds and files numbered from 001; they run in processes of
    their own, so the calling program needs `if __name__ == "__main__":`. Raises ScenarioError.

    >>> import zlens
    >>> [run] = zlens.simulate("shares.toml", "shares.data", hours=0.5)
    >>> zlens.open(list(run.files.values())).report("prclog")
    """
    from zlens.models.scenario import read
    from zlens.simulation import run

    file = None if isinstance(scenario, Mapping) else os.fspath(scenario)
    values = scenario if isinstance(scenario, Mapping) else read(os.fspath(scenario))
    prepared = run.prepare_seeds(values, runs, file=file, seed=seed, hours=hours)
    return run.simulate(prepared, os.fspath(output), progress=progress)


def run_rig(
    scenarios: str | Iterable[str],
    output: str | os.PathLike[str],
    *,
    runner: str = "simulate",
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[RigResult]:
    """Run scenarios with known results and compare: files, or names of scenarios that zlens ships.

    Monitor data, report.html and results.json are written to the folder `output`; completed runs in it are
    reused. Each result has its rig, its outcomes with their verdicts, and `passed`. Runs are processes of
    their own, so the calling program needs `if __name__ == "__main__":`. Raises ScenarioError and QueryError.

    >>> import zlens
    >>> [result] = zlens.run_rig("unequal-shares", "rig")
    >>> result.passed
    """
    from zlens.rig import definition, folder, results, runners

    names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
    rigs = [definition.find(name) for name in names]
    outcomes = results.run(
        rigs, runners.find(runner), os.fspath(output), seeds=seeds, workers=jobs, progress=progress
    )
    folder.write(outcomes, os.fspath(output))
    return outcomes


def open(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open files, folders or patterns. Raises InputError if nothing in them can be read.

    >>> import zlens
    >>> with zlens.open("monwrite.data") as session:
    ...     session.sql("SELECT interval_end, busy_pct FROM load").rows
    """
    names = [paths] if isinstance(paths, str | Path | os.PathLike) else list(paths)
    return Session(names, options, progress)
