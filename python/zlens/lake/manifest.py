"""The manifest: the contents of a lake. Files that it does not list are ignored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, field, to_builtins
from msgspec.json import Decoder
from msgspec.structs import asdict

from zlens.errors import InputError, QueryError
from zlens.inputs.identity import KnownSystem
from zlens.inputs.unix_time import time_range
from zlens.lake import file_names, json_files
from zlens.lake.json_files import Key, Moments, Sha256
from zlens.schema import document
from zlens.schema.structs import Count, Int64, Text
from zlens.schema.validators import DocumentErrors
from zlens.schema.wording import phrase

VERSION = 2
#: Version of the rules that identify, weight and add up measures. A new version computes measures again;
#: measures without raw data stay, marked as computed by earlier rules.
RULES = 3

_Date = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d\Z", title="a date")]


class BoundaryRef(Struct, forbid_unknown_fields=True):
    """Reference to the document of a part's boundary."""

    key: Key
    sha256: Sha256


class InputPart(Struct, forbid_unknown_fields=True):
    """One system of one input. Times in microseconds since 1970, UTC.

    `document` and `place` locate the list of its files; `open_us` are the first and last time of rows whose
    interval ends in a later input.
    """

    system: Text
    document: Key
    place: Count
    first_us: Int64 | None = None
    last_us: Int64 | None = None
    first_end_us: Int64 | None = None
    last_end_us: Int64 | None = None
    #: Samples of its first interval, for sources whose records of one interval may be in several inputs.
    first_samples: Count = 0
    open_us: Moments | None = None
    #: First and last interval end of all rows, if record types have their own intervals.
    records_us: Moments | None = None
    local_time: bool = False
    #: Whether differences continue from one input to the next.
    joined: bool = False
    seam: BoundaryRef | None = None
    #: The sources of its rows, if they differ from the input's.
    sources: list[Text] = field(default_factory=list)
    #: False: its raw tables were removed; data that its neighbors need remain.
    raw: bool = True
    #: Digest of its tables and their schemas; empty: not written yet.
    tables: Key = ""
    #: Start times and machines that it ran on; empty if unknown.
    machines: list[tuple[Int64, Text]] = field(default_factory=list)
    #: Identity of the system in its records; empty if they contain none.
    identity_ranges: list[tuple[Int64, Int64, Mapping[Text, Text]]] = field(default_factory=list)
    #: Name in the records, if the lake has another system of that name.
    recorded_name: Text | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key in order of time: counters continue from one input to the next by their interval ends.

        Other records of an input may begin long before its first counters. Of inputs that begin within one
        interval, the one with more samples of it began earlier.
        """
        if self.first_end_us is None or self.last_end_us is None:
            return (self.first_us or 0, 0, 0)
        return (self.first_end_us, -self.first_samples, self.last_end_us)

    def row_sources(self, imported: LakeInput) -> list[str]:
        """Return the sources of its rows."""
        return self.sources or [imported.source]

    @property
    def identity_keys(self) -> frozenset[str]:
        """Return the components of the system's identity that its records state."""
        return frozenset(key for _, _, identity in self.identity_ranges for key in identity)

    def ends_us(self) -> tuple[int, int] | None:
        """Return the first and last interval end of all rows; None if it has no intervals."""
        first, last = time_range((self.first_end_us, self.last_end_us, *(self.records_us or ())))
        return None if first is None or last is None else (first, last)


class _InputFacts(Struct, forbid_unknown_fields=True):
    sha256: Sha256
    path: Text
    bytes: Count
    source: Text
    leap: Int64
    added_us: Int64
    #: SHA-256 of each document by its key.
    documents: dict[Annotated[Key, Meta(title="a text of up to 1,000 characters")], Sha256] = field(
        default_factory=dict
    )
    #: Removed systems of the file.
    forgotten: list[Text] = field(default_factory=list)


class LakeInput(_InputFacts):
    """An imported file, with its parts by system."""

    parts: dict[str, InputPart] = field(default_factory=dict)


class StoredInput(_InputFacts, kw_only=True):
    """An input in a file."""

    parts: list[InputPart]

    def checked(self, where: str, problem: DocumentErrors) -> LakeInput:
        """Return the input. Raises an error of `problem` if its parts are inconsistent."""
        added = LakeInput(**asdict(self) | {"parts": {part.system: part for part in self.parts}})
        if (
            len(added.parts) < len(self.parts)
            or {part.document for part in self.parts} - self.documents.keys()
        ):
            raise problem.general_error(
                f"{where}.parts is wrong", expected="every system once, with its document"
            )
        return added


class DayRollup(Struct, array_like=True, forbid_unknown_fields=True):
    """Measures of one local day of a system, by hour and day.

    state    digest of the parts that they were computed from
    sha256   SHA-256 of the document that lists the files
    lost     number of intervals of raw tables without rows in any measure
    rules    version of the rules that computed them (RULES)
    """

    system: Text
    day: _Date
    state: Key
    sha256: Sha256
    lost: Count
    rules: Count

    @property
    def document(self) -> str:
        """Name of the document that lists the files."""
        return file_names.measures_document(self.system, self.day, self.state)

    def file(self, table: str) -> str:
        """Return the name of the file of a table."""
        return file_names.measure_file(table, self.system, self.day, self.state)


