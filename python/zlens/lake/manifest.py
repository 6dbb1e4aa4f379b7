"""The manifest: the contents of a lake. Files that it does not list are ignored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import astuple

from zlens.errors import InputError, QueryError
from zlens.inputs.identity import IdentityRange, KnownSystem
from zlens.lake import file_names, validators
from zlens.lake.validators import COUNT, KEY, MOMENTS, SHA256, TEXT, WHOLE, list_of, map_of
from zlens.schema import document
from zlens.schema.validators import Boolean, DocumentErrors, FixedTuple, Integer, Key, MapOf, Spec, Text
from zlens.schema.wording import phrase

VERSION = 2
#: Version of the rules that identify, weight and add up measures. A new version computes measures again;
#: measures without raw data stay, marked as computed by earlier rules.
RULES = 3


class BoundaryRef(Struct):
    """Reference to the document of a part's boundary."""

    key: str
    sha256: str


class InputPart(Struct):
    """One system of one input. Times in microseconds since 1970, UTC.

    `document` and `place` locate the list of its files; `open_us` are the first and last time of rows whose
    interval ends in a later input.
    """

    system: str
    document: str
    place: int
    first_us: int | None = None
    last_us: int | None = None
    first_end_us: int | None = None
    last_end_us: int | None = None
    #: Samples of its first interval, for sources whose records of one interval may be in several inputs.
    first_samples: int = 0
    open_us: tuple[int, int] | None = None
    #: First and last interval end of all rows, if record types have their own intervals.
    records_us: tuple[int, int] | None = None
    local_time: bool = False
    #: Whether differences continue from one input to the next.
    joined: bool = False
    seam: BoundaryRef | None = None
    #: The sources of its rows, if they differ from the input's.
    sources: list[str] = field(default_factory=list)
    #: False: its raw tables were removed; data that its neighbors need remain.
    raw: bool = True
    #: Digest of its tables and their schemas; empty: not written yet.
    tables: str = ""
    #: Start times and machines that it ran on; empty if unknown.
    machines: list[tuple[int, str]] = field(default_factory=list)
    #: Identity of the system in its records; empty if they contain none.
    identity_ranges: list[IdentityRange] = field(default_factory=list)
    #: Name in the records, if the lake has another system of that name.
    recorded_name: str | None = None

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
        ends = [
            end for end in (self.first_end_us, self.last_end_us, *(self.records_us or ())) if end is not None
        ]
        return (min(ends), max(ends)) if ends else None


class LakeInput(Struct):
    """An imported file."""

    sha256: str
    path: str
    bytes: int
    source: str
    leap: int
    added_us: int
    #: SHA-256 of each document by its key.
    documents: dict[str, str] = field(default_factory=dict)
    parts: dict[str, InputPart] = field(default_factory=dict)
    #: Removed systems of the file.
    forgotten: list[str] = field(default_factory=list)


class DayRollup(Struct):
    """Measures of one local day of a system, by hour and day.

    state    digest of the parts that they were computed from
    sha256   SHA-256 of the document that lists the files
    lost     number of intervals of raw tables without rows in any measure
    rules    version of the rules that computed them (RULES)
    """

    system: str
    day: str
    state: str
    sha256: str
    lost: int
    rules: int


class ConsolidatedDay(Struct):
    """Measures of one local day of many systems in a few files, in addition to the files of each system.

    key      digest of the systems and of the states of their measures
    sha256   SHA-256 of the document that lists the files
    """

    day: str
    key: str
    sha256: str


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
            "measures": [astuple(rollup) for _, rollup in sorted(self.rollups.items())],
            "gathered": [astuple(gathered) for _, gathered in sorted(self.gathered.items())],
            "retired": self.retired,
            "since": self.since,
        }
        text = json.dumps(value, ensure_ascii=True, separators=(", ", ": "), allow_nan=False)
        # One line per input, for readable diffs.
        return text.replace(', {"sha256": ', ',\n{"sha256": ').encode() + b"\n"


