"""Contents of a record: fields, sections of entries, and counters that span several records."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Annotated, Self

from msgspec import Meta, field
from msgspec.structs import force_setattr, replace

from zlens.schema.structs import FactTable, doc

#: Maximum offset, length or number of elements in a record.
LARGEST = 0xFFFF
Size = Annotated[int, Meta(ge=0, le=LARGEST)]
Count = Annotated[int, Meta(ge=1, le=LARGEST)]
Names = tuple[str, ...]
#: Kinds with a meaningful difference between two samples.
DIFFERENCED = ("counter", "timer", "sampled")
#: Minimum length of a counter with a difference, in bytes: a 16-bit counter may wrap any number of times
#: between two samples without trace (a device with 1,675 I/O operations a second counts 100,500 a minute).
LEAST_BYTES = 3


class MonitorField(FactTable, frozen=True):
    """One field of a record or of a section entry.

    `length` is the length of one element as on IBM's pages; an array has `count` elements numbered from
    `first`. A `length` of 0 means text up to the end of the record. The name `*` is a reserved
    area. An overlay names bytes that another field also covers.
    """

    name: Annotated[str, doc("the name on its page")]
    offset: Annotated[Size, doc("its offset")] = field(name="at")
    length: Annotated[Size, doc("its length in bytes")] = field(name="len")
    type: Annotated[str, doc("how to read its bytes")] = ""
    kind: Annotated[str, doc("kind of value")] = "unknown"
    kind_status: Annotated[str, doc("how well that is known")] = "unknown"
    unit: Annotated[str | None, doc("unit of the number")] = None
    text: Annotated[str | None, doc("its text on the record page")] = None
    direction: Annotated[str | None, doc("whether it counts up")] = None
    overlay: Annotated[bool, doc("whether it overlays another")] = False
    count: Annotated[Count, doc("number of elements")] = 1
    first: Annotated[Size, doc("the number of its first element")] = 1
    note: Annotated[str | None, doc("a note")] = None
    status: Annotated[str, doc("how well its place is known, if not as its layout")] = ""

    def __post_init__(self) -> None:
        if not self.type:
            if not self.reserved:
                raise ValueError(f"type is missing ({self.name})")
            # The content of a reserved area is unknown: it is read as bytes.
            force_setattr(self, "type", "character")

    @property
    def total_length(self) -> int:
        return self.length * self.count

    @property
    def end(self) -> int:
        return self.offset + self.length * self.count

    @property
    def reserved(self) -> bool:
        return self.name == "*"

    @property
    def remark(self) -> str:
        """Its note, after the status of its place if that is not the layout's."""
        return ": ".join(part for part in (self.status, self.note) if part)

    @property
    def has_difference(self) -> bool:
        return self.counts and self.length >= LEAST_BYTES

    @property
    def counts(self) -> bool:
        """Whether it is cumulative."""
        return self.kind in DIFFERENCED and self.kind_status != "unknown"


class JoinedCounterSet(FactTable, frozen=True):
    """One set of joined counters: its name in cpumf, its bit, and its own location if each set has one."""

    name: Annotated[str, doc("its letter")]
    bit: Annotated[Count, doc("its bit in the active sets")]
    offset: Annotated[str | None, doc("the field with its offset")] = None
    length: Annotated[str | None, doc("the field with its length")] = None


