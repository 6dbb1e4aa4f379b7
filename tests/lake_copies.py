"""A lake of many systems, made by copying one system's files under other names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb

from lake_builder import recording, write
from zlens import lake
from zlens.catalog.expressions import literal
from zlens.lake import file_names
from zlens.lake.lake_folder import footer_digest

#: The system that is copied. In files of names of its length, only bytes are replaced.
FIRST = "SYS00000"


def name(number: int) -> str:
    return f"SYS{number:05}"


def make(folder: Path, systems: Iterable[str]) -> Path:
    """Make a lake of systems with the same rows, three intervals of one input each; returns its path.

    The records at the ends of inputs, which only a neighbor in time needs, keep the first name.
    """
    path = folder / "lake"
    lake.add([write(folder / f"{FIRST}.data", recording(range(3), system=FIRST))], path)
    manifest = json.loads((path / file_names.MANIFEST).read_bytes())
    (imported,) = manifest["inputs"]
    (key,) = imported["documents"]
    old = path / file_names.document_folder(imported["sha256"], key)
    document = json.loads((old / "document.json").read_bytes())
    side = {each: (old / each).read_bytes() for each in document["side"]}
    (part,) = document["parts"]
    rows = {}
    for table, day, kind, *_ in part["files"]:
        stored = path / file_names.data_file(table, FIRST, day, imported["sha256"], kind)
        rows[table, kind] = _rows_of(stored, FIRST)
        stored.unlink()
    for each in old.iterdir():
        each.unlink()
    old.rmdir()
    old.parent.rmdir()
    manifest["inputs"] = [_copy(path, system, imported, document, side, rows) for system in systems]
    (path / file_names.MANIFEST).write_text(json.dumps(manifest))
    return path


def _rows_of(path: Path, system: str) -> bytes:
    """Return a Parquet file with a system's rows. Its bytes contain the name, and no hashes of names."""
    copy = path.with_suffix(".copy")
    duckdb.sql(
        f"COPY (SELECT * REPLACE ({literal(system)} AS system) FROM read_parquet({literal(str(path))}, "
        f"hive_partitioning = false)) TO {literal(str(copy))} "
        "(FORMAT parquet, COMPRESSION uncompressed, WRITE_BLOOM_FILTER false)"
    )
    data = copy.read_bytes()
    copy.unlink()
    return data


def _copy(
    path: Path,
    system: str,
    imported: dict[str, Any],
    document: dict[str, Any],
    side: dict[str, bytes],
    rows: dict[tuple[str, str], bytes],
) -> dict[str, Any]:
    """Write the files of a system; returns its input in the manifest."""
    sha256 = hashlib.sha256(system.encode()).hexdigest()
    in_json = json.dumps(system)[1:-1]
    (part,) = document["parts"]
    files = []
    for table, day, kind, count, _, _, *times, _ in part["files"]:
        target = path / file_names.data_file(table, system, day, sha256, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(rows[table, kind])
        if len(system.encode()) == len(FIRST):
            target.write_bytes(rows[table, kind].replace(FIRST.encode(), system.encode()))
        else:
            target.write_bytes(_rows_of(target, system))
        data = target.read_bytes()
        digests = hashlib.sha256(data).hexdigest(), footer_digest(target)
        files.append([table, day, kind, count, len(data), digests[0], *times, digests[1]])
    renamed = {
        each: data.replace(FIRST.encode(), in_json.encode()) if each.endswith(".json") else data
        for each, data in side.items()
    }
    facts = {each: [len(data), hashlib.sha256(data).hexdigest()] for each, data in renamed.items()}
    copied = {**document, "side": facts, "parts": [{**part, "files": files}]}
    text = json.dumps(copied, separators=(",", ":")).replace(FIRST, in_json).encode()
    digest = hashlib.sha256(text).hexdigest()
    base = path / file_names.document_folder(sha256, digest[:16])
    base.mkdir(parents=True)
    for each, data in {"document.json": text, **renamed}.items():
        (base / each).write_bytes(data)
    entry = {**imported, "sha256": sha256, "documents": {digest[:16]: digest}}
    entry["parts"] = [{**imported["parts"][0], "document": digest[:16]}]
    return json.loads(json.dumps(entry).replace(FIRST, in_json))  # type: ignore[no-any-return]
