"""Synthetic sample files, so that everything can be tried without real data.

They are consistent, seeded, and not measured. The catalog file synthetic_systems.toml lists their systems, so
all output marks them as synthetic.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from zlens.demo import machine
from zlens.errors import InputError
from zlens.models import scenario as scenarios
from zlens.schema.facts import FACTS
from zlens.simulation import run

#: Zone of the files of the first machine; the RMF report does not state it.
ZONE = "+01:00"
MONWRITE_NAME = "zldemo.monwrite"
RMF_NAME = "zlzos-rmf-cpu.xml"
SMF_NAME = "zlzos.smf"
#: File of another machine and another year, with multithreading; it needs the synthetic layouts.
SIM_NAME = "sim.monwrite"
SIM_SCENARIO = FACTS / "scenarios" / "zlsim.toml"


def write(folder: Path, seed: int = 530) -> list[Path]:
    """Write the demo files into a folder (created if needed); returns their paths.

    Raises InputError if a file of that name exists that is not a demo file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in (MONWRITE_NAME, RMF_NAME, SMF_NAME, SIM_NAME)]
    for path in paths:
        if os.path.lexists(path) and not _is_demo(path):
            raise InputError(
                "this file exists and is not a demo file", file=str(path), cure="name another folder"
            )
    with ThreadPoolExecutor(1) as pool:
        # The simulator does not hold the interpreter lock, so the other files are written in parallel.
        simulated = pool.submit(_simulate, SIM_SCENARIO, paths[3], seed)
        _simulate(machine.SCENARIO, paths[0], seed)
        _write_zos(paths[0], paths[1], paths[2], seed)
        simulated.result()
    return paths


def _simulate(scenario: Path, path: Path, seed: int) -> None:
    """Write the records of the system of a shipped scenario."""
    ready = run.prepare(scenarios.read(str(scenario)), file=str(scenario), seed=seed)
    with _replacing(path) as temporary:
        (simulated,) = run.simulate([ready], temporary)
        if not simulated.complete:
            raise KeyboardInterrupt


def _write_zos(monwrite: Path, report: Path, dump: Path, seed: int) -> None:
    """Write the report and the records of the z/OS system on the machine of a z/VM system's file."""
    from zlens.demo import rmf, smf
    from zlens.session.session import CoreSession

    with CoreSession([monwrite]) as session:
        minutes = list(machine.minutes(session))
    with _replacing(dump) as temporary:
        writer = smf.DemoDumpWriter(temporary, seed)
        for minute in minutes:
            writer.add_minute(minute)
        writer.finish()
    with _replacing(report) as temporary:
        Path(temporary).write_text(rmf.document(minutes[:: rmf.INTERVAL]), encoding="utf-8")


def _is_demo(path: Path) -> bool:
    """Return whether a file contains the serial number of the demo's machines, or is empty."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        first_bytes = file.read(1 << 20)
    serial = machine.SERIAL.lstrip("0")
    return not first_bytes or serial.encode() in first_bytes or serial.encode("cp037") in first_bytes


@contextmanager
def _replacing(path: Path) -> Iterator[str]:
    # An interruption leaves no partial file under the final name.
    with tempfile.TemporaryDirectory(prefix=".zlens-", dir=path.parent) as folder:
        temporary = os.path.join(folder, path.name)
        yield temporary
        os.replace(temporary, path)
