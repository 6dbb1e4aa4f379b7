"""The seams between inputs of one system: which of their rows depend on other inputs, and what these become.

For every part (one system of one input) it is worked out which parts hold the sample before the first one of
each of its subjects, what is known of resets in between, and where the intervals end that it leaves open. As
long as that stays the same, the part's seam stays. Else pieces are decoded again, and the rows concerned are
written to files that stand in for those of the import, which are kept aside: so the order of imports is
of no consequence, and what was forgotten leaves no trace.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from zlens._native import ArrowTable
from zlens.catalog.columns import Column
from zlens.inputs.problems import Problem
from zlens.lake import document, folder, joining, names, redecoding, repeats, seam_evidence
from zlens.lake.document import File, Intervals, PartDocument, SeamDocument
from zlens.lake.folder import Folder, Staging
from zlens.lake.manifest import Manifest, Seam
from zlens.lake.parquet_engine import ParquetEngine, parquet
from zlens.lake.seam_evidence import Ground, Pair, sql_list
from zlens.readers.joints import NEAR_US, WHOLE

#: SHA-256 of no bytes.
_NOTHING = hashlib.sha256(b"").hexdigest()


class Seams:
    """Makes the seams of a manifest right. `moves` are the files that are about to come into the lake."""

    def __init__(
        self, lake: Folder, now: Manifest, staged: Staging, shop: ParquetEngine, moves: dict[str, str]
    ) -> None:
        self.lake = lake
        self.now = now
        self.staged = staged
        self.shop = shop
        self.moves = moves
        self.retired: list[str] = []

    def renew(self, systems: Iterable[tuple[str, str]]) -> None:
        """Make again what has changed in these systems (with their source)."""
        for system, source in sorted(set(systems)):
            parts = [
                (one, part)
                for one, part in self.now.parts()
                if part.system == system and one.source == source
            ]
            if source in WHOLE:
                found = [Ground(beside=seam_evidence.beside(parts, at)) for at in range(len(parts))]
                make = self._without_duplicates
            else:
                found = [Ground() for _ in parts]
                if any(part.joined for _, part in parts):
                    found = seam_evidence.grounds(self.shop, parts, self.side)
                for at, ground in enumerate(found):
                    ground.repeated = repeats.before(parts, at)
                make = self._remade if source in NEAR_US else self._joined
            for at, (pair, ground) in enumerate(zip(parts, found, strict=True)):
                key = ground.key(pair, parts)
                if key != (pair[1].seam.key if pair[1].seam else None):
                    self._put(pair, key, None if key is None else make(parts, at, ground, key))

    def _joined(self, parts: list[Pair], at: int, ground: Ground, key: str) -> SeamDocument:
        return joining.joined(self, parts, at, ground, key)

    def _remade(self, parts: list[Pair], at: int, ground: Ground, key: str) -> SeamDocument:
        told = redecoding.remade(self, parts, at, ground, key) if ground.is_joined else SeamDocument([])
        repeats.leave_out(self, parts, at, ground, key, told)
        return told

    def _without_duplicates(self, parts: list[Pair], at: int, ground: Ground, key: str) -> SeamDocument:
        """Of sources whose intervals stand whole in one input: the first input with one has it."""
        one, part = parts[at]
        mine = self.ends(parts, [at])
        told = SeamDocument([])
        known: set[int] = set()
        for place in ground.beside:
            again = (mine & self.ends(parts, [place])) - known
            if again:
                known |= again
                detail = f"{len(again):,} intervals are known of {parts[place][0].path}; not shown"
                told.problems.append(
                    Problem(part.system, one.source, one.path, None, None, "duplicate", detail, None)
                )
        if not known:
            return told
        self.shop.bring("known", ArrowTable([("mark", "time")], [(end,) for end in sorted(known)]))
        own = self.document(parts[at])
        for table in own.schemas:
            files = [file for file in own.files if file.table == table]
            if files:
                columns = ", ".join(f'b."{column.name}"' for column in self.schema(own.schemas[table]))
                query = (
                    f"SELECT {columns}, {self.day(parts[at], files)} AS _day "
                    f"FROM {self.read(parts[at], files)} AS b ANTI JOIN known ON b.interval_end = known.mark"
                )
                told.files += self.write(parts[at], query, table, "main", key, files)
        return told

    # -- what is there -------------------------------------------------------------------------------

    def path(self, name: str) -> str:
        """Where a file of the lake is now."""
        return self.moves.get(name) or self.lake.absolute(name)

    def side(self, pair: Pair, name: str) -> str:
        """Where a file beside a part's document is now."""
        one, part = pair
        return self.path(f"{names.document(one.sha256, part.document)}/{part.place}.{name}")

    def document(self, pair: Pair) -> PartDocument:
        one, part = pair
        path = self.path(f"{names.document(one.sha256, part.document)}/{document.NAME}")
        with open(path, "rb") as file:
            told = document.load(file.read(), path)
        return folder.part_of(told, part, self.lake)

    def intervals(self, pair: Pair) -> Intervals:
        path = self.side(pair, "intervals.json")
        with open(path, "rb") as file:
            return document.load_intervals(file.read(), path)

    def ends(self, parts: list[Pair], places: Iterable[int]) -> set[int]:
        """When intervals end in some parts."""
        return {end for place in places for end in self.intervals(parts[place]).ends()}

    def schema(self, key: str) -> tuple[Column, ...]:
        path = self.path(names.schema(key))
        with open(path, "rb") as file:
            return document.load_schema(file.read(), path)

    def unpack(self, pair: Pair, name: str, plain: Path) -> str:
        """Write a piece of a part out as the file that its reader knows."""
        with gzip.open(self.side(pair, name)) as data, open(plain, "wb") as file:
            shutil.copyfileobj(data, file, 1 << 20)
        return os.fspath(plain)

    def read(self, pair: Pair, files: list[File]) -> str:
        """FROM of some files as they were imported."""
        return parquet(self._bases(pair, files), "filename = '_file'", "file_row_number = true")

    def day(self, pair: Pair, files: list[File]) -> str:
        """SQL of the day of a row b: that of its file."""
        days = sql_list([file.day for file in files])
        return f"{days}[list_position({sql_list(self._bases(pair, files))}, b._file)]"

    def _bases(self, pair: Pair, files: list[File]) -> list[str]:
        # The seam of an earlier part may have come into being just now.
        seam = self.lake.seam(*pair, self.moves)
        return [self.path(folder.base_name(*pair, file, seam)) for file in files]

    # -- what comes of it ----------------------------------------------------------------------------

    def area(self, key: str) -> Path:
        """A folder for what a seam is made of."""
        area = self.staged.path / "seams" / key
        area.mkdir(parents=True, exist_ok=True)
        return area

    def write(self, pair: Pair, query: str, table: str, kind: str, key: str, files: list[File]) -> list[File]:
        """Write the rows that take the place of those of some files, all of one table and kind."""
        target = os.fspath(self.area(key) / f"{kind}.{table}")
        found = []
        for one in self.shop.write(query, target, "_day", "interval_end"):
            sha256 = folder.digest(one.path)
            file = File(
                table, one.key, kind, one.rows, one.bytes, sha256, one.first_us, one.last_us, one.nulls, key
            )
            self.moves[file.name(pair[0].sha256, pair[1].system)] = one.path
            found.append(file)
        left = {file.day for file in files} - {file.day for file in found}
        # Without rows there is no file, but what it stands in for must not be read.
        return found + [File(table, day, kind, 0, 0, _NOTHING, None, None, 0, key) for day in sorted(left)]

    def _put(self, pair: Pair, key: str | None, told: SeamDocument | None) -> None:
        """Give a part its seam; the files of the one it had are no longer needed."""
        one, part = pair
        before = self.lake.seam(one, part)
        self._set_aside(pair, before, told)
        if before is not None:
            self.retired.append(self.lake.seam_name(one, part))
            self.retired += [file.name(one.sha256, part.system) for file in before.files if file.rows]
        if key is None or told is None:
            part.seam = None
            return
        data = told.dump()
        part.seam = Seam(key, hashlib.sha256(data).hexdigest())
        name = self.lake.seam_name(one, part)
        staged = f"seams/{key}.json"
        self.staged.write(staged, data)
        self.moves[name] = os.fspath(self.staged.path / staged)

    def _set_aside(self, pair: Pair, before: SeamDocument | None, after: SeamDocument | None) -> None:
        """Files for which others stand in from now on go aside, and come back when none does any more."""
        for number, file in enumerate(self.document(pair).files):
            old, new = (folder.base_name(*pair, file, seam) for seam in (before, after))
            if old == new:
                continue
            if old in self.moves:
                self.moves[new] = self.moves.pop(old)
                continue
            # By a link, or else a copy: who reads by the manifest of before finds the old name.
            area = self.staged.path / "aside"
            area.mkdir(exist_ok=True)
            path = area / f"{pair[0].sha256[:16]}.{pair[1].place}.{number}"
            try:
                os.link(self.lake.absolute(old), path)
            except OSError:
                shutil.copyfile(self.lake.absolute(old), path)
            self.moves[new] = os.fspath(path)
            self.retired.append(old)
