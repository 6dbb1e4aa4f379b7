"""What the seams of a system's parts rest on: which other parts, and what is known of resets in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from zlens.catalog import expressions
from zlens.lake.manifest import Input, Part
from zlens.lake.parquet_engine import ParquetEngine, parquet
from zlens.readers.joints import NEAR_US

#: Part of every key: another way of making seams makes all of them again.
_VERSION = 1

#: One system of one input.
Pair = tuple[Input, Part]


@dataclass(slots=True)
class Ground:
    """What a seam rests on: parts, by their place in the order, and evidence.

    before     those with the sample before the first one of a subject
    after      those whose interval ends close what is left open
    beside     others that tell of the same times
    repeated   earlier ones that may have records of the part
    evidence   what is known of resets in between, as a digest
    """

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    evidence: str = ""

    @property
    def is_joined(self) -> bool:
        """Whether rows of the part are compared with those of others."""
        return bool(self.before or self.after or self.beside)

    def key(self, own: Pair, parts: list[Pair]) -> str | None:
        """The same for the same ground; None where nothing around the part concerns it."""
        around = [self.before, self.after, self.beside]
        if self.repeated:
            around.append(self.repeated)
        if not any(around):
            return None
        told = [[_name(parts[at]) for at in some] for some in around]
        facts = [_VERSION, _name(own), self.evidence, *told]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _name(pair: Pair) -> str:
    return f"{pair[0].sha256}/{pair[1].document}/{pair[1].system}"


def grounds(shop: ParquetEngine, parts: list[Pair], side: Callable[[Pair, str], str]) -> list[Ground]:
    """What every part's seam rests on. `side` finds a file beside a part's document.

    Leaves the tables `seen` (first and last records of subjects), `pairs` (the same with the part before)
    and `held` (evidence between the two).
    """
    found = [Ground() for _ in parts]
    joined = [at for at, (_, part) in enumerate(parts) if part.joined]
    for at in joined:
        found[at].after = closing(parts, at)
        found[at].beside = beside(parts, at)
    paths = [side(parts[at], "subjects.parquet") for at in joined]
    places = f"[{', '.join(map(str, joined))}][list_position({sql_list(paths)}, filename)]"
    shop.rows(
        f"CREATE OR REPLACE TABLE seen AS SELECT {places} AS part, * EXCLUDE (filename) "
        f"FROM {parquet(paths, 'filename = true')}"
    )
    shop.rows(
        "CREATE OR REPLACE TABLE pairs AS SELECT *, arg_max(part, last_us) OVER earlier AS before, "
        "max(last_us) OVER earlier AS before_us FROM seen WINDOW earlier AS (PARTITION BY "
        '"table", subject ORDER BY part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
    )
    for at, before in shop.rows(
        "SELECT part, list_sort(list_distinct(list(before))) FROM pairs "
        "WHERE before IS NOT NULL GROUP BY part"
    ):
        found[at].before = before
    _evidence(shop, [side(parts[at], "evidence.parquet") for at in joined], found)
    return found


def _evidence(shop: ParquetEngine, paths: list[str], found: list[Ground]) -> None:
    """What is known of each subject between its last sample in one part and its first in the next."""
    shop.rows(
        "CREATE OR REPLACE TABLE told AS SELECT DISTINCT moment, us, "
        f"unnest(string_split(tables, ' ')) AS \"table\", subject, kind FROM {parquet(paths)}"
    )
    between = 'e."table" = p."table" AND e.us >= p.before_us AND e.us <= p.first_us'
    shop.rows(
        "CREATE OR REPLACE TABLE held AS "
        f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} WHERE e.subject IS NULL UNION "
        f"SELECT p.part, e.* FROM pairs AS p JOIN told AS e ON {between} "
        "AND split_part(e.subject, '/', 1) = split_part(p.subject, '/', 1) "
        "WHERE p.subject = e.subject OR starts_with(p.subject, e.subject || '/')"
    )
    for at, digest in shop.rows(
        "SELECT part, md5(string_agg("
        "concat_ws(' ', moment, \"table\", subject IS NULL, subject, kind), chr(10) "
        'ORDER BY moment, "table", subject NULLS FIRST, kind)) FROM held GROUP BY part'
    ):
        found[at].evidence = digest


def closing(parts: list[Pair], at: int) -> list[int]:
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


def beside(parts: list[Pair], at: int) -> list[int]:
    """Parts that tell of the same times as a part: earlier ones; of some sources later ones too."""
    one, part = parts[at]
    near = NEAR_US.get(one.source)
    last = at if near is None else len(parts)
    # What is decoded again as a whole was kept of parts with differences only.
    return [
        place
        for place in range(last)
        if place != at and (near is None or parts[place][1].joined)
        if _overlap(parts[place][1], part, near or 0)
    ]


def _overlap(one: Part, other: Part, near: int) -> bool:
    if one.first_end_us is None or other.first_end_us is None:
        return False
    return (
        one.first_end_us <= (other.last_end_us or 0) + near
        and other.first_end_us <= (one.last_end_us or 0) + near
    )


def sql_list(texts: list[str]) -> str:
    return f"[{', '.join(map(expressions.literal, texts))}]"
