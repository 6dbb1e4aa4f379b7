"""The seams between inputs of one system: which of their rows depend on other inputs, and what these become.

For every part (one system of one input) it is worked out which parts hold the sample before the first one of
each of its subjects, what is known of resets in between, and where the intervals end that it leaves open. As
long as that stays the same, the part's seam stays. Else pieces are decoded anew, and the rows concerned are
written to files that stand in for those of the import, which are kept aside: so the order of imports is
of no consequence, and what was forgotten leaves no trace.
"""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.lake import document, folder, names
from zlens.lake.document import File, Intervals, PartDocument, SeamDocument
from zlens.lake.folder import Folder, Staging
from zlens.lake.manifest import Input, Manifest, Part, Seam
from zlens.lake.tables import subject_sql
from zlens.lake.workshop import Workshop, parquet
from zlens.problems import Problem
from zlens.readers import Column
from zlens.readers.joints import WHOLE, Evidence, Rejoined, rejoin

#: Part of every key: another way of making seams makes all of them anew.
_VERSION = 1

#: SHA-256 of no bytes.
_NOTHING = hashlib.sha256(b"").hexdigest()
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Pair = tuple[Input, Part]


@dataclass(slots=True)
class Ground:
    """What a seam rests on: parts, by their place in the order, and evidence.

    before     those with the sample before the first one of a subject
    after      those whose interval ends close what is left open
    beside     earlier ones that tell of the same times
    evidence   what is known of resets in between, as a digest
    """

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    evidence: str = ""

    def key(self, own: Pair, parts: list[Pair]) -> str | None:
        """The same for the same ground; None where nothing around the part concerns it."""
        around = (self.before, self.after, self.beside)
        if not any(around):
            return None
        told = [[_name(parts[at]) for at in some] for some in around]
        facts = [_VERSION, _name(own), self.evidence, *told]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _name(pair: Pair) -> str:
    return f"{pair[0].sha256}/{pair[1].document}"


