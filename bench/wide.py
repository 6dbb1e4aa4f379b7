"""Cost of opening and querying a lake as wide as a fleet: the first machines of a fleet, many times.

Run `python wide.py` after a batch of `python fleet.py --systems 1000 --days 7`. Machines have other names,
their files are linked, and only their consolidated measures exist: nothing is simulated or imported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import bench
import duckdb
import fleet

from zlens.lake import documents, file_names, lake_folder
from zlens.lake.documents import ConsolidatedDocument, MeasuresFile
from zlens.lake.manifest import ConsolidatedDay, DayRollup, InputPart, LakeInput, Manifest

SOURCE = Path(__file__).parent / ".data" / "fleet-1000-7" / "lake"


def renamed(name: str, copy: int) -> str:
    """Return the name of a system in a copy: P001203 becomes P071203 in copy 7."""
    return f"P{copy:02}{name[3:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=1000)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / ".data" / "wide")
    arguments = parser.parse_args()
    if not (arguments.into / file_names.MANIFEST).exists():
        widen(SOURCE, arguments.into, arguments.systems)
    print(bench.machine())
    return fleet.ask(arguments.into) and 1


def widen(source: Path, into: Path, systems: int) -> None:
    """Build the lake."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    here = lake_folder.LakeFolder(source)
    known = here.load()
    manifest = Manifest()
    originals = sorted(known.inputs.values(), key=lambda one: min(one.parts))
    copies = -(-systems // len(originals))
    for copy in range(copies):
        for imported in originals:
            if len(manifest.inputs) < systems:
                one = copied(here, imported, copy, into)
                manifest.inputs[one.sha256] = one
    shutil.copytree(source / file_names.SCHEMAS, into / file_names.SCHEMAS)
    there = {system for imported in manifest.inputs.values() for system in imported.parts}
    for (system, day), rollup in known.rollups.items():
        for copy in range(copies):
            if renamed(system, copy) in there:
                manifest.rollups[renamed(system, copy), day] = DayRollup(
                    renamed(system, copy), day, rollup.state, rollup.sha256
                )
    for entry in known.gathered.values():
        manifest.gathered[entry.day] = gathered(here, entry, copies, there, into)
    (into / file_names.MANIFEST).write_bytes(manifest.dump())


def copied(here: lake_folder.LakeFolder, imported: LakeInput, copy: int, into: Path) -> LakeInput:
    """Return an input under another name."""
    ((system, part),) = imported.parts.items()
    name = renamed(system, copy)
    sha256 = hashlib.sha256(f"{imported.sha256} {copy}".encode()).hexdigest()
    stored = here.document(imported, part.document)
    old = Path(here.absolute(file_names.document_folder(imported.sha256, part.document)))
    facts: dict[str, Any] = json.loads((old / documents.NAME).read_bytes())
    side: dict[str, bytes] = {}
    for each in facts["side"]:
        side[each] = (old / each).read_bytes()
        if each.endswith(".json"):
            side[each] = side[each].replace(system.encode(), name.encode())
        facts["side"][each] = [len(side[each]), hashlib.sha256(side[each]).hexdigest()]
    facts["parts"][0] |= {"system": name, "lpar": name, "serial": f"{copy:02}{name[3:5]}1"}
    data = documents.dump(facts)
    digest = hashlib.sha256(data).hexdigest()
    new = into / file_names.document_folder(sha256, digest[:16])
    new.mkdir(parents=True)
    (new / documents.NAME).write_bytes(data)
    for each, bytes_of in side.items():
        (new / each).write_bytes(bytes_of)
    for file in stored.parts[part.place].files:
        if file.rows:
            target = into / file.name(sha256, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(here.absolute(file.name(imported.sha256, system)), target)
    moved = InputPart(
        name, digest[:16], part.place, part.first_us, part.last_us, part.first_end_us, part.last_end_us,
        joined=part.joined,
    )  # fmt: skip
    return LakeInput(
        sha256, imported.path.replace(system, name), imported.bytes, imported.source, imported.leap,
        imported.added_us, {digest[:16]: digest}, {name: moved},
    )  # fmt: skip


def gathered(
    here: lake_folder.LakeFolder, entry: ConsolidatedDay, copies: int, there: set[str], into: Path
) -> ConsolidatedDay:
    """Write the consolidated measures of a day for all copies."""
    stored = here.gathered(entry)
    files = []
    engine = duckdb.connect()
    for file in stored.files:
        place = entry.file(file.table)
        target = into / place
        target.parent.mkdir(parents=True, exist_ok=True)
        new = "printf('P%02d', copy) || substr(system, 4)"
        columns = {row[0] for row in engine.sql(f"DESCRIBE FROM '{here.absolute(place)}'").fetchall()}
        machine = ", '8561-' || printf('%02d', copy) || substr(system, 4, 2) || '1' AS machine"
        replaced = f"{new} AS system{machine if 'machine' in columns else ''}"
        (rows,) = engine.execute(
            f"COPY (SELECT * EXCLUDE (copy) REPLACE ({replaced}) "
            f"FROM '{here.absolute(place)}', range({copies}) AS copies(copy) "
            f"WHERE list_contains(?, {new}) ORDER BY system) "
            f"TO '{target}' (FORMAT parquet, COMPRESSION zstd)",
            [sorted(there)],
        ).fetchone() or (0,)
        size = target.stat().st_size
        files.append(
            MeasuresFile(
                file.table, rows, size, lake_folder.digest(target), lake_folder.footer_digest(target)
            )
        )
    members = [
        (renamed(system, copy), state)
        for copy in range(copies)
        for system, state in stored.members
        if renamed(system, copy) in there
    ]
    data = documents.dump(ConsolidatedDocument(sorted(members), stored.schemas, files))
    target = into / file_names.gathered_document(entry.day, entry.key)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return ConsolidatedDay(entry.day, entry.key, hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    raise SystemExit(main())
