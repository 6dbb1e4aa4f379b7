"""Counters of Processor Activity Instrumentation (`linux/pai.toml`), and what tools print for them."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, ClassVar

from msgspec import Struct

from zlens.catalog import cpumf, linux_events
from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc

#: pai_crypto/NAME/u, pai_ext/event=0x1801,name=any/, NAME:u, NAME
_EVENT = re.compile(
    r"(?:(?P<pmu>pai_\w+)/(?P<body>[^/]*)/(?P<mod>[a-zA-Z]*)|(?P<plain>\w+)(?::(?P<modifier>[a-zA-Z]+))?)"
)
_CONFIG = re.compile(r"(?:event|config)=(0[xX][0-9a-fA-F]{1,4}|\d{1,5})")
_LABEL = re.compile(r"(\w+)\((\d{1,4})\)")
_SHORT = re.compile(r"([A-Z])(\d{1,4})")
#: Modifiers of perf, and the states of the processor that they select.
_STATES = {"": "both", "u": "problem", "k": "supervisor"}


class PaiCounter(FactTable, frozen=True):
    """A counter."""

    name: Annotated[str, doc("its name in Linux")]
    text: Annotated[str, doc("what it counts")]
    since: Annotated[str, doc("the first machine generation that has it")] = "z16"


class PaiSet(FactTable, frozen=True):
    """A set of counters."""

    pmu: Annotated[str, doc("its PMU in Linux")]
    text: Annotated[str, doc("what its counters are")]
    base: Annotated[int, doc("number of perf's event of counter 0")]
    letter: Annotated[str, doc("what lspai -s prints before the number")]
    states: Annotated[bool, doc("whether problem and supervisor state can be counted apart")]
    counters: Annotated[dict[int, PaiCounter], doc("its counters by number")]


class PaiFacts(FactFile, SourcedTable, frozen=True):
    """All sets."""

    path: ClassVar = "linux/pai.toml"
    sets: Annotated[dict[str, PaiSet], doc("the sets by name")]


class PaiEvent(Struct, frozen=True):
    """A counter that was counted. state: that of the processor: problem, supervisor or both."""

    set: str
    number: int
    name: str
    text: str
    state: str


@cache
def _names() -> dict[str, tuple[str, int]]:
    """Return set and number of every counter by name."""
    return {
        counter.name: (name, number)
        for name, counters in PaiFacts.load().sets.items()
        for number, counter in counters.counters.items()
    }


@cache
def parse_perf_event(text: str) -> PaiEvent | None:
    """Return the counter that perf printed; None if it is none of these."""
    match = _EVENT.fullmatch(text.strip())
    modifier = match["mod"] or match["modifier"] or "" if match else ""
    if match is None or modifier not in _STATES:
        return None
    found = None
    if match["pmu"] is None:
        found = _names().get(match["plain"].upper())
    else:
        name = next((name for name, known in PaiFacts.load().sets.items() if known.pmu == match["pmu"]), None)
        config = _CONFIG.search(match["body"])
        if name is not None and config is not None:
            found = name, linux_events.perf_number(config[1]) - PaiFacts.load().sets[name].base
        elif name is not None:
            found = _names().get(match["body"].split(",")[0].upper())
            found = found if found is not None and found[0] == name else None
    if found is None or found[1] not in PaiFacts.load().sets[found[0]].counters:
        return None
    known = PaiFacts.load().sets[found[0]]
    counter = known.counters[found[1]]
    return PaiEvent(*found, counter.name, counter.text, _STATES[modifier] if known.states else "problem")


def lspai_events(labels: Sequence[str]) -> list[str] | None:
    """Return perf's events for the headings of lspai, NAME(number) or C12; None if they are not lspai's.

    A label that is unknown stays. The letter of the crypto set is also that of CPU MF's, whose numbers begin
    later.
    """
    first = cpumf.sets()["crypto"].first
    parsed = [_label(label) for label in labels]
    is_pai = any(
        found is not None and (not short or found[0] != "crypto" or found[1] < first)
        for found, short in parsed
    )
    if not is_pai:
        return None
    return [
        label if found is None else f"{PaiFacts.load().sets[found[0]].pmu}/{counter_name(*found)}/"
        for label, (found, _) in zip(labels, parsed, strict=True)
    ]


def counter_name(set: str, number: int) -> str:
    """Return the name of a counter."""
    return PaiFacts.load().sets[set].counters[number].name


def _label(label: str) -> tuple[tuple[str, int] | None, bool]:
    """Return set and number of a heading, and whether it is a short one."""
    match = _LABEL.fullmatch(label.strip())
    if match is not None:
        found = _names().get(match[1].upper())
        return (found if found is not None and found[1] == int(match[2]) else None), False
    short = _SHORT.fullmatch(label.strip())
    for name, known in PaiFacts.load().sets.items():
        if short is not None and known.letter == short[1] and int(short[2]) in known.counters:
            return (name, int(short[2])), True
    return None, False
