"""The Python API: sessions with queries, reports and findings; simulations and the rig."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from zlens.inputs.options import Options, parse_shift, parse_time_spec, parse_zone
from zlens.inputs.problems import Problem
from zlens.inputs.source import Progress, SystemInfo
from zlens.session.session import CoreSession

if TYPE_CHECKING:
    from random import Random

    from zlens.engine.results import QueryResult
    from zlens.findings.evaluate import FindingsResult
    from zlens.rig.results import RigResult
    from zlens.rig.uncertainty import UncertainResult
    from zlens.simulation.run import SimulationRun
    from zlens.verdict import SystemVerdict


class Report(str):
    """The text of a printed report. In a notebook, its tables."""

    def __new__(cls, text: str, name: str, html: Callable[[], str]) -> Self:
        report = super().__new__(cls, text)
        report._name, report._html = name, html
        return report

    _name: str
    _html: Callable[[], str]

    def __repr__(self) -> str:
        return f"<Report {self._name}: {len(self.splitlines()):,} lines>"

    def _repr_html_(self) -> str:
        # A frame, because the styles of the document would apply to the notebook, too.
        attributes = 'sandbox="allow-scripts" style="width: 100%; height: 40em; border: none"'
        return f'<iframe {attributes} srcdoc="{escape(self._html())}"></iframe>'


class Session:
    """Open inputs. A context manager; `close` frees memory and removes the spill folder.

    The table `problem` has all problems; `problems` has those found so far.
    """

    def __init__(self, core: CoreSession) -> None:
        self._core = core

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the engine; later queries open it again."""
        self._core.close()

    @property
    def options(self) -> Options:
        """The options that the inputs were opened with."""
        return self._core.options

    @property
    def systems(self) -> list[SystemInfo]:
        """Systems of the input that the options select, by name."""
        return self._core.systems

    @property
    def problems(self) -> list[Problem]:
        """Problems found so far, without decoding everything."""
        return self._core.problems

    def sql(self, query: str) -> QueryResult:
        """Run one SELECT over measures, raw tables and roles; raises QueryError if it is invalid.

        The result is a sequence of rows, converts to pandas, Polars and Arrow, and is a table in notebooks.
        """
        from zlens.rendering import notebook

        result = self._core.sql(query)
        result.html = lambda: notebook.result_table(result, self._core)
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
    ) -> Report:
        """Return a classic report, by short name or FCX number, as text, csv, json or html.

        `only` limits it to subjects by name or pattern: a device, some guests. `by_time` also does, and adds
        their rows of every interval. `sort` names a column that sorts the rows, numbers from the highest and
        texts from A; `top` limits the rows over the window and of each interval. Raises QueryError if the
        report has no such rows or column.
        """
        from zlens import reports

        options = reports.ReportOptions(tuple(only), tuple(by_time), sort, top)

        def render(format: str, width: int | None = None) -> str:
            return reports.render(name, self._core, format, width=width, options=options)

        text = render(format, width)
        return Report(text, name, lambda: text if format == "html" else render("html"))

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

        return find(
            self._core,
            classes=classes,
            only=only,
            folders=rules,
            baseline=None if baseline is None else baseline._core,
        )

    def verdict(self, system: str | None = None) -> list[SystemVerdict]:
        """Return the verdict on each system, or on `system`: the causes of its findings, in sentences.

        Each has its `text`, and its clauses with the view of the web UI and the window that prove them.
        """
        from zlens.findings.evaluate import find
        from zlens.verdict import compose, queries

        return compose(find(self._core, later=queries()), system=system)


