"""Boundaries between inputs of one system: rows that depend on other inputs, and their replacements.

Every part (one system of one input) depends on the parts with the sample before the first one of each
subject, on evidence of resets in between, and on the ends of the intervals it leaves open. While these stay
the same, the boundary stays. Otherwise fragments are decoded again, and new files replace those of the import
with affected rows. The replaced files are retained, so the order of imports has no effect and removed data
leave no trace.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator

from zlens.lake import boundary_inputs, duplicates, lake_folder, stitched_rows
from zlens.lake.boundary_inputs import Pair
from zlens.lake.documents import BoundaryDocument
from zlens.lake.manifest import BoundaryRef, Manifest
from zlens.lake.part_boundary import BoundaryFiles, PartBoundary
from zlens.readers.boundaries import COMPLETE_IN_ONE_INPUT, END_TOLERANCE_US


def update_boundaries(
    manifest: Manifest, files: BoundaryFiles, systems: Iterable[tuple[str, str]]
) -> list[str]:
    """Update the changed boundaries of these systems, each given with its source; returns retired files."""
    retired: list[str] = []
    for system, source in sorted(set(systems)):
        parts = [
            (imported, part)
            for imported, part in manifest.parts()
            if part.system == system and imported.source == source
        ]
        inputs_by_part = boundary_inputs.boundary_inputs(files.engine, source, parts, files.side_file)
        for index, (pair, inputs) in enumerate(zip(parts, inputs_by_part, strict=True)):
            key = inputs.key(pair, parts)
            if pair[1].raw and key != (pair[1].seam.key if pair[1].seam else None):
                boundary = None
                if key is not None:
                    inputs.ignore_removed_parts(source, parts)
                    boundary = _boundary(PartBoundary(files, parts, index, inputs, key))
                retired += _set_seam(files, pair, key, boundary)
    return retired


def _set_seam(
    files: BoundaryFiles, pair: Pair, key: str | None, boundary: BoundaryDocument | None
) -> Iterator[str]:
    """Set the boundary of a part; yields the files of the previous one."""
    imported, part = pair
    previous = files.lake.seam(imported, part)
    yield from _move_replaced(files, pair, previous, boundary)
    if previous is not None:
        yield files.lake.seam_name(imported, part)
        yield from (file.name(imported.sha256, part.system) for file in previous.files if file.rows)
    if key is None or boundary is None:
        part.seam = None
        return
    staged = f"seams/{key}.json"
    _, sha256 = files.staged.write(staged, boundary.dump())
    part.seam = BoundaryRef(key, sha256)
    files.moves[files.lake.seam_name(imported, part)] = os.fspath(files.staged.path / staged)


def _move_replaced(
    files: BoundaryFiles, pair: Pair, previous: BoundaryDocument | None, current: BoundaryDocument | None
) -> Iterator[str]:
    """Move replaced files out of their table's folder, and back when they are no longer replaced."""
    for number, file in enumerate(files.lake.part_document(*pair).files):
        old, new = (lake_folder.import_file_name(*pair, file, boundary) for boundary in (previous, current))
        if old == new:
            continue
        if old in files.moves:
            files.moves[new] = files.moves.pop(old)
            continue
        # A link or a copy, because readers of the previous manifest still need the old name.
        area = files.staged.path / "aside"
        area.mkdir(exist_ok=True)
        path = area / f"{pair[0].sha256[:16]}.{pair[1].place}.{number}"
        try:
            os.link(files.path(old), path)
        except OSError:
            shutil.copyfile(files.path(old), path)
        files.moves[new] = os.fspath(path)
        yield old


def _boundary(boundary: PartBoundary) -> BoundaryDocument:
    """Compute the boundary of a part."""
    if boundary.source in COMPLETE_IN_ONE_INPUT:
        duplicates.drop_intervals(boundary)
    elif boundary.source not in END_TOLERANCE_US:
        stitched_rows.stitch_edges(boundary)
    else:
        if boundary.inputs.has_neighbors:
            stitched_rows.redecode_part(boundary)
        duplicates.drop_records(boundary)
    boundary.remove_fragments()
    return boundary.document
