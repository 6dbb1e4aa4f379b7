"""Sample files that zlens makes itself, so that everything can be tried before real data is available.

They are consistent, seeded, and not measured. The catalog file made_systems.toml lists
their systems, so that everything shown of them says so.
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
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.simulation import run

#: The zone of the files of the first machine; the RMF report does not state it.
ZONE = "+01:00"
MONWRITE_NAME = "zldemo.monwrite"
RMF_NAME = "zlzos-rmf-cpu.xml"
SMF_NAME = "zlzos.smf"
#: Of another machine and another year, with multithreading: it needs zlens' own pack.
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
        # The simulator needs no interpreter: the other files are made beside it.
        simulated = pool.submit(_simulate, SIM_SCENARIO, paths[3], seed)
        _simulate(machine.SCENARIO, paths[0], seed)
        _write_zos(paths[0], paths[1], paths[2], seed)
        simulated.result()
    return paths


def _simulate(scenario: Path, path: Path, seed: int) -> None:
    """Write what the system of a shipped scenario records."""
    ready = run.prepare(document.load_unchecked(scenario), file=str(scenario), seed=seed)
    with _replacing(path) as temporary:
        run.simulate([ready], temporary)


def _write_zos(monwrite: Path, report: Path, dump: Path, seed: int) -> None:
    """Write the report and the records of the z/OS system on the machine of a z/VM system's file."""
    import zlens
    from zlens.demo import rmf, smf

    with zlens.open([monwrite]) as session:
        minutes = list(machine.minutes(session))
    with _replacing(dump) as temporary:
        writer = smf.DemoDumpWriter(temporary, seed)
        for minute in minutes:
            writer.add_minute(minute)
        writer.finish()
    with _replacing(report) as temporary:
        Path(temporary).write_text(rmf.document(minutes[:: rmf.INTERVAL]), encoding="utf-8")


def _is_demo(path: Path) -> bool:
    """Whether a file names the serial number of the demo's machines, or is empty."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    serial = machine.SERIAL.lstrip("0")
    return not head or serial.encode() in head or serial.encode("cp037") in head


@contextmanager
def _replacing(path: Path) -> Iterator[str]:
    # Interrupted work leaves no partial file under the name that others open.
    with tempfile.TemporaryDirectory(prefix=".zlens-", dir=path.parent) as folder:
        temporary = os.path.join(folder, path.name)
        yield temporary
        os.replace(temporary, path)
