"""Tests that a repeated input of any reader counts once and is reported.

Where a format allows it, one file has the bytes twice; otherwise a second file has other bytes of the same
meaning. Sources without times have no duplicates: perf runs without a start time are consecutive runs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import test_dds
import test_hmc
import test_linux_counters as linux

import rmf_builder
import sysinfo_builder
import zlens
import zos_samples
from iterations import quick_subset
from lake_builder import Table, differences, tables_of
from zlens import reports
from zlens.api import Session
from zlens.catalog import measures as metrics
from zlens.catalog.reports import definition
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_zone

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
#: Measures of files, not of their data.
OF_FILES = ("system", "problem")
ZONE = Options(tz=parse_zone("+01:00"))

#: Inputs with the data once, and with the data twice.
Made = tuple[list[Path], list[Path]]


def joined(folder: Path, name: str, data: bytes) -> Made:
    """Write the data once to one file and twice to another."""
    paths = [folder / "once" / name, folder / "twice" / name]
    for count, path in enumerate(paths, 1):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data * count)
        # Messages without a date have the date of the file.
        os.utime(path, (test_dds.FIRST_S,) * 2)
    return [paths[0]], [paths[1]]


def apart(folder: Path, name: str, data: bytes, again: bytes) -> Made:
    """Write the data, and a second file with the same data in other bytes."""
    one, _ = joined(folder, name, data)
    other = folder / f"again-{name}"
    other.write_bytes(again)
    return one, [*one, other]


def printed(name: str) -> Callable[[Path, Session, Session], Made]:
    def build(folder: Path, zvm: Session, zos: Session) -> Made:
        text = reports.render(name, (zos if name.startswith(("rmf", "work")) else zvm)._core)
        return joined(folder, f"{name}.txt", (text + "\n").encode())

    return build


def published(name: str) -> Callable[[Path, Session, Session], Made]:
    return lambda folder, zvm, zos: joined(folder, name, (FOLDER / name).read_bytes() + b"\n")


def text(name: str, data: str, again: str | None = None) -> Callable[[Path, Session, Session], Made]:
    if again is None:
        return lambda folder, zvm, zos: joined(folder, name, data.encode())
    return lambda folder, zvm, zos: apart(folder, name, data.encode(), again.encode())


def of_demo(place: int) -> Callable[[Path, Session, Session], Made]:
    def build(folder: Path, zvm: Session, zos: Session) -> Made:
        session = zos if place else zvm
        path = Path(session.systems[0].files[0])
        return joined(folder, path.name, path.read_bytes())

    return build


def xml(folder: Path, zvm: Session, zos: Session) -> Made:
    texts = rmf_builder.half_hours(2)
    once, _ = joined(folder, "report.xml", rmf_builder.document(*texts).encode())
    (folder / "twice" / "report.xml").write_text(rmf_builder.document(*texts, *texts))
    return once, [folder / "twice" / "report.xml"]


def monitor3(folder: Path, zvm: Session, zos: Session) -> Made:
    answers = [rmf_builder.monitor3(), rmf_builder.monitor3("140320")]
    once, twice = joined(folder, "answers.xml", rmf_builder.document(*answers).encode())
    twice[0].write_text(rmf_builder.document(*answers, *answers))
    return once, twice


def sysinfo(folder: Path, zvm: Session, zos: Session) -> Made:
    texts = sysinfo_builder.texts()
    return apart(folder, "made.tar", sysinfo_builder.tar(texts), sysinfo_builder.tar(texts, packed=True))


def stamped(scrape: str, moment_s: int) -> str:
    """Return a scrape whose samples have a timestamp."""
    lines = scrape.splitlines()
    return "".join(f"{line}\n" if line[0] == "#" else f"{line} {moment_s}000\n" for line in lines)


CASES: dict[str, Callable[[Path, Session, Session], Made]] = {
    "monwrite": of_demo(0),
    "smf": of_demo(1),
    "rmf-xml": xml,
    "rmf3-xml": monitor3,
    "listing": printed("prclog"),
    "rmf-text": published("rmf-cpu-mt.txt"),
    "cpumflog": published("cpumflog.txt"),
    "zos-text": text("core.txt", zos_samples.DISPLAY_CORES),
    "cnt": text("run.CNT", zos_samples.cnt()),
    "lshwc": text("lshwc.json", json.dumps(linux.lshwc_json()), json.dumps(linux.lshwc_json(), indent=1)),
    "lshwc-csv": text("lshwc.csv", linux.LSHWC),
    "perf": text("perf.csv", linux.PERF_CSV),
    "sysinfo": sysinfo,
    "dds": text("dds.prom", stamped(test_dds.MADE, test_dds.FIRST_S)),
    "hmc": text("hmc.prom", stamped(test_hmc.MADE, test_dds.FIRST_S)),
}
#: Further cases: every report of the demo files, and every published listing.
MORE = {
    **{f"report {name}": printed(name) for name in definition.names()},
    **{path.stem: published(path.name) for path in sorted(FOLDER.glob("*.txt"))},
    "perf of a command": text("perf.txt", linux.PERF_TEXT),
}


#: Cases of different readers for `make test`.
USUAL = ("monwrite", "smf", "rmf-xml", "listing", "rmf-text", "cnt", "lshwc", "perf", "hmc")


def measures(inputs: list[Path]) -> tuple[dict[str, Table], set[str]]:
    with zlens.open([str(path) for path in inputs], options=ZONE) as session:
        found = tables_of(
            session,
            [
                name
                for name in metrics.measure_names()
                if name not in OF_FILES and session._core.has_data(name)
            ],
        )
        return found, {problem.kind for problem in session._core.all_problems()}


@pytest.mark.parametrize(
    "case", quick_subset(len(USUAL), [*USUAL, *sorted((CASES | MORE).keys() - {*USUAL})])
)
def test_repeated_inputs_count_once(
    case: str, tmp_path: Path, sim_session: Session, dump_session: Session
) -> None:
    once, twice = (CASES | MORE)[case](tmp_path, sim_session, dump_session)
    try:
        expected, before = measures(once)
    except InputError as error:
        if not case.startswith("report "):
            raise
        # The demo files have no data for the report.
        pytest.skip(str(error))
    found, kinds = measures(twice)
    assert differences(found, expected) == []
    assert "duplicate" in kinds
    assert "conflict" not in kinds - before