class Seams:
    """Makes the seams of a manifest right. `moves` are the files that are about to come into the lake."""

    def __init__(
        self, lake: Folder, now: Manifest, staged: Staging, shop: Workshop, moves: dict[str, str]
    ) -> None:
        self.lake = lake
        self.now = now
        self.staged = staged
        self.shop = shop
        self.moves = moves
        self.retired: list[str] = []

    def renew(self, systems: Iterable[tuple[str, str]]) -> None:
        """Make anew what has changed in these systems (with their source)."""
        for system, source in sorted(set(systems)):
            parts = [
                (one, part)
                for one, part in self.now.parts()
                if part.system == system and one.source == source
            ]
            if source in WHOLE:
                self._drop_duplicates(parts)
            elif any(part.joined for _, part in parts):
                self._join(parts)

    def _path(self, name: str) -> str:
        return self.moves.get(name) or self.lake.absolute(name)

    def _side(self, pair: Pair, name: str) -> str:
        one, part = pair
        return f"{names.document(one.sha256, part.document)}/{part.place}.{name}"

    def _document(self, pair: Pair) -> PartDocument:
        one, part = pair
        name = f"{names.document(one.sha256, part.document)}/{document.NAME}"
        path = self._path(name)
        with open(path, "rb") as file:
            told = document.load(file.read(), path)
        return folder.part_of(told, part, self.lake)

    def _intervals(self, pair: Pair) -> Intervals:
        path = self._path(self._side(pair, "intervals.json"))
        with open(path, "rb") as file:
            return document.load_intervals(file.read(), path)

    def _ends(self, parts: list[Pair], places: Iterable[int]) -> set[int]:
        return {end for place in places for end in self._intervals(parts[place]).ends()}

    # -- differences ---------------------------------------------------------------------------------

    def _join(self, parts: list[Pair]) -> None:
        grounds = self._grounds(parts)
        for at, (pair, ground) in enumerate(zip(parts, grounds, strict=True)):
            key = ground.key(pair, parts)
            if key != (pair[1].seam.key if pair[1].seam else None):
                self._put(pair, key, None if key is None else self._rejoin(parts, at, ground, key))

    def _grounds(self, parts: list[Pair]) -> list[Ground]:
        """What every part's seam rests on."""
        grounds = [Ground() for _ in parts]
        joined = [at for at, (_, part) in enumerate(parts) if part.joined]
        for at in joined:
            grounds[at].after = _closing(parts, at)
            grounds[at].beside = _beside(parts, at)
        paths = [self._path(self._side(parts[at], "subjects.parquet")) for at in joined]
        places = f"[{', '.join(map(str, joined))}][list_position({_list(paths)}, filename)]"
        self.shop.rows(
            f"CREATE OR REPLACE TABLE seen AS SELECT {places} AS part, * EXCLUDE (filename) "
            f"FROM {parquet(paths, 'filename = true')}"
        )
        self.shop.rows(
            "CREATE OR REPLACE TABLE pairs AS SELECT *, arg_max(part, last_us) OVER earlier AS before, "
            "max(last_us) OVER earlier AS before_us FROM seen WINDOW earlier AS (PARTITION BY "
            '"table", subject ORDER BY part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
        )
        for at, before in self.shop.rows(
            "SELECT part, list_sort(list_distinct(list(before))) FROM pairs "
            "WHERE before IS NOT NULL GROUP BY part"
        ):
            grounds[at].before = before
        paths = [self._path(self._side(parts[at], "evidence.parquet")) for at in joined]
        self.shop.rows(
            "CREATE OR REPLACE TABLE told AS SELECT DISTINCT moment, us, "
            "unnest(string_split(tables, ' ')) AS \"table\", subject, kind "
            f"FROM {parquet(paths)}"
        )
        between = 'e."table" = p."table" AND e.us >= p.before_us AND e.us <= p.first_us'
        self.shop.rows(
            "CREATE OR REPLACE TABLE held AS "
            f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} WHERE e.subject IS NULL UNION "
            f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} "
            "AND split_part(e.subject, '/', 1) = split_part(p.subject, '/', 1) "
            "WHERE p.subject = e.subject OR starts_with(p.subject, e.subject || '/')"
        )
        for at, digest in self.shop.rows(
            "SELECT part, md5(string_agg("
            "concat_ws(' ', moment, \"table\", subject IS NULL, subject, kind), chr(10) "
            'ORDER BY moment, "table", subject NULLS FIRST, kind)) FROM held GROUP BY part'
        ):
            grounds[at].evidence = digest
        return grounds

    def _rejoin(self, parts: list[Pair], at: int, ground: Ground, key: str) -> SeamDocument:
        """Decode the pieces of a part and of those before it, and write the rows that come of it."""
        own = self._document(parts[at])
        told = SeamDocument([])
        area = self.staged.path / "seams" / key
        area.mkdir(parents=True)
        rejoined = self._pieces(parts, at, ground, own, area) if ground.before else None
        repeats = self._repeats(parts, at, ground, told) if ground.beside else []
        marks = sorted(self._ends(parts, ground.after))
        self.shop.bring("marks", ArrowTable([("mark", "time")], [(end,) for end in marks]))
        compared = {
            table
            for (table,) in self.shop.rows(
                f'SELECT DISTINCT "table" FROM pairs WHERE part = {at} AND before IS NOT NULL'
            )
        }
        overlapping = {
            table
            for (table,) in self.shop.rows(
                f'SELECT DISTINCT "table" FROM pairs WHERE part = {at} AND before_us >= first_us'
            )
        }
        for table in own.schemas:
            edges = [one for one in own.files if one.table == table and one.kind == "edge"]
            pieces = rejoined if table in compared else None
            if edges and (pieces or repeats or (marks and any(one.open for one in edges))):
                query = self._edge_query(parts[at], own, table, edges, pieces, repeats)
                told.files += self._write(parts[at], query, edges, key, area)
            mains = [one for one in own.files if one.table == table and one.kind == "main"]
            if mains and (repeats or table in overlapping):
                query = self._main_query(parts[at], at, own, table, mains, repeats)
                told.files += self._write(parts[at], query, mains, key, area)
        if rejoined is not None:
            self._tell(parts[at], at, rejoined, repeats, told)
        shutil.rmtree(area / "pieces", ignore_errors=True)
        return told

    def _repeats(
        self, parts: list[Pair], at: int, ground: Ground, told: SeamDocument
    ) -> list[tuple[int, int]]:
        """Bytes of a part that hold intervals which an earlier one has: their records are read once."""
        known = self._ends(parts, ground.beside)
        found: list[tuple[int, int]] = []
        spans: list[list[int]] = []
        begin = 0
        for mark in self._intervals(parts[at]).marks:
            if mark.samples and mark.end_us in known:
                if found and found[-1][1] == begin:
                    found[-1] = (found[-1][0], mark.offset + 1)
                    spans[-1].append(mark.end_us)
                else:
                    found.append((begin, mark.offset + 1))
                    spans.append([mark.end_us])
            begin = mark.offset + 1
        one, part = parts[at]
        for (first, last), ends in zip(found, spans, strict=True):
            span = " to ".join(
                f"{_time(end):%Y-%m-%d %H:%M:%S}" for end in dict.fromkeys((ends[0], ends[-1]))
            )
            detail = f"the samples of {len(ends):,} intervals were read before ({span} UTC); read once"
            told.problems.append(
                Problem(part.system, one.source, one.path, first, None, "duplicate", detail, last - first)
            )
        return found

    def _pieces(self, parts: list[Pair], at: int, ground: Ground, own: PartDocument, area: Path) -> Rejoined:
        (area / "pieces").mkdir()
        paths = []
        for number, place in enumerate([*ground.before, at]):
            packed = self._path(self._side(parts[place], "first.gz" if place == at else "last.gz"))
            plain = area / "pieces" / f"{number}.piece"
            with gzip.open(packed) as data, open(plain, "wb") as file:
                shutil.copyfileobj(data, file, 1 << 20)
            paths.append(os.fspath(plain))
        offsets = self.shop.rows(f"SELECT DISTINCT first_offset FROM seen WHERE part = {at} ORDER BY 1")
        evidence = [
            Evidence(int(moment), us, table, subject, kind)
            for moment, us, table, subject, kind in self.shop.rows(
                f'SELECT moment, us, "table", subject, kind FROM held WHERE part = {at}'
            )
        ]
        one, _ = parts[at]
        rejoined = rejoin(
            one.source,
            paths,
            [offset for (offset,) in offsets],
            leap=one.leap,
            nominal_s=own.info.nominal_s,
            evidence=evidence,
        )
        moved = ArrowTable([("piece_offset", "int"), ("whole_offset", "int")], list(rejoined.moved.items()))
        self.shop.bring("moved", moved)
        return rejoined

    def _edge_query(
        self,
        pair: Pair,
        own: PartDocument,
        table: str,
        files: list[File],
        rejoined: Rejoined | None,
        repeats: list[tuple[int, int]],
    ) -> str:
        """The edge rows of a table with the differences and interval ends that the parts around give them."""
        subject = own.subjects.get(table, [])
        named = subject_sql(subject)
        columns = [column.name for column in self._schema(own.schemas[table])]
        compared = [name for name in columns if name in ("seconds", "flag") or name.endswith("_d")]
        if rejoined is not None:
            wanted = list(dict.fromkeys(["offset", "file", *subject, *compared]))
            self.shop.bring("pieces", rejoined.stream(table, wanted))
            head = (
                f"SELECT p.*, {named} AS _subject, m.whole_offset AS _offset, "
                f'row_number() OVER (PARTITION BY {named} ORDER BY p."offset", p._row) AS _nth '
                "FROM (SELECT *, row_number() OVER () AS _row FROM pieces) AS p "
                'JOIN moved AS m ON p."offset" = m.piece_offset '
                f"WHERE p.file = {expressions.literal(rejoined.file)}"
            )
            join = (
                f"LEFT JOIN ({head}) AS h ON b._nth = 1 AND h._nth = 1 AND b._subject = h._subject "
                'AND b."offset" = h._offset'
            )
        else:
            compared, join = [], ""
        chosen = []
        for name in columns:
            quoted = expressions.quote(name)
            if name == "interval_end":
                chosen.append("coalesce(b.interval_end, marks.mark) AS interval_end")
            elif name in compared:
                chosen.append(f"CASE WHEN h._nth = 1 THEN h.{quoted} ELSE b.{quoted} END AS {quoted}")
            else:
                chosen.append(f"b.{quoted}")
        base = (
            f"SELECT *, {named} AS _subject, row_number() OVER (PARTITION BY {named} "
            f'ORDER BY "offset", file_row_number) AS _nth FROM {self._read(pair, files)}'
        )
        return (
            f"SELECT {', '.join(chosen)}, {self._day(pair, files)} AS _day FROM ({base}) AS b {join} "
            f"ASOF LEFT JOIN marks ON b.tod <= marks.mark WHERE {_once(repeats)} "
            'ORDER BY b."offset", b.file_row_number'
        )

    def _main_query(
        self,
        pair: Pair,
        at: int,
        own: PartDocument,
        table: str,
        files: list[File],
        repeats: list[tuple[int, int]],
    ) -> str:
        """Rows of a table that no earlier part has; older ones than its last have no differences."""
        chosen = []
        for column in self._schema(own.schemas[table]):
            quoted = expressions.quote(column.name)
            if column.name in ("seconds", "flag") or column.name.endswith("_d"):
                chosen.append(
                    f"CASE WHEN epoch_us(b.tod) <= l.before_us THEN NULL ELSE b.{quoted} END AS {quoted}"
                )
            else:
                chosen.append(f"b.{quoted}")
        limits = (
            "SELECT subject, before_us FROM pairs "
            f'WHERE part = {at} AND "table" = {expressions.literal(table)}'
        )
        named = subject_sql(own.subjects.get(table, []))
        base = f"SELECT *, {named} AS _subject FROM {self._read(pair, files)}"
        return (
            f"SELECT {', '.join(chosen)}, {self._day(pair, files)} AS _day FROM ({base}) AS b "
            f"LEFT JOIN ({limits}) AS l ON b._subject = l.subject WHERE {_once(repeats)} "
            'ORDER BY b."offset", b.file_row_number'
        )

    def _tell(
        self,
        pair: Pair,
        at: int,
        rejoined: Rejoined,
        repeats: list[tuple[int, int]],
        told: SeamDocument,
    ) -> None:
        """Resets and problems of comparing this part with those before it, and none of those before it."""
        one, part = pair
        limits = {
            (table, subject): before
            for table, subject, before in self.shop.rows(
                f'SELECT "table", subject, before_us FROM pairs WHERE part = {at} AND before IS NOT NULL'
            )
        }
        for us, table, subject, evidence in rejoined.resets():
            if us > limits.get((table, subject), us):
                told.resets.append((part.system, us, table, subject, evidence))
        for found in rejoined.problems():
            if any(first <= (found.offset or 0) < last for first, last in repeats):
                continue
            told.problems.append(
                Problem(
                    part.system, one.source, one.path, found.offset, found.record, found.kind, found.detail,
                    found.bytes,
                )
            )  # fmt: skip

    # -- duplicates ----------------------------------------------------------------------------------

    def _drop_duplicates(self, parts: list[Pair]) -> None:
        """Of sources whose intervals stand whole in one input: the first input with one has it."""
        for at, pair in enumerate(parts):
            ground = Ground(beside=_beside(parts, at))
            key = ground.key(pair, parts)
            if key != (pair[1].seam.key if pair[1].seam else None):
                told = None if key is None else self._without(parts, at, ground.beside, key)
                self._put(pair, key, told)

    def _without(self, parts: list[Pair], at: int, beside: list[int], key: str) -> SeamDocument:
        one, part = parts[at]
        mine = self._ends(parts, [at])
        told = SeamDocument([])
        known: set[int] = set()
        for place in beside:
            again = (mine & self._ends(parts, [place])) - known
            if again:
                known |= again
                detail = f"{len(again):,} intervals are known of {parts[place][0].path}; not shown"
                told.problems.append(
                    Problem(part.system, one.source, one.path, None, None, "duplicate", detail, None)
                )
        if not known:
            return told
        self.shop.bring("known", ArrowTable([("mark", "time")], [(end,) for end in sorted(known)]))
        own = self._document(parts[at])
        area = self.staged.path / "seams" / key
        area.mkdir(parents=True)
        for table in own.schemas:
            files = [one for one in own.files if one.table == table]
            if not files:
                continue
            columns = [expressions.quote(column.name) for column in self._schema(own.schemas[table])]
            query = (
                f"SELECT {', '.join(f'b.{name}' for name in columns)}, {self._day(parts[at], files)} AS _day "
                f"FROM {self._read(parts[at], files)} AS b ANTI JOIN known ON b.interval_end = known.mark"
            )
            told.files += self._write(parts[at], query, files, key, area)
        return told

    # -- files ---------------------------------------------------------------------------------------

    def _paths(self, pair: Pair, files: list[File]) -> list[str]:
        seam = self.lake.seam(*pair)
        return [self._path(folder.base_name(*pair, file, seam)) for file in files]

    def _read(self, pair: Pair, files: list[File]) -> str:
        return parquet(self._paths(pair, files), "filename = '_file'", "file_row_number = true")

    def _day(self, pair: Pair, files: list[File]) -> str:
        """The day of a row: that of its file."""
        days = _list([file.day for file in files])
        return f"{days}[list_position({_list(self._paths(pair, files))}, b._file)]"

    def _schema(self, key: str) -> tuple[Column, ...]:
        path = self._path(names.schema(key))
        with open(path, "rb") as file:
            return document.load_schema(file.read(), path)

    def _write(self, pair: Pair, query: str, files: list[File], key: str, area: Path) -> list[File]:
        """Write the rows that take the place of those of some files, all of one table and kind."""
        table, kind = files[0].table, files[0].kind
        made = self.shop.write(query, os.fspath(area / f"{kind}.{table}"), "_day", "interval_end")
        found = []
        for one in made:
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
        for number, file in enumerate(self._document(pair).files):
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


