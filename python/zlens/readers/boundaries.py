"""Previous samples: what a reader provides for rows that depend on records of other files.

The first sample of a subject in a file has no difference, because the previous sample is in another file. A
boundary reader names the subjects of a table, the evidence of resets, and the intervals with digests that
tell which of them are repeated. It extracts records of a system into a fragment, a small file of the same
format. Fragments of several files are decoded in sequence, so the usual rules of resets, wraps and gaps
apply. A lake stores fragments of its inputs; a stream retains one at every cut point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import expressions
from zlens.errors import InputError
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, Source
from zlens.inputs.unix_time import from_unix_us
from zlens.schema.wording import phrase

#: Modules with `open_boundary`, `STITCHED` and, for END_TOLERANCE_US, `deduplicated_tables`; by source.
BOUNDARY_MODULES = {"zvm-monitor": "zvm.boundaries", "smf": "smf.boundaries"}
#: Sources whose records of one interval may be in several files, and the maximum difference of their ends in
#: microseconds. All of their records are decoded again.
END_TOLERANCE_US = {"smf": 20_000}

#: Sources that record an interval completely in one file; the same interval in a second file is a duplicate.
COMPLETE_IN_ONE_FILE = frozenset({"rmf-xml", "rmf3-xml", "linux-sysinfo", "hmc", "dds"})

#: Sources that record an interval of a table, in a listing of a subject, completely in one file; other tables
#: of the interval may be in other files.
COMPLETE_BY_TABLE = frozenset({"rmf-text", "listing", "listing-means"})
#: Sources whose rows depend on other inputs only because these may have the same intervals.
COMPLETE_IN_ONE_INPUT = COMPLETE_IN_ONE_FILE | COMPLETE_BY_TABLE

#: IntervalBounds or IntervalMark.
Bounds = TypeVar("Bounds", bound="IntervalBounds")


class ResetEvidence(Struct, frozen=True):
    """Evidence of a counter reset in a table; subject None: the counters of every subject.

    `moment` is the reader's own timestamp, `us` about the same in microseconds since 1970, UTC. A subject is
    identified by the values of its columns joined by `/`, or by the first of them.
    """

    moment: int
    us: int
    table: str
    subject: str | None
    kind: str


class IntervalDigest(Struct, frozen=True):
    """Digests of the samples and the events of an interval, independent of their order."""

    samples: int
    events: int
    event_sum: int

    def repeats(self, known: IntervalDigest, *, first: bool) -> bool:
        """Return whether every record of the interval is also in an interval that was already read.

        first   a recording starts within this interval, so earlier events are missing
        """
        if self.samples != known.samples:
            return False
        fewer = first and self.events < known.events
        return fewer or (self.events, self.event_sum) == (known.events, known.event_sum)


class IntervalBounds(Struct, frozen=True):
    """An interval end: microseconds since 1970, UTC, the number of samples, and the offset of its record.

    begin   offset of the first record of the interval
    """

    end_us: int
    samples: int
    offset: int
    begin: int


class IntervalMark(IntervalBounds, frozen=True):
    """An interval end with the digest of its records."""

    digest: IntervalDigest


class RepeatedRange(Struct):
    """Consecutive intervals that were already read: their bytes, their number, the first and the last end."""

    begin: int
    end: int
    first: int
    last: int
    is_duplicate: bool
    count: int = 1

    @property
    def detail(self) -> str:
        ends = dict.fromkeys((self.first, self.last))
        span = " to ".join(f"{from_unix_us(end_us):%Y-%m-%d %H:%M:%S}" for end_us in ends)
        if self.is_duplicate:
            return f"the samples of {self.count:,} intervals were already read ({span} UTC); read once"
        return (
            f"{self.count:,} intervals were already read with other records ({span} UTC); "
            "only the records read first are shown"
        )

    @property
    def kind(self) -> str:
        return "duplicate" if self.is_duplicate else "conflict"


def find_repeats(
    marks: Iterable[Bounds], compare: Callable[[Bounds, bool], bool | None]
) -> list[RepeatedRange]:
    """Return the ranges of consecutive intervals that were already read.

    compare   returns whether an interval repeats the one that was read with its end, None if there is none,
              given the interval and whether a recording starts within it
    """
    repeats: list[RepeatedRange] = []
    next_offset, first = 0, True
    for mark in marks:
        # The end of the configuration records at the start of a recording closes no samples.
        first = first or mark.begin > next_offset
        next_offset = mark.offset + 1
        if not mark.samples:
            continue
        is_duplicate, first = compare(mark, first), False
        if is_duplicate is None:
            continue
        if repeats and repeats[-1].end == mark.begin and repeats[-1].is_duplicate == is_duplicate:
            repeats[-1].end, repeats[-1].last = next_offset, mark.end_us
            repeats[-1].count += 1
        else:
            repeats.append(RepeatedRange(mark.begin, next_offset, mark.end_us, mark.end_us, is_duplicate))
    return repeats


class BoundaryReader(ABC):
    """One system of an opened file. By default, rows depend on the previous record of their subject only."""

    #: Whether boundaries need all records instead of the first and last samples.
    needs_all_records = False

    @abstractmethod
    def subject(self, table: str) -> list[str] | None:
        """Return the columns that identify the subject of a row; None if rows do not depend on other rows."""

    @abstractmethod
    def span(self) -> tuple[int, int] | None:
        """Return the first and the last interval end, shown or not, in microseconds since 1970, UTC."""

    def first_samples(self) -> int:
        """Return the samples of the first interval, for sources whose records of one are in several files."""
        return 0

    def marks(self) -> list[IntervalMark]:
        """Return the interval ends in file order, including those that close no samples.

        The records between two ends are an interval. An interval with the same end as one of another file
        repeats it. Sources without marks have records of an interval in several files.
        """
        return []

    def evidence(self) -> Iterable[ResetEvidence]:
        """Return the evidence of counter resets in the file that is not in the compared records."""
        return ()

    def offsets(self) -> list[int]:
        """Return the offsets of the decoded records, for sources that need all of them."""
        return []

    @abstractmethod
    def extract_records(self, offsets: Sequence[int], path: str) -> None:
        """Write the records at these offsets into a separate file, in their order."""


class Fragments(Struct, frozen=True):
    """Fragments that `extract_records` wrote, in order of time, of which one is decoded after the others.

    paths      paths of all fragments
    index      the one that is decoded, and `offsets` of its records in the original file
    nominal_s  usual length of its intervals; `leap`: leap seconds
    """

    paths: Sequence[str]
    index: int
    offsets: Sequence[int]
    leap: int
    nominal_s: float | None
    evidence: Iterable[ResetEvidence]

    @property
    def file(self) -> str:
        """The path of the fragment that is decoded."""
        return self.paths[self.index]


class StitchedRecords(ABC):
    """Fragments of several files, one of which provides the rows.

    file               path of this fragment, as in the column `file`
    original_offsets   offset of each record in the original file, by its offset in the fragment
    """

    def __init__(self, fragments: Fragments, offsets: Sequence[int]) -> None:
        if len(offsets) != len(fragments.offsets):
            message = "a fragment of an input does not contain the records it was extracted from"
            raise InputError(message, file=fragments.file, cure=phrase("lake_check", lake="LAKE"))
        self.file = fragments.file
        self.original_offsets = dict(zip(offsets, sorted(fragments.offsets), strict=True))

    def with_original_offset(self, problem: Problem) -> Problem:
        """Return a problem of the fragment with its offset in the original file."""
        offset = None if problem.offset is None else self.original_offsets.get(problem.offset)
        return replace(problem, offset=offset)

    @property
    @abstractmethod
    def tables(self) -> list[str]: ...

    @abstractmethod
    def stream(self, table: str, columns: list[str]) -> ArrowSource:
        """Return the rows of all fragments; `seconds`, `flag` and differences need a previous sample."""

    def intervals(self) -> list[Interval] | None:
        """Return the intervals that the fragment describes; None if they follow from marks."""
        return None

    @abstractmethod
    def resets(self) -> list[tuple[int, str, str, str]]:
        """Return resets in any fragment, after reading: microseconds UTC, table, subject and evidence."""

    @abstractmethod
    def problems(self) -> list[Problem]:
        """Return the problems of the fragment, after reading, with offsets in the original file."""


def subject_sql(columns: Sequence[str]) -> str:
    """Return the SQL of a subject as the decoder names it: the values of its columns joined by `/`."""
    texts = [f"coalesce(CAST({expressions.quote(name)} AS VARCHAR), '')" for name in columns]
    return " || '/' || ".join(texts) or "''"


def subject_records_sql(
    columns: Sequence[str], rows: str, *, end: int | None = None, values: Sequence[str] = ()
) -> str:
    """Return the SQL of the first and the last record of every subject, by offset and time.

    columns   columns of a subject
    rows      a FROM item with these columns, `offset` and `tod`
    end       `last_offset` is before this offset, NULL if the subject has no record there
    values    SQL of further values of a subject
    """
    before_end = "" if end is None else f'FILTER ("offset" < {end})'
    selected = [
        f"{subject_sql(columns)} AS subject",
        'min("offset") AS first_offset',
        f'max("offset") {before_end} AS last_offset',
        'epoch_us(arg_min(tod, "offset")) AS first_us',
        'epoch_us(arg_max(tod, "offset")) AS last_us',
        *values,
    ]
    return f"SELECT {', '.join(selected)} FROM {rows} GROUP BY subject"


def _module(source: str) -> Any:
    return import_module(f"zlens.readers.{BOUNDARY_MODULES[source]}")


def boundary_reader(source: Source, system: str) -> BoundaryReader | None:
    """Return the boundary reader of a system in a source with one file; None if no row needs other files."""
    if source.name not in BOUNDARY_MODULES:
        return None
    reader: BoundaryReader | None = _module(source.name).open_boundary(source, system)
    return reader


def deduplicated_tables(source: str) -> dict[str, list[str]]:
    """Return the record types that are read once when several files repeat them, with their tables."""
    if source not in END_TOLERANCE_US:
        return {}
    tables: dict[str, list[str]] = _module(source).deduplicated_tables()
    return tables


def stitch(source: str, fragments: Fragments) -> StitchedRecords:
    """Decode fragments of a source."""
    records: StitchedRecords = _module(source).STITCHED(fragments)
    return records