def simulate(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    output: str | os.PathLike[str],
    *,
    seed: int | None = None,
    hours: float | None = None,
    runs: int = 1,
    policy: str | Callable[[Random], Any] | None = None,
    progress: Progress | None = None,
) -> list[SimulationRun]:
    """Simulate a scenario, a file or its parsed TOML, and write the monitor records of its z/VM systems.

    Each run has its files by system, its throughput file, and a summary: use by partition and user, and
    transactions. Several runs have consecutive seeds and files numbered from 001; they run in processes of
    their own, so the calling program needs `if __name__ == "__main__":`. `policy` decides in place of CP:
    FILE.py:CLASS, or a class with methods of zlens.simulation.custom_policy.CustomPolicy. Raises
    ScenarioError, and InputError if a policy fails.

    >>> import zlens
    >>> [run] = zlens.simulate("shares.toml", "shares.data", hours=0.5)
    >>> zlens.open(list(run.files.values())).report("prclog")
    """
    from zlens.models.scenario import read
    from zlens.simulation import custom_policy, run

    file = None if isinstance(scenario, Mapping) else os.fspath(scenario)
    values = scenario if isinstance(scenario, Mapping) else read(os.fspath(scenario))
    source = custom_policy.find(policy)
    prepared = run.prepare_seeds(values, runs, file=file, seed=seed, hours=hours, policy=source)
    return run.simulate(prepared, os.fspath(output), progress=progress)


def run_rig(
    scenarios: str | Iterable[str],
    output: str | os.PathLike[str],
    *,
    runner: str = "simulate",
    policy: str | Callable[[Random], Any] | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[RigResult]:
    """Run scenarios with known results and compare: files, or names of scenarios that zlens ships.

    `policy` decides in place of CP, as in `simulate`.

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
        rigs, runners.find(runner, policy), os.fspath(output), seeds=seeds, workers=jobs, progress=progress
    )
    folder.write(outcomes, os.fspath(output))
    return outcomes


def run_rig_worlds(
    scenarios: str | Iterable[str],
    output: str | os.PathLike[str],
    worlds: int = 40,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[UncertainResult]:
    """Run scenarios of the rig in many worlds: each draws all assumed constants from their ranges.

    Each result has its `conclusions`: an observation or control, in how many worlds it holds, and the
    constant that it depends on most; and its `bands`: the least, the median and the greatest of each observed
    number. Monitor data are written to the folder `output`; completed runs in it are reused. Runs are
    processes of their own, as in `run_rig`. Raises ScenarioError, and QueryError for less than 5 worlds.

    >>> import zlens
    >>> [result] = zlens.run_rig_worlds("smt-order", "worlds")
    >>> [(one.observation, one.holds, one.worlds, one.depends_on) for one in result.conclusions]
    """
    from zlens.rig import definition, runners, uncertainty

    names = [scenarios] if isinstance(scenarios, str) else list(scenarios)
    return uncertainty.run(
        [definition.find(name) for name in names], runners.find("simulate"), os.fspath(output), worlds,
        seeds=seeds, workers=jobs, progress=progress,
    )  # fmt: skip


def open(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    start: str | dt.datetime | None = None,
    end: str | dt.datetime | None = None,
    shift: str | None = None,
    tz: str | dt.tzinfo | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Session:
    """Open files, folders or patterns.

    `start`, `end` and `shift` select intervals by their end and `tz` is the zone of sources that have only
    local times, as text like on the command line; they replace those of `options`. Times without a zone are
    local times of the system. Raises InputError if nothing in the inputs can be read, QueryError for text
    that is not a time, shift or zone.

    >>> import zlens
    >>> with zlens.open("monwrite.data", start="2026-03-02 09:00", shift="Mon-Fri 08:00-17:00") as session:
    ...     session.sql("SELECT interval_end, busy_pct FROM load").rows
    """
    given: dict[str, Any] = {
        "start": None if start is None else parse_time_spec(str(start)),
        "end": None if end is None else parse_time_spec(str(end)),
        "shift": None if shift is None else parse_shift(shift),
        "tz": parse_zone(tz) if isinstance(tz, str) else tz,
    }
    selected = replace(options or Options(), **{name: value for name, value in given.items() if value})
    names = [paths] if isinstance(paths, str | os.PathLike) else paths
    return Session(CoreSession(names, selected, progress))