class RecordJoin(FactTable, frozen=True, kw_only=True):
    """Rules for joining consecutive records; every attribute but `sets` names a field of the record.

    `more` has the bit `more_bit` set if another record follows, in which the fields in `same` have the
    same values and whose time is at most `within_us` microseconds later. The section's `offset` and `length`
    locate the counters of all sets, unless each set has its own. `active` shows which sets are present;
    `cfvn` and `csvn` are the counter versions that determine their sizes.
    """

    more: Annotated[str, doc("the field that shows whether more follows")]
    more_bit: Annotated[Count, doc("its bit")]
    same: Annotated[Names, doc("fields that are the same in all parts")] = ()
    within_us: Annotated[int, doc("maximum distance of parts, in microseconds")]
    length: Annotated[str | None, doc("the field with the length")] = None
    active: Annotated[str, doc("the field with the active sets")]
    cfvn: Annotated[str, doc("the field with the first version number")]
    csvn: Annotated[str, doc("the field with the second version number")]
    sets: Annotated[tuple[JoinedCounterSet, ...], doc("the counter sets")]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields of the record that it needs."""
        locations = [name for counters in self.sets for name in (counters.offset, counters.length) if name]
        needed = (self.more, *self.same, self.active, self.cfvn, self.csvn, *locations)
        return (*needed, self.length) if self.length else needed

    def renamed(self, name: Callable[[str], str]) -> Self:
        """Return the same join with its fields renamed."""

        def maybe(old: str | None) -> str | None:
            return None if old is None else name(old)

        own = {key: name(getattr(self, key)) for key in ("more", "active", "cfvn", "csvn")}
        sets = (replace(each, offset=maybe(each.offset), length=maybe(each.length)) for each in self.sets)
        same = tuple(map(name, self.same))
        return replace(self, **own, same=same, length=maybe(self.length), sets=tuple(sets))

    def fields(self) -> list[tuple[MonitorField, str]]:
        """Return a count for each set and a counter for each number that any machine has."""
        from zlens.catalog import cpumf

        machine_sets = cpumf.sets()
        counts = [
            MonitorField(f"{counters.name}_counters", number, 2, "unsigned", "gauge", "stated", "count",
                  f"counters in the {counters.name} set; NULL: no such set")
            for number, counters in enumerate(self.sets)
        ]  # fmt: skip
        counters = [
            MonitorField(
                f"c{number}", number, 8, "unsigned", "counter", "stated", "count", f"counter {number}"
            )
            for counters in self.sets
            for number in machine_sets[counters.name].numbers
        ]
        return [*((field, "count") for field in counts), *((field, "counter") for field in counters)]


class SectionKeys(FactTable, frozen=True, kw_only=True):
    """Keys that a section has in its file and in a layout."""

    name: Annotated[str, doc("its name")]
    title: Annotated[str, doc("title")]
    count: Annotated[Size | str | None, doc("number of entries: a number, or its field")] = None
    fields: Annotated[tuple[MonitorField, ...], doc("the fields of an entry")] = ()
    subject: Annotated[Names, doc("fields that identify entries")] = ()
    subject_kind: Annotated[str | None, doc("the subject of an entry")] = None
    within: Annotated[str | None, doc("the section it is in")] = None
    source: Annotated[str, doc("where it is described")]
    status: Annotated[str, doc("how well it is known")]
    note: Annotated[str | None, doc("a note")] = None
    bound: Annotated[str | None, doc("the field with its end")] = None
    inner: Annotated[
        tuple[str, str] | None, doc("fields with offset and number of the elements of an entry")
    ] = None
    equal: Annotated[tuple[str, str] | None, doc("fields that are equal")] = None
    ordinal: Annotated[str | None, doc("the name of an entry's number")] = None
    texts_at: Annotated[Size, doc("where texts begin")] = 0
    texts: Annotated[Names, doc("the names of texts")] = ()
    tail: Annotated[tuple[MonitorField, ...], doc("fields after the texts")] = ()
    join: Annotated[RecordJoin | None, doc("how to combine parts in several records")] = None


class MonitorSection(SectionKeys, frozen=True, kw_only=True):
    """Entries after the fixed part of a record.

    `offset` (of the first entry, from the record's start), `stride` (bytes from one entry to the
    next) and `count` are names of fields of the fixed part, or numbers if no field contains them;
    a `count` of None means entries up to the record's end. `length` is the described part of an entry;
    if it exceeds a numeric `stride`, an entry overlaps the next ones.
    `arrays` define entries as elements of the named arrays of the record, each under its name here;
    offsets follow from the arrays. `match` (a field of the fixed part and the hex bytes it begins with)
    distinguishes payloads of one record. `within` names the section whose entry contains the fields
    `offset`, `stride` and `count`; the offset then counts from that entry.

    `bound` is the field of the fixed part with the number of bytes from the first entry on,
    `inner` the two fields of the entry with the offset and length of its data.
    `equal` are two fields of an entry that differ if it was changed while it was copied. `ordinal`
    names a column for the number of the entry, from 1. `texts` begin at `texts_at` of the entry, each
    after its two-byte length, and `tail` are the fields after them, with offsets from their end. `join`:
    records are joined, and a row contains the counters of several records.
    """

    length: int
    offset: str | int
    stride: str | int
    match: tuple[str, str] | None = None
    arrays: tuple[tuple[str, str], ...] = ()

    @property
    def derived(self) -> bool:
        """Whether it is derived from the record, and has no table of its own on a record page."""
        return bool(self.match or self.within or self.arrays or self.join)

    def placed(self, fields: Iterable[MonitorField]) -> Self | None:
        """Return the section located by its arrays in these fields; None if they are missing or overlap."""
        by_name = {field.name: field for field in fields}
        arrays = [(name, by_name[array]) for name, array in self.arrays if array in by_name]
        if not self.arrays or len(arrays) < len(self.arrays):
            return None if self.arrays else self
        ordered = sorted((array for _, array in arrays), key=lambda array: array.offset)
        if any(before.end > after.offset for before, after in pairwise(ordered)):
            return None
        first = ordered[0].offset
        elements = tuple(
            replace(array, name=name, offset=array.offset - first, count=1, overlay=False)
            for name, array in arrays
        )
        return replace(
            self,
            offset=first,
            stride=arrays[0][1].length,
            count=min(array.count for _, array in arrays),
            length=max(element.end for element in elements),
            fields=elements,
        )

    @property
    def rows(self) -> tuple[tuple[MonitorField, str], ...]:
        """The fields of a row in addition to its record's, each with the part of the row that contains it."""
        parts = [(field, "entry") for field in self.fields]
        if self.ordinal:
            parts.append((_number(self.ordinal), "ordinal"))
        parts += [(_text_field(name), "string") for name in self.texts]
        parts += [(field, "tail") for field in self.tail]
        return tuple(parts) if self.join is None else (*parts, *self.join.fields())


def _number(name: str) -> MonitorField:
    return MonitorField(name, 1, 4, "unsigned", "identifier", "stated", text="number of the entry, from 1")


def _text_field(name: str) -> MonitorField:
    return MonitorField(name, 0, 0, "character", "text", "stated", "ascii")
