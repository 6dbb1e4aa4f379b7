"""What the seams of a system's parts depend on: other parts, and evidence of resets in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from msgspec import Struct, field

from zlens.catalog import expressions
from zlens.lake.manifest import InputPart, LakeInput
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.readers.boundaries import END_TOLERANCE_US

#: Part of every key: a new version makes all seams again.
_VERSION = 1

#: One system of one input.
Pair = tuple[LakeInput, InputPart]


class BoundaryInputs(Struct):
    """What a boundary depends on: other parts, by index, and evidence of resets.

    before     those with the sample before the first one of a subject
    after      those whose interval ends close what is left open
    beside     others that cover the same times
    repeated   earlier ones that may have records of the part
    evidence   evidence of resets in between, as a digest
    """

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    evidence: str = ""

    @property
    def has_neighbors(self) -> bool:
        """Whether rows of the part are compared with those of others."""
        return bool(self.before or self.after or self.beside)

    def key(self, pair: Pair, parts: list[Pair]) -> str | None:
        """A key that identifies the ground; None if nothing around the part affects it."""
        neighbors = [self.before, self.after, self.beside]
        if self.repeated:
            neighbors.append(self.repeated)
        if not any(neighbors):
            return None
        names = [[_name(parts[place]) for place in places] for places in neighbors]
        facts = [_VERSION, _name(pair), self.evidence, *names]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _name(pair: Pair) -> str:
    return f"{pair[0].sha256}/{pair[1].document}/{pair[1].system}"


def boundary_inputs(
    engine: ParquetEngine, parts: list[Pair], side: Callable[[Pair, str], str]
) -> list[BoundaryInputs]:
    """The ground of every part's seam. `side` locates a file next to a part's document.

    Leaves the tables `seen` (first and last records of subjects), `pairs` (the same with the part before)
    and `held` (evidence between the two).
    """
    grounds_of_parts = [BoundaryInputs() for _ in parts]
    joined = [index for index, (_, part) in enumerate(parts) if part.joined]
    for index in joined:
        grounds_of_parts[index].after = closing_parts(parts, index)
        grounds_of_parts[index].beside = concurrent_parts(parts, index)
    paths = [side(parts[index], "subjects.parquet") for index in joined]
    places = f"[{', '.join(map(str, joined))}][list_position({sql_list(paths)}, filename)]"
    engine.rows(
        f"CREATE OR REPLACE TABLE seen AS SELECT {places} AS part, * EXCLUDE (filename) "
        f"FROM {read_parquet_sql(paths, 'filename = true')}"
    )
    engine.rows(
        "CREATE OR REPLACE TABLE pairs AS SELECT *, arg_max(part, last_us) OVER earlier AS before, "
        "max(last_us) OVER earlier AS before_us FROM seen WINDOW earlier AS (PARTITION BY "
        '"table", subject ORDER BY part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
    )
    for index, before in engine.rows(
        "SELECT part, list_sort(list_distinct(list(before))) FROM pairs "
        "WHERE before IS NOT NULL GROUP BY part"
    ):
        grounds_of_parts[index].before = before
    _evidence(engine, [side(parts[index], "evidence.parquet") for index in joined], grounds_of_parts)
    return grounds_of_parts


def _evidence(engine: ParquetEngine, paths: list[str], grounds_of_parts: list[BoundaryInputs]) -> None:
    """The evidence on each subject between its last sample in one part and its first in the next."""
    engine.rows(
        "CREATE OR REPLACE TABLE told AS SELECT DISTINCT moment, us, "
        f"unnest(string_split(tables, ' ')) AS \"table\", subject, kind FROM {read_parquet_sql(paths)}"
    )
    between = 'e."table" = p."table" AND e.us >= p.before_us AND e.us <= p.first_us'
    engine.rows(
        "CREATE OR REPLACE TABLE held AS "
        f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} WHERE e.subject IS NULL UNION "
        f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} "
        "AND split_part(e.subject, '/', 1) = split_part(p.subject, '/', 1) "
        "WHERE p.subject = e.subject OR starts_with(p.subject, e.subject || '/')"
    )
    for index, digest in engine.rows(
        "SELECT part, md5(string_agg("
        "concat_ws(' ', moment, \"table\", subject IS NULL, subject, kind), chr(10) "
        'ORDER BY moment, "table", subject NULLS FIRST, kind)) FROM held GROUP BY part'
    ):
        grounds_of_parts[index].evidence = digest


def closing_parts(parts: list[Pair], index: int) -> list[int]:
    """The parts whose interval ends may close rows that a part leaves open."""
    waiting = parts[index][1].open_us
    if waiting is None:
        return []
    first, last = waiting
    ends = sorted(
        (part.first_end_us, place)
        for place, (_, part) in enumerate(parts)
        if place != index and part.first_end_us is not None and (part.last_end_us or 0) >= first
    )
    within = [place for end, place in ends if end <= last]
    beyond = [place for end, place in ends if end > last][:1]
    return within + beyond


def concurrent_parts(parts: list[Pair], index: int) -> list[int]:
    """Parts that cover the same times as a part: earlier ones; for some sources later ones too."""
    imported, part = parts[index]
    near = END_TOLERANCE_US.get(imported.source)
    last = index if near is None else len(parts)
    # Pieces for decoding a whole part again exist only for parts with differences.
    return [
        place
        for place in range(last)
        if place != index and (near is None or parts[place][1].joined)
        if _overlap(parts[place][1], part, near or 0)
    ]


def _overlap(part: InputPart, other: InputPart, near: int) -> bool:
    if part.first_end_us is None or other.first_end_us is None:
        return False
    return (
        part.first_end_us <= (other.last_end_us or 0) + near
        and other.first_end_us <= (part.last_end_us or 0) + near
    )


def sql_list(texts: list[str]) -> str:
    return f"[{', '.join(map(expressions.literal, texts))}]"
