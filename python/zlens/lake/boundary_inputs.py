"""Dependencies of the boundaries of a system's parts: other parts, and evidence of resets in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from itertools import pairwise

from msgspec import Struct, field

from zlens.catalog import expressions
from zlens.lake.manifest import InputPart, LakeInput
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.readers.boundaries import COMPLETE_IN_ONE_INPUT, END_TOLERANCE_US

#: Part of every key: a new version computes all boundaries again.
_VERSION = 1

#: First and last interval end, both inclusive.
Span = tuple[int, int]
#: One system of one input.
Pair = tuple[LakeInput, InputPart]


class BoundaryInputs(Struct):
    """Dependencies of a boundary: other parts, by index, and evidence of resets.

    before     parts with the sample before the first one of a subject
    after      parts whose interval ends close open intervals
    beside     other parts that cover the same times
    repeated   earlier parts that may have records of the part
    evidence   digest of the evidence of resets in between
    """

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    beside: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    evidence: str = ""

    @property
    def has_neighbors(self) -> bool:
        """Whether rows of the part are compared with rows of other parts."""
        return bool(self.before or self.after or self.beside)

    def key(self, pair: Pair, parts: list[Pair]) -> str | None:
        """Return a key that identifies the dependencies; None if no other part affects this one."""
        neighbors = [self.before, self.after, self.beside]
        if self.repeated:
            neighbors.append(self.repeated)
        if not any(neighbors):
            return None
        names = [[_name(parts[place]) for place in places] for places in neighbors]
        facts = [_VERSION, _name(pair), self.evidence, *names]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def ignore_removed_parts(self, source: str, parts: list[Pair]) -> None:
        """Ignore parts without raw tables: they have fragments, but no rows to compare with."""
        self.repeated = [index for index in self.repeated if parts[index][1].raw]
        if source in COMPLETE_IN_ONE_INPUT:
            self.beside = [index for index in self.beside if parts[index][1].raw]


def _name(pair: Pair) -> str:
    return f"{pair[0].sha256}/{pair[1].document}/{pair[1].system}"


def boundary_inputs(
    engine: ParquetEngine, source: str, parts: list[Pair], side: Callable[[Pair, str], str]
) -> list[BoundaryInputs]:
    """Return the dependencies of every part's boundary. `side` locates a file next to a part's document."""
    inputs_by_part = [BoundaryInputs() for _ in parts]
    joined = [index for index, (_, part) in enumerate(parts) if part.joined]
    for index, inputs in enumerate(inputs_by_part):
        if source in COMPLETE_IN_ONE_INPUT:
            inputs.beside = _concurrent_parts(parts, index)
        elif parts[index][1].joined:
            inputs.after = _closing_parts(parts, index)
            inputs.beside = _concurrent_parts(parts, index)
        inputs.repeated = [
            other for other in range(index) if shared_span(parts[other][1], parts[index][1]) is not None
        ]
    if joined:
        _find_previous(engine, parts, joined, side, inputs_by_part)
    if source in END_TOLERANCE_US:
        # Any earlier interval determines an interval's length.
        for previous, index in pairwise(joined):
            inputs_by_part[index].before = inputs_by_part[index].before or [previous]
    return inputs_by_part


def _find_previous(
    engine: ParquetEngine,
    parts: list[Pair],
    joined: list[int],
    side: Callable[[Pair, str], str],
    inputs_by_part: list[BoundaryInputs],
) -> None:
    """Find the parts with the sample before the first one of each subject, and evidence of resets in between.

    Creates the tables `seen` (first and last records of subjects), `pairs` (the same with the previous part)
    and `held` (evidence between the two).
    """
    paths = [side(parts[index], "subjects.parquet") for index in joined]
    part_numbers = f"[{', '.join(map(str, joined))}][list_position({sql_list(paths)}, filename)]"
    engine.rows(
        f"CREATE OR REPLACE TABLE seen AS SELECT {part_numbers} AS part, * EXCLUDE (filename) "
        f"FROM {read_parquet_sql(paths, 'filename = true')}"
    )
    engine.rows(
        "CREATE OR REPLACE TABLE pairs AS SELECT *, arg_max(part, last_us) OVER earlier AS before, "
        "max(last_us) OVER earlier AS before_us FROM seen WINDOW earlier AS (PARTITION BY "
        '"table", subject ORDER BY part ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)'
    )
    for index, previous in engine.rows(
        "SELECT part, list_sort(list_distinct(list(before))) FROM pairs "
        "WHERE before IS NOT NULL GROUP BY part"
    ):
        inputs_by_part[index].before = previous
    _evidence(engine, [side(parts[index], "evidence.parquet") for index in joined], inputs_by_part)


def _evidence(engine: ParquetEngine, paths: list[str], inputs_by_part: list[BoundaryInputs]) -> None:
    """Collect the evidence on each subject between its last sample in one part and its first in the next."""
    engine.rows(
        "CREATE OR REPLACE TABLE event_rows AS SELECT DISTINCT moment, us, "
        f"unnest(string_split(tables, ' ')) AS \"table\", subject, kind FROM {read_parquet_sql(paths)}"
    )
    between = 'e."table" = p."table" AND e.us >= p.before_us AND e.us <= p.first_us'
    engine.rows(
        "CREATE OR REPLACE TABLE held AS "
        f"SELECT p.part, e.* FROM pairs AS p JOIN event_rows AS e ON {between} WHERE e.subject IS NULL UNION "
        f"SELECT p.part, e.* FROM pairs AS p JOIN event_rows AS e ON {between} "
        "AND split_part(e.subject, '/', 1) = split_part(p.subject, '/', 1) "
        "WHERE p.subject = e.subject OR starts_with(p.subject, e.subject || '/')"
    )
    for index, digest in engine.rows(
        "SELECT part, md5(string_agg("
        "concat_ws(' ', moment, \"table\", subject IS NULL, subject, kind), chr(10) "
        'ORDER BY moment, "table", subject NULLS FIRST, kind)) FROM held GROUP BY part'
    ):
        inputs_by_part[index].evidence = digest


def _closing_parts(parts: list[Pair], index: int) -> list[int]:
    """Return the parts whose interval ends may close rows that a part leaves open."""
    open_us = parts[index][1].open_us
    if open_us is None:
        return []
    first, last = open_us
    ends = sorted(
        (part.first_end_us, other_index)
        for other_index, (_, part) in enumerate(parts)
        if other_index != index and part.first_end_us is not None and (part.last_end_us or 0) >= first
    )
    within = [other_index for end, other_index in ends if end <= last]
    beyond = [other_index for end, other_index in ends if end > last][:1]
    return within + beyond


def _concurrent_parts(parts: list[Pair], index: int) -> list[int]:
    """Return earlier parts that cover the same times as a part; for some sources also later parts."""
    imported, part = parts[index]
    tolerance_us = END_TOLERANCE_US.get(imported.source)
    # Only parts with differences have the fragments for decoding an entire part again.
    others = [
        (other_index, other)
        for other_index, (_, other) in enumerate(parts)
        if (other_index < index if tolerance_us is None else other_index != index and other.joined)
    ]
    return [other_index for other_index, other in others if _overlap(other, part, tolerance_us or 0)]


def _overlap(part: InputPart, other: InputPart, tolerance_us: int) -> bool:
    if part.first_end_us is None or other.first_end_us is None:
        return False
    return (
        part.first_end_us <= (other.last_end_us or 0) + tolerance_us
        and other.first_end_us <= (part.last_end_us or 0) + tolerance_us
    )


def shared_span(part: InputPart, earlier: InputPart) -> Span | None:
    """Return the times for which the records of two parts are compared."""
    if part.records_us is None or earlier.records_us is None:
        return None
    first = max(part.records_us[0], earlier.records_us[0])
    last = min(part.records_us[1], earlier.records_us[1])
    # Inputs that only meet may share the records of the interval that ended at that time.
    return (first, last) if first <= last else None


def sql_list(texts: list[str]) -> str:
    return f"[{', '.join(map(expressions.literal, texts))}]"
