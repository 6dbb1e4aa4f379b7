"""Caveats: known recording errors of z/VM and z/OS levels, with their APARs.

There is one file per caveat in `caveats/`; copy `caveats/_skeleton.toml` to add one.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Literal

from msgspec import Meta, field

from zlens.catalog import layouts, measures
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc

FOLDER = FACTS / "caveats"
#: Sources whose systems may have a recording error, by operating system.
_OF = {"z/VM": ("zvm-monitor",), "z/OS": ("smf", "rmf-xml", "rmf-text", "rmf3-xml")}


class Caveat(FactTable, frozen=True):
    """One known recording error."""

    id: Annotated[str, doc("its name, that of its file")]
    text: Annotated[str, Meta(min_length=1, description="the recording error")]
    source: Annotated[str, Meta(min_length=1, description="where it is described")]
    status: Annotated[Literal["verified", "verified-secondary", "derived"], doc("how well it is known")]
    of: Annotated[Literal["z/VM", "z/OS"], doc("the operating system")] = "z/VM"
    first: Annotated[str, doc("the first level that has it; '': all before")] = field(default="", name="from")
    before: Annotated[str, doc("the first level that does not have it; '': still there")] = ""
    apar: Annotated[str, doc("the APAR that corrects it")] = ""
    reports: Annotated[tuple[str, ...], doc("short names of reports it affects")] = ()
    records: Annotated[tuple[str, ...], doc("monitor records it affects")] = ()
    measures: Annotated[tuple[str, ...], doc("columns, or measures, it affects")] = ()

    @property
    def levels(self) -> str:
        """The affected levels in words."""
        if self.first and self.before:
            return f"{self.of} {self.first} and later, before {self.before}"
        if self.first:
            return f"{self.of} {self.first} and later"
        return f"{self.of} before {self.before}" if self.before else f"{self.of}, every level"

    def applies_to(self, release: str | None) -> bool:
        """Return whether a level is affected; False for an unknown level, although it may be affected."""
        level = layouts.release_key(release)[:2]
        if not level:
            return False
        if self.first and level < layouts.release_key(self.first):
            return False
        return not self.before or level < layouts.release_key(self.before)

    def note(self) -> str:
        """Return the error in a sentence, with its APAR."""
        return f"{self.text} ({self.apar})" if self.apar else self.text


@cache
def caveats() -> tuple[Caveat, ...]:
    """Return all caveats, by id."""
    return tuple(
        structs.load(path, Caveat, "the caveat")
        for path in sorted(FOLDER.glob("*.toml"))
        if not path.name.startswith("_")
    )


def report_caveats(name: str, systems: Iterable[Mapping[str, object]]) -> list[Caveat]:
    """Return the caveats that affect a report of systems with these levels."""
    levels = [(system.get("source"), str(system.get("release") or "")) for system in systems]
    return [
        caveat
        for caveat in find_caveats(report=name)
        if any(source in _OF[caveat.of] and caveat.applies_to(level) for source, level in levels)
    ]


def find_caveats(*, report: str = "", measure: str = "", record: str = "") -> list[Caveat]:
    """Return caveats of any level for a report, a measure (`table` or `table.column`) or a record."""
    table = measure.partition(".")[0]
    return [
        caveat
        for caveat in caveats()
        if report in caveat.reports
        or record in caveat.records
        or (measure and (measure in caveat.measures or table in caveat.measures))
        or (measure and measure == table and any(name.startswith(f"{table}.") for name in caveat.measures))
    ]


def explain_lines(faults: Iterable[Caveat]) -> list[str]:
    """Return the lines of caveats in `zlens explain`."""
    return [f"{caveat.levels}: {caveat.note()}; {caveat.source} [{caveat.id}]" for caveat in faults]


def check() -> list[str]:
    """Return catalog issues of the caveats, one sentence each."""
    problems = []
    try:
        known_caveats = caveats()
    except CatalogError as error:
        return [str(error)]
    for caveat in known_caveats:
        where = f"{FOLDER / caveat.id}.toml"
        if not (FOLDER / f"{caveat.id}.toml").is_file():
            problems.append(f"{FOLDER}: no file is named after {caveat.id}; rename it")
        if not (caveat.reports or caveat.records or caveat.measures):
            problems.append(f"{where}: it has no effect; name a report, a record or a measure")
        for name in caveat.measures:
            table, _, column = name.partition(".")
            is_measure = table in measures.measure_names()
            if not is_measure or (column and measures.load_measure(table).column(column) is None):
                problems.append(f"{where}: {name} is not a measure; name one")
        problems += [
            f"{where}: {record} is not a record of the catalog; name one"
            for record in caveat.records
            if record not in layouts.records()
        ]
        problems += [
            f"{where}: {level!r} is not a level; write it as 6.3"
            for level in (caveat.first, caveat.before)
            if level and not layouts.release_key(level)
        ]
    return problems
