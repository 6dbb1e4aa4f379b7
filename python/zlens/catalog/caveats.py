"""Known faults of the data: what a level of z/VM does not record, or records wrongly, with its APAR.

One file per fault in `caveats/`; `caveats/_skeleton.toml` is one to copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from zlens.catalog import layouts, metrics
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.kinds import Choice, Key, Many, Spec, Text

STATUSES = ("verified", "verified-secondary", "derived")
#: The operating system a fault is of, and the sources whose systems may have it.
_OF = {"z/VM": ("zvm-monitor",), "z/OS": ("smf", "rmf-xml", "rmf3-xml")}


@dataclass(frozen=True, slots=True)
class Caveat:
    """One fault.

    of              the operating system: z/VM or z/OS
    first, before   its levels: from `first` on, up to but not including `before`; '' is open
    apar            the APAR that corrects it, '' where none is named
    reports         short names of reports whose columns it touches
    records         monitor records; measures: columns (`device.queued`) or whole measures
    """

    id: str
    of: str
    first: str
    before: str
    apar: str
    reports: tuple[str, ...]
    records: tuple[str, ...]
    measures: tuple[str, ...]
    text: str
    source: str
    status: str

    @property
    def levels(self) -> str:
        """The levels in words."""
        if self.first and self.before:
            return f"{self.of} {self.first} and later, before {self.before}"
        if self.first:
            return f"{self.of} {self.first} and later"
        return f"{self.of} before {self.before}" if self.before else f"{self.of}, every level"

    def holds(self, release: str | None) -> bool:
        """Whether a level has it; a level that is not known may have it, which is not said of it."""
        level = layouts.release_key(release)[:2]
        if not level:
            return False
        if self.first and level < layouts.release_key(self.first):
            return False
        return not self.before or level < layouts.release_key(self.before)

    def note(self) -> str:
        """The fault in a sentence, with its APAR."""
        return f"{self.text} ({self.apar})" if self.apar else self.text


def root() -> Path:
    """The folder of the caveats."""
    return FACTS / "caveats"


@cache
def caveats() -> tuple[Caveat, ...]:
    """All of them, by id."""
    return tuple(_read(path) for path in sorted(root().glob("*.toml")) if not path.name.startswith("_"))


_TEXT = Text()
_NAMES = Many(_TEXT, into=tuple)
_CAVEAT = Spec(
    (
        Key("id", _TEXT, "its name"),
        Key("of", Choice(tuple(_OF)), "the operating system", default="z/VM"),
        Key("from", _TEXT, "the first level that has it", default=""),
        Key("before", _TEXT, "the first level that does not", default=""),
        Key("apar", _TEXT, "the APAR that corrects it", default=""),
        *(Key(name, _NAMES, "what it touches", default=()) for name in ("reports", "records", "measures")),
        Key("text", _TEXT, "the fault"),
        Key("source", _TEXT, "where it is described"),
        Key("status", _TEXT, "how well it is known"),
    ),
    lambda **values: Caveat(first=values.pop("from"), **values),
)


def _read(path: Path) -> Caveat:
    caveat: Caveat = document.load(path, _CAVEAT, "the caveat")
    return caveat


def of_report(name: str, systems: Iterable[Mapping[str, object]]) -> list[Caveat]:
    """The faults that touch a report of systems with these levels."""
    levels = [(system.get("source"), str(system.get("release") or "")) for system in systems]
    return [
        each
        for each in about(report=name)
        if any(source in _OF[each.of] and each.holds(level) for source, level in levels)
    ]


def about(*, report: str = "", measure: str = "", record: str = "") -> list[Caveat]:
    """The faults that touch a report, a measure (`table` or `table.column`) or a record, of any level."""
    table = measure.partition(".")[0]
    return [
        each
        for each in caveats()
        if report in each.reports
        or record in each.records
        or (measure and (measure in each.measures or table in each.measures))
        or (measure and measure == table and any(m.startswith(f"{table}.") for m in each.measures))
    ]


def lines(found: Iterable[Caveat]) -> list[str]:
    """What explain says of them."""
    return [f"{each.levels}: {each.note()}; {each.source} [{each.id}]" for each in found]


def check() -> list[str]:
    """Everything wrong with them, a sentence each."""
    found = []
    try:
        every = caveats()
    except CatalogError as error:
        return [str(error)]
    for each in every:
        where = f"{root() / each.id}.toml"
        if not (root() / f"{each.id}.toml").is_file():
            found.append(f"{root()}: no file is named after {each.id}; name it so")
        if not each.text or not each.source or each.status not in STATUSES:
            found.append(f"{where}: text, source or status is missing; give all three")
        if not (each.reports or each.records or each.measures):
            found.append(f"{where}: it touches nothing; name a report, a record or a measure")
        for name in each.measures:
            table, _, column = name.partition(".")
            known = table in metrics.tables()
            if not known or (column and metrics.table(table).column(column) is None):
                found.append(f"{where}: {name} is not a measure; name one")
        found += [
            f"{where}: {record} is not a record of the catalog; name one"
            for record in each.records
            if record not in layouts.records()
        ]
        if each.of not in _OF:
            found.append(f"{where}: of is {each.of!r}; use {' or '.join(_OF)}")
        found += [
            f"{where}: {level!r} is not a level; write it as 6.3"
            for level in (each.first, each.before)
            if level and not layouts.release_key(level)
        ]
    return found
