"""The manifest: what is in a lake. What it does not list is not there, whatever lies in the folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from zlens.errors import InputError
from zlens.lake import names
from zlens.lake.facts import Facts

VERSION = 1


@dataclass(slots=True)
class Seam:
    """Which rows of a part were made again because of the parts around it: a document of its own."""

    key: str
    sha256: str


@dataclass(slots=True)
class Part:
    """What one input holds of one system. Times in microseconds since 1970, UTC.

    `document` and `place` say where its files are listed; `open_us` are the first and last moment of rows
    whose interval ends in a later input.
    """

    system: str
    document: str
    place: int
    first_us: int | None = None
    last_us: int | None = None
    first_end_us: int | None = None
    last_end_us: int | None = None
    open_us: tuple[int, int] | None = None
    #: The first and last interval end of records that other inputs may have as well.
    records_us: tuple[int, int] | None = None
    local_time: bool = False
    #: Whether differences are carried on from one input to the next.
    joined: bool = False
    seam: Seam | None = None


@dataclass(slots=True)
class Input:
    """A file that was imported."""

    sha256: str
    path: str
    bytes: int
    source: str
    leap: int
    added_us: int
    #: SHA-256 of each document by its key.
    documents: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    #: Systems that were in it and were removed.
    forgotten: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Manifest:
    """Inputs by SHA-256, and files that are to go as soon as nobody reads."""

    inputs: dict[str, Input] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)

    def parts(self) -> list[tuple[Input, Part]]:
        """All parts in the order of time, which is the order in which counters are carried on."""
        found = [(one, part) for one in self.inputs.values() for part in one.parts.values()]
        return sorted(found, key=lambda pair: (pair[1].first_us or 0, pair[0].sha256))

    def dump(self) -> bytes:
        value = {
            "zlens_lake": VERSION,
            "inputs": [_input_facts(one) for one in self.inputs.values()],
            "retired": self.retired,
        }
        text = json.dumps(value, ensure_ascii=True, separators=(", ", ": "), allow_nan=False)
        # A line for each input: people look at it, and tools compare it.
        return text.replace(', {"sha256": ', ',\n{"sha256": ').encode() + b"\n"


def load(data: bytes, file: str) -> Manifest:
    """The manifest of these bytes; InputError when it is not one that zlens can have written."""
    facts = Facts.parse(data, file)
    version = facts.integer("zlens_lake")
    if version != VERSION:
        raise InputError(
            f"this lake is of version {version}",
            file=file,
            expected=f"version {VERSION}",
            cure="read it with the zlens that wrote it",
        )
    manifest = Manifest()
    for one in facts.objects("inputs"):
        found = _input(one)
        if found.sha256 in manifest.inputs:
            one.wrong("every input once", "sha256")
        manifest.inputs[found.sha256] = found
    for path in facts.listed("retired"):
        if not isinstance(path, str) or not names.is_own(path):
            facts.wrong("names of files of this lake", "retired")
        manifest.retired.append(path)
    return manifest


def _input_facts(one: Input) -> dict[str, Any]:
    return {
        "sha256": one.sha256,
        "path": one.path,
        "bytes": one.bytes,
        "source": one.source,
        "leap": one.leap,
        "added_us": one.added_us,
        "documents": one.documents,
        "forgotten": one.forgotten,
        "parts": [_part_facts(part) for part in one.parts.values()],
    }


def _part_facts(part: Part) -> dict[str, Any]:
    return {
        "system": part.system,
        "document": part.document,
        "place": part.place,
        "first_us": part.first_us,
        "last_us": part.last_us,
        "first_end_us": part.first_end_us,
        "last_end_us": part.last_end_us,
        "open_us": part.open_us,
        "records_us": part.records_us,
        "local_time": part.local_time,
        "joined": part.joined,
        "seam": None if part.seam is None else {"key": part.seam.key, "sha256": part.seam.sha256},
    }


def _input(facts: Facts) -> Input:
    documents = facts.object("documents")
    found = Input(
        sha256=facts.text("sha256", names.SHA256),
        path=facts.text("path"),
        bytes=facts.integer("bytes", 0),
        source=facts.text("source"),
        leap=facts.integer("leap"),
        added_us=facts.integer("added_us"),
        documents={key: documents.text(key, names.SHA256) for key in documents.names()},
    )
    for key in found.documents:
        if not names.KEY.fullmatch(key):
            facts.wrong("keys of documents", "documents")
    for system in facts.listed("forgotten"):
        if not isinstance(system, str):
            facts.wrong("names of systems", "forgotten")
        found.forgotten.append(system)
    for one in facts.objects("parts"):
        part = _part(one)
        if part.document not in found.documents or part.system in found.parts:
            one.wrong("every system once, with its document", "parts")
        found.parts[part.system] = part
    return found


def _part(facts: Facts) -> Part:
    seam = None
    if facts.has("seam"):
        told = facts.object("seam")
        seam = Seam(told.text("key", names.KEY), told.text("sha256", names.SHA256))
    return Part(
        system=facts.text("system"),
        document=facts.text("document", names.KEY),
        place=facts.integer("place", 0),
        first_us=facts.maybe_integer("first_us"),
        last_us=facts.maybe_integer("last_us"),
        first_end_us=facts.maybe_integer("first_end_us"),
        last_end_us=facts.maybe_integer("last_end_us"),
        open_us=_moments(facts, "open_us"),
        records_us=_moments(facts, "records_us"),
        local_time=facts.truth("local_time"),
        joined=facts.truth("joined"),
        seam=seam,
    )


def _moments(facts: Facts, name: str) -> tuple[int, int] | None:
    if not facts.has(name):
        return None
    ends = facts.listed(name)
    if len(ends) != 2 or not all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
        facts.wrong("two moments", name)
    return ends[0], ends[1]
