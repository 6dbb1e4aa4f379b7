"""Sample files that zlens makes itself, so that everything can be tried before real data is at hand.

They are consistent in themselves and seeded, and they were measured nowhere. The catalog file made.toml lists
the systems they tell of, so that whatever is shown of them says so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zlens.demo import machine, rmf

#: The zone of both files; the RMF report does not say it.
ZONE = "+01:00"
MONWRITE_NAME = "zldemo.monwrite"
RMF_NAME = "zlzos-rmf-cpu.xml"

_README = f"""\
Made data

`zlens demo` wrote these files. They tell of a machine that does not exist: nothing was measured.

{MONWRITE_NAME}
  z/VM monitor data (MONWRITE) of system {machine.SYSTEM}, 9 March 2010, 08:30 to 09:30 local time
{RMF_NAME}
  RMF Postprocessor CPU report (XML) of z/OS system {machine.ZOS_SYSTEM}, same machine and hour;
  its times are local: say --tz +01:00
"""


def write(folder: Path, seed: int = 530) -> list[Path]:
    """Write the demo files into a folder (made if need be); their paths."""
    from zlens.demo import monwrite

    folder.mkdir(parents=True, exist_ok=True)
    hour = machine.Hour(seed)
    paths = [folder / MONWRITE_NAME, folder / RMF_NAME, folder / "README.txt"]
    snapshots: list[rmf.Snapshot] = []

    def seen(minute: machine.Minute) -> None:
        if minute.number % rmf.INTERVAL == 0:
            snapshots.append(rmf.snapshot(hour))

    with _replacing(paths[0]) as temporary:
        monwrite.File(temporary).write(hour, seen)
    for path, text in ((paths[1], rmf.document(snapshots)), (paths[2], _README)):
        with _replacing(path) as temporary:
            Path(temporary).write_text(text, encoding="utf-8")
    return paths


@contextmanager
def _replacing(path: Path) -> Iterator[str]:
    # Interrupted work leaves no half a file under the name that others open.
    with tempfile.TemporaryDirectory(prefix=".zlens-", dir=path.parent) as folder:
        temporary = os.path.join(folder, path.name)
        yield temporary
        os.replace(temporary, path)
