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

from zlens.demo import machine, rmf
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
SIM_SCENARIO = "zlsim.toml"


def write(folder: Path, seed: int = 530) -> list[Path]:
    """Write the demo files into a folder (created if needed); returns their paths.

    Raises InputError if a file of that name exists that is not a demo file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / MONWRITE_NAME, folder / RMF_NAME, folder / SMF_NAME, folder / SIM_NAME]
    for path in paths:
        if os.path.lexists(path) and not _is_demo(path):
            raise InputError(
                "this file exists and is not a demo file", file=str(path), cure="name another folder"
            )
    with _replacing(paths[3]) as temporary, ThreadPoolExecutor(1) as pool:
        # The simulator needs no interpreter: the other files are made beside it.
        simulated = pool.submit(_simulate, SIM_SCENARIO, temporary, seed)
        _write_first_machine(paths[:3], seed)
        simulated.result()
    return paths


def _write_first_machine(paths: list[Path], seed: int) -> None:
    from zlens.demo import monwrite, smf

    hour = machine.Hour(seed)
    snapshots: list[rmf.Snapshot] = []

    with _replacing(paths[0]) as temporary, _replacing(paths[2]) as temporary_smf:
        dump = smf.Dump(temporary_smf, seed)

        def on_minute(minute: machine.Minute) -> None:
            dump.seen(hour, minute)
            if minute.number % rmf.INTERVAL == 0:
                snapshots.append(rmf.snapshot(hour))

        monwrite.File(temporary).write(hour, on_minute)
        dump.finish()
    with _replacing(paths[1]) as temporary:
        Path(temporary).write_text(rmf.document(snapshots), encoding="utf-8")


def _simulate(name: str, path: str, seed: int) -> None:
    """Write what the system of a shipped scenario records."""
    file = FACTS / "scenarios" / name
    run.simulate([run.prepared(document.facts(file), file=str(file), seed=seed)], path)


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
