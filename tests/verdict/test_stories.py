"""Tests of verdicts on simulated stories with known causes, the demo and RMF data, as expected texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from story_builder import HOURS, STORIES

import expected
import zlens
from rmf_builder import CPU_HEADS, document, half_hours, part, segment, table, variables
from samples import sample
from zlens.catalog.peaks import SubjectGroup
from zlens.catalog.rules import CLASSES
from zlens.compiler.query_plan import TableStep
from zlens.engine.table_store import TableStore
from zlens.findings.evaluate import find
from zlens.inputs.options import Options, parse_zone
from zlens.session.session import CoreSession
from zlens.verdict import SystemVerdict, compose, queries
from zlens.verdict.growth import Window, rates

TEXTS = Path(__file__).parent / "stories"
Z15 = sample("rmf/rmf-postprocessor-cpu-8562-z15.xml")
ZONE = Options(tz=parse_zone("Europe/Berlin"))


def verdicts(*paths: str | Path, classes: Sequence[str] | None = None) -> list[SystemVerdict]:
    with CoreSession([*map(str, paths)], ZONE) as session:
        return compose(find(session, classes=classes))


def simulated(name: str, folder: Path) -> Path:
    [run] = zlens.simulate(STORIES[name], folder / f"{name}.monwrite", hours=HOURS)
    [path] = run.files.values()
    return Path(path)


def as_text(found: Sequence[SystemVerdict]) -> str:
    """Return a line for each sentence, below the name of each system."""

    def lines(verdict: SystemVerdict) -> list[str]:
        texts = ["".join(f"{clause.before}{clause.text}" for clause in part) for part in verdict.sentences]
        return [verdict.system, *(f"  {text}." for text in texts)]

    return "".join(f"{line}\n" for verdict in found for line in lines(verdict))


@pytest.mark.parametrize("name", STORIES)
def test_verdict_states_story(name: str, tmp_path: Path) -> None:
    expected.check(TEXTS / f"{name}.txt", as_text(verdicts(simulated(name, tmp_path))))


def test_finding_explains_other_findings(tmp_path: Path) -> None:
    """Busy processors make guests wait: rules of thumb, so only with all classes."""
    found = verdicts(simulated("one-cause", tmp_path), classes=[*CLASSES])
    expected.check(TEXTS / "chain.txt", as_text(found))


def test_verdict_of_zvm_demo(demo_files: list[Path]) -> None:
    monwrite, _, _, sim = demo_files
    expected.check(TEXTS / "demo.txt", as_text(verdicts(monwrite, sim)))


def test_verdict_of_zos_demo(demo_files: list[Path]) -> None:
    _, rmf, smf, _ = demo_files
    texts = [as_text(verdicts(path, classes=[*CLASSES])) for path in (rmf, smf)]
    expected.check(TEXTS / "zos.txt", "".join(texts))


def cpu_activity(*, is_reduced: bool) -> str:
    """Return the CPU Activity report of a half-hour, with or without reduced capacity."""
    busy, within = ("97.10", "18.0") if is_reduced else ("41.00", "95.0")
    machine = {"CPU": "3931", "Model": "704", "CPC Capacity": "70" if is_reduced else "100"}
    online = {"Avg Number of Processors Online and Unparked (N)": "1.0"}
    return segment(
        "CPU Activity",
        part(
            variables({**machine, "Change Reason": "POWER" if is_reduced else "NONE"})
            + table(CPU_HEADS, [f"0|CP|100.00|{busy}|120.0|HIGH"])
        ),
        part(
            variables(online)
            + table(["Number of Work Units", "% of Samples"], [f"&lt;=N|{within}", "=N+1|1.0"]),
            "Distribution of In-ready Work Unit Queue",
        ),
    )


def test_verdict_of_rmf_day(tmp_path: Path) -> None:
    """A day of half-hours, of which the machine has reduced capacity from noon to three."""
    usual, reduced = (
        half_hours(48, body=cpu_activity(is_reduced=is_reduced)) for is_reduced in (False, True)
    )
    path = tmp_path / "cpu.xml"
    path.write_text(document(*usual[:6], *reduced[6:12], *usual[12:]))
    expected.check(TEXTS / "rmf-day.txt", as_text(verdicts(path)))


@pytest.mark.skipif(not Z15.exists(), reason="without samples")
def test_verdict_of_rmf_days() -> None:
    expected.check(TEXTS / "rmf-z15.txt", as_text(verdicts(Z15, classes=[*CLASSES])))


def test_use_is_read_once_for_each_window(demo_files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Effects of one cause share the window before them."""
    windows: list[tuple[str, Window]] = []

    def counted(
        session: CoreSession, system: str, group: SubjectGroup, window: Window
    ) -> Mapping[tuple[Any, ...], float]:
        windows.append((group.key, window))
        return rates(session, system, group, window)

    # The package has a function of the same name.
    monkeypatch.setattr(import_module("zlens.verdict.compose"), "rates", counted)
    verdicts(demo_files[3])
    assert len(windows) > 2
    assert len(windows) == len({*windows})


def test_rules_and_verdict_share_tables(demo_files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of partitions, processors and guests that verdicts read are computed once, with the rules."""
    tables: list[str] = []
    create = TableStore._create

    def counted(store: TableStore, step: TableStep) -> None:
        tables.append(step.table)
        create(store, step)

    monkeypatch.setattr(TableStore, "_create", counted)
    monwrite = demo_files[0]
    with CoreSession([str(monwrite)], ZONE) as session:
        found = as_text(compose(find(session, later=queries())))
    computed = [*tables]
    assert found == as_text(verdicts(monwrite))
    shared = {"partition", "cec", "cpu", "guest"}
    assert [computed.count(table) for table in shared] == [1] * len(shared)
    # Without `later`, the verdict computes some of them again.
    assert max(map(tables[len(computed) :].count, shared)) > 1