def load(data: bytes, file: str) -> Manifest:
    """Parse a manifest. Raises InputError if zlens cannot have written it."""
    problem = validators.problem(file)
    value = document.from_json(data, problem)
    version = value.get("zlens_lake") if isinstance(value, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise InputError(
            f"this lake has version {version}",
            file=file,
            expected=f"version {VERSION}",
            cure=phrase("lake_again"),
        )
    values = _MANIFEST.check(value, "", problem)
    manifest = Manifest(retired=values["retired"], since=values["since"])
    for number, entry in enumerate(values["inputs"], 1):
        added = input_of(entry, f"inputs[{number}]", problem)
        if added.sha256 in manifest.inputs:
            raise problem.general_error(f"inputs[{number}] is listed twice", expected="every input once")
        manifest.inputs[added.sha256] = added
    for rollup in values["measures"]:
        manifest.rollups[rollup.system, rollup.day] = rollup
    for gathered in values["gathered"]:
        manifest.gathered[gathered.day] = gathered
    for path in manifest.retired:
        if not file_names.is_own(path):
            raise problem.value("retired", path, "names of files of this lake")
    return manifest


def input_of(entry: dict[str, Any], where: str, problem: DocumentErrors) -> LakeInput:
    """Return an input from its checked values. Raises an error of `problem` if its parts are inconsistent."""
    parts: list[InputPart] = entry.pop("parts")
    added = LakeInput(**entry, parts={part.system: part for part in parts})
    if len(added.parts) < len(parts) or {part.document for part in parts} - added.documents.keys():
        raise problem.general_error(
            f"{where}.parts is wrong", expected="every system once, with its document"
        )
    return added


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


_IDENTITY_RANGE = FixedTuple((WHOLE, WHOLE, map_of(TEXT)), "from, to and the components")
_PART = Spec(
    (
        Key("system", TEXT),
        Key("document", KEY),
        Key("place", COUNT),
        *(Key(name, WHOLE, default=None) for name in ("first_us", "last_us", "first_end_us", "last_end_us")),
        Key("first_samples", COUNT, default=0),
        Key("open_us", MOMENTS, default=None),
        Key("records_us", MOMENTS, default=None),
        Key("local_time", Boolean()),
        Key("joined", Boolean()),
        Key("seam", Spec((Key("key", KEY), Key("sha256", SHA256)), BoundaryRef), default=None),
        Key("sources", list_of(TEXT)),
        Key("raw", Boolean()),
        Key("tables", KEY),
        Key("machines", list_of(FixedTuple((WHOLE, TEXT), "time and machine"))),
        Key("identity_ranges", list_of(_IDENTITY_RANGE)),
        Key("recorded_name", TEXT, default=None),
    ),
    InputPart,
)
#: Schema of an input.
INPUT = Spec(
    (
        Key("sha256", SHA256),
        Key("path", TEXT),
        Key("bytes", COUNT),
        Key("source", TEXT),
        Key("leap", WHOLE),
        Key("added_us", WHOLE),
        Key("documents", MapOf(SHA256, 0, names=file_names.KEY)),
        Key("forgotten", list_of(TEXT)),
        Key("parts", list_of(_PART)),
    )
)
_DAY = Text(10, 10, re.compile(r"\d{4}-\d\d-\d\d"), "a date")
_ROLLUP = FixedTuple(
    (TEXT, _DAY, KEY, SHA256, COUNT, COUNT),
    "system, day, state, SHA-256, lost intervals and rules",
    DayRollup,
)
_GATHERED = FixedTuple((_DAY, KEY, SHA256), "day, key and SHA-256", ConsolidatedDay)
_MANIFEST = Spec(
    (
        Key("zlens_lake", Integer(VERSION, VERSION)),
        Key("inputs", list_of(INPUT)),
        Key("retired", list_of(TEXT)),
        Key("measures", list_of(_ROLLUP)),
        Key("gathered", list_of(_GATHERED)),
        Key("since", map_of(WHOLE)),
    )
)