def _closing(parts: list[Pair], at: int) -> list[int]:
    """The parts whose interval ends may close rows that a part leaves open."""
    waiting = parts[at][1].open_us
    if waiting is None:
        return []
    first, last = waiting
    ends = sorted(
        (part.first_end_us, place)
        for place, (_, part) in enumerate(parts)
        if place != at and part.first_end_us is not None and (part.last_end_us or 0) >= first
    )
    within = [place for end, place in ends if end <= last]
    beyond = [place for end, place in ends if end > last][:1]
    return within + beyond


def _beside(parts: list[Pair], at: int) -> list[int]:
    """Earlier parts that tell of the same times as a part."""
    return [place for place in range(at) if _overlap(parts[place][1], parts[at][1])]


def _once(repeats: list[tuple[int, int]]) -> str:
    """Condition on rows that do not stand in these bytes."""
    return (
        " AND ".join(f'NOT (b."offset" >= {first} AND b."offset" < {last})' for first, last in repeats)
        or "true"
    )


def _time(us: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=us)


def _overlap(one: Part, other: Part) -> bool:
    if one.first_end_us is None or other.first_end_us is None:
        return False
    return one.first_end_us <= (other.last_end_us or 0) and other.first_end_us <= (one.last_end_us or 0)


def _list(texts: list[str]) -> str:
    return f"[{', '.join(map(expressions.literal, texts))}]"