class ConsolidatedDay(Struct, array_like=True, forbid_unknown_fields=True):
    """Measures of one local day of many systems in a few files, in addition to the files of each system.

    key      digest of the systems and of the states of their measures
    sha256   SHA-256 of the document that lists the files
    """

    day: _Date
    key: Key
    sha256: Sha256

    @property
    def document(self) -> str:
        """Name of the document that lists the files."""
        return file_names.gathered_document(self.day, self.key)

    def file(self, table: str) -> str:
        """Return the name of the file of a table."""
        return file_names.gathered(table, self.day, self.key)


class Manifest(Struct):
    """Inputs by SHA-256, measures by system and day, and files to remove when no reader holds them."""

    inputs: dict[str, LakeInput] = field(default_factory=dict)
    rollups: dict[tuple[str, str], DayRollup] = field(default_factory=dict)
    #: By day.
    gathered: dict[str, ConsolidatedDay] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)
    #: When objects of a store were retired, in seconds since 1970; a store has no locks for readers.
    since: dict[str, int] = field(default_factory=dict)
    #: Version of the store's object that this was read from; empty if none existed.
    version: dict[str, str] = field(default_factory=dict)

    def parts(self) -> list[tuple[LakeInput, InputPart]]:
        """Return all parts in order of time, the order in which counters continue."""
        pairs = [(imported, part) for imported in self.inputs.values() for part in imported.parts.values()]
        return sorted(pairs, key=lambda pair: (*pair[1].order, pair[0].sha256))

    def check_systems(self, systems: set[str]) -> None:
        """Raise QueryError if one of these systems is not in the lake."""
        known = {part.system for _, part in self.parts()}
        if unknown := systems - known:
            raise QueryError(
                f"there is no system {', '.join(sorted(unknown))} in the lake",
                expected=f"one of {', '.join(sorted(known)[:20])}",
            )

    def dump(self) -> bytes:
        value: dict[str, Any] = {
            "zlens_lake": VERSION,
            "inputs": [input_facts(imported) for imported in self.inputs.values()],
            "measures": [rollup for _, rollup in sorted(self.rollups.items())],
            "gathered": [gathered for _, gathered in sorted(self.gathered.items())],
            "retired": self.retired,
            "since": self.since,
        }
        text = json.dumps(to_builtins(value), ensure_ascii=True, separators=(", ", ": "), allow_nan=False)
        # One line per input, for readable diffs.
        return text.replace(', {"sha256": ', ',\n{"sha256": ').encode() + b"\n"


class _StoredManifest(Struct, forbid_unknown_fields=True):
    zlens_lake: Annotated[int, Meta(ge=VERSION, le=VERSION)]
    inputs: list[StoredInput]
    retired: list[Text]
    measures: list[DayRollup]
    gathered: list[ConsolidatedDay]
    since: dict[Text, Int64]


_MANIFEST = Decoder(_StoredManifest)


def load(data: bytes, file: str) -> Manifest:
    """Parse a manifest. Raises InputError if zlens cannot have written it."""
    problem = json_files.errors(file)
    try:
        stored = json_files.load(_MANIFEST, data, file)
    except InputError:
        value = document.from_json(data, problem)
        version = value.get("zlens_lake") if isinstance(value, dict) else None
        if isinstance(version, int) and version != VERSION:
            message = f"this lake has version {version}"
            cure = phrase("lake_again")
            raise InputError(message, file=file, expected=f"version {VERSION}", cure=cure) from None
        raise
    manifest = Manifest(retired=stored.retired, since=stored.since)
    for number, entry in enumerate(stored.inputs, 1):
        added = entry.checked(f"inputs[{number}]", problem)
        if added.sha256 in manifest.inputs:
            raise problem.general_error(f"inputs[{number}] is listed twice", expected="every input once")
        manifest.inputs[added.sha256] = added
    manifest.rollups = {(rollup.system, rollup.day): rollup for rollup in stored.measures}
    manifest.gathered = {gathered.day: gathered for gathered in stored.gathered}
    for path in manifest.retired:
        if not file_names.is_own(path):
            raise problem.value("retired", path, "names of files of this lake")
    return manifest


def known_systems(inputs: Iterable[LakeInput]) -> tuple[KnownSystem, ...]:
    """Return the systems of inputs that readers of other inputs need to know."""
    return tuple(
        KnownSystem(imported.source, system, part.recorded_name or system, tuple(part.identity_ranges))
        for imported in inputs
        for system, part in imported.parts.items()
        if part.identity_ranges
    )


def input_facts(imported: LakeInput) -> dict[str, Any]:
    """Return the values of an input for the manifest."""
    values: dict[str, Any] = to_builtins(imported)
    return values | {"parts": [*values["parts"].values()]}
