"""Reader interface for rows that depend on other files: differences across file boundaries.

A file decoded alone has no difference for the first sample of a subject, because the sample before it stands
in another file. For each system of a file a reader with joints can cut out records, as a small file of its
own format, and decode such pieces of several files one behind the other. All rules of resets, wraps and gaps
are then those of any decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Protocol

from msgspec import Struct

from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, Source

#: Modules with `joints` and `rejoin`, by the name of their source.
BOUNDARY_MODULES = {"zvm-monitor": "zvm.boundaries", "smf": "smf.boundaries"}
#: Sources whose records of one interval may stand in several files, and how far their ends may lie apart
#: then, in microseconds. They are decoded again as a whole.
END_TOLERANCE_US = {"smf": 20_000}

#: Sources that record an interval completely in one file; the same interval in a second file is a duplicate.
COMPLETE_IN_ONE_FILE = frozenset({"rmf-xml", "rmf3-xml", "linux-sysinfo", "hmc", "dds"})

#: Sources of which an interval of one table, or one subject of it in a listing, stands whole in one file; the
#: others may stand in other files.
COMPLETE_BY_TABLE = frozenset({"rmf-text", "listing", "listing-means"})


class ResetEvidence(Struct, frozen=True):
    """That counters of a table were reset at a moment; subject None: those of every subject.

    `moment` is the reader's own stamp, `us` about the same in microseconds since 1970, UTC. A subject is
    named by the values of its columns joined by `/`, or by the first of them.
    """

    moment: int
    us: int
    table: str
    subject: str | None
    kind: str


class IntervalDigest(Struct, frozen=True):
    """What the records of an interval are, in any order: digests of its samples and of its events."""

    samples: int
    events: int
    event_sum: int

    def repeats(self, known: IntervalDigest, *, first: bool) -> bool:
        """Whether every record of the interval is also in an interval that was already read.

        first   a recording begins within this interval, so that it lacks the events before that
        """
        if self.samples != known.samples:
            return False
        fewer = first and self.events < known.events
        return fewer or (self.events, self.event_sum) == (known.events, known.event_sum)


class IntervalMark(Struct, frozen=True):
    """The end of an interval: microseconds since 1970, UTC, samples in it, where its record begins.

    begin   where the first record of the interval is
    """

    end_us: int
    samples: int
    offset: int
    begin: int
    digest: IntervalDigest


class RepeatedRange(Struct):
    """Intervals in a row that were already read: their bytes, how many, the first and the last end."""

    begin: int
    end: int
    first: int
    last: int
    is_duplicate: bool
    count: int = 1

    def detail(self, clock: Callable[[int], str]) -> str:
        span = " to ".join(clock(moment) for moment in dict.fromkeys((self.first, self.last)))
        if self.is_duplicate:
            return f"the samples of {self.count:,} intervals were already read ({span} UTC); read once"
        return (
            f"{self.count:,} intervals were already read with other records ({span} UTC); "
            "only those read first are shown"
        )

    @property
    def kind(self) -> str:
        return "duplicate" if self.is_duplicate else "conflict"


def append_repeat(repeats: list[RepeatedRange], repeat: RepeatedRange) -> None:
    """Add intervals that were already read to those before them."""
    if repeats and repeats[-1].end == repeat.begin and repeats[-1].is_duplicate == repeat.is_duplicate:
        repeats[-1].end, repeats[-1].last = repeat.end, repeat.last
        repeats[-1].count += repeat.count
    else:
        repeats.append(repeat)


class BoundaryReader(Protocol):
    """One system of an opened file."""

    #: Whether seams need all records, not those of the first and the last sample only.
    needs_all_records: bool

    def subject(self, table: str) -> list[str] | None:
        """The columns whose values identify the subject of a row; None: rows stand for themselves."""
        ...

    def span(self) -> tuple[int, int] | None:
        """The first and the last interval end, shown or not, in microseconds since 1970, UTC."""
        ...

    def marks(self) -> list[IntervalMark]:
        """Interval ends in the order of the file, those too that close no samples.

        The records between two of them are an interval; one that ends as another file's did is that again.
        """
        ...

    def evidence(self) -> Iterable[ResetEvidence]:
        """What the file knows of counters that were reset."""
        ...

    def offsets(self) -> list[int]:
        """Where the decoded records begin; of sources that need all of them."""
        ...

    def extract_records(self, offsets: Sequence[int], path: str) -> None:
        """Write the records that begin there into a file of their own, in their order."""
        ...


class StitchedRecords(Protocol):
    """Pieces of several files, of which one is of interest."""

    #: Offset of each record in the original file, by its offset in the fragment.
    original_offsets: dict[int, int]
    #: The piece, as the column `file` names it.
    file: str

    @property
    def tables(self) -> list[str]: ...
    def stream(self, table: str, columns: list[str]) -> ArrowSource:
        """Rows of all pieces; `seconds`, `flag` and differences are right from the second sample on."""
        ...

    def intervals(self) -> list[Interval] | None:
        """The intervals that the piece tells of; None where they follow from marks."""
        ...

    def resets(self) -> list[tuple[int, str, str, str]]:
        """After reading: microseconds UTC, table, subject and evidence, in any of the pieces."""
        ...

    def problems(self) -> list[Problem]:
        """After reading: problems of the fragment next to the others, with offsets in the original file."""
        ...


def boundary_reader(source: Source, system: str) -> BoundaryReader | None:
    """The joints of a system of a source with one file; None where no row depends on another file."""
    name = BOUNDARY_MODULES.get(source.name)
    if name is None:
        return None
    found: BoundaryReader = import_module(f"zlens.readers.{name}").joints(source, system)
    return found


def deduplicated_tables(source: str) -> dict[str, list[str]]:
    """Kinds of record that are read once when several files hold copies, with the tables of each."""
    if source not in END_TOLERANCE_US:
        return {}
    found: dict[str, list[str]] = import_module(f"zlens.readers.{BOUNDARY_MODULES[source]}").copied()
    return found


def stitch(
    source: str,
    pieces: Sequence[str],
    own: int,
    offsets: Sequence[int],
    *,
    leap: int,
    nominal_s: float | None,
    evidence: Iterable[ResetEvidence],
) -> StitchedRecords:
    """Open pieces that `cut` made, in the order of time; `offsets` are those of piece `own`."""
    module: Any = import_module(f"zlens.readers.{BOUNDARY_MODULES[source]}")
    found: StitchedRecords = module.rejoin(
        pieces, own, offsets, leap=leap, nominal_s=nominal_s, evidence=evidence
    )
    return found
