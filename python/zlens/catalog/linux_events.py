"""Linux events for counters of CPU MF: their names, numbers, and the machines that have them.

A name may have different numbers on different generations, and not all generations have it: the names in a
file show which generations are possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from zlens.catalog import cpumf, generations
from zlens.catalog.cpumf import LinuxNames

#: cpum_cf/NAME/u, cpum_cf/event=0x85,name=any/, NAME:u, NAME
_EVENT = re.compile(
    r"(?:cpum_cf/(?P<body>[^/]*)/(?P<mod>[a-zA-Z]*)|(?P<plain>[^/:]+)(?::(?P<modifier>[a-zA-Z]+))?)"
)
_RAW = re.compile(r"r0*([0-9a-fA-F]{1,4})")
_CONFIG = re.compile(r"(?:event|config)=(0[xX][0-9a-fA-F]{1,4}|\d{1,5})")
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\((\d{1,3})\)")
_SHORT = re.compile(r"([BPCEMU])(\d{1,3})")

#: Name that lshwc prints for a counter without a kernel name.
_UNDEFINED = "COUNTER"


class LinuxEvent(Struct, frozen=True):
    """An event.

    name       name of the counter, in capitals, if a file contains it
    number     its number, if the file states it
    undefined  whether the system itself has no name for the number
    """

    name: str | None = None
    number: int | None = None
    undefined: bool = False

    @property
    def counter(self) -> bool:
        """Whether it is a counter of CPU MF."""
        return self.number is not None or self.name is not None


NOTHING = LinuxEvent()


class PossibleGenerations(Struct, frozen=True):
    """Machine generations compatible with the counter names in a file."""

    generations: tuple[str, ...]

    @property
    def generation_names(self) -> str | None:
        if len(self.generations) == len(generations.names()):
            return None
        return cpumf.OR.join(self.generations) or None

    def number(self, event: LinuxEvent) -> int | None:
        """Return the number of a counter; None if these generations do not agree on it."""
        if event.number is not None:
            return event.number
        by_generation = names().get(event.name or "", {})
        numbers = {by_generation[name] for name in self.generations if name in by_generation}
        return numbers.pop() if len(numbers) == 1 else None


@cache
def names() -> dict[str, dict[str, int]]:
    """Return the number of every name by generation."""
    numbers: dict[str, dict[str, int]] = {}
    for name in generations.names():
        for number, counter in cpumf.generation(name).counters.items():
            numbers.setdefault(counter.name.upper(), {})[name] = number
    for old, new in LinuxNames.load().renamed.items():
        numbers[old.upper()] = numbers[new.upper()]
    return numbers


@cache
def is_counter_number(number: int) -> bool:
    """Return whether a counter set of any machine has that number."""
    return any(number in counter_set.numbers for counter_set in cpumf.sets().values())


def perf_number(text: str) -> int:
    """Return a number of perf, which is hexadecimal after 0x, else decimal, with leading zeros too."""
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def parse_perf_event(text: str) -> LinuxEvent:
    """Return the event that perf printed; NOTHING if it is not a counter of CPU MF."""
    match = _EVENT.fullmatch(text.strip())
    if match is None:
        return NOTHING
    body = match["body"] if match["body"] is not None else match["plain"]
    modifier = match["mod"] or match["modifier"] or ""
    generic = LinuxNames.load().generic.get(body)
    if generic is not None:
        number = {"": generic.all, "u": generic.user}.get(modifier)
        return LinuxEvent(None, number) if number is not None else NOTHING
    if modifier:
        return NOTHING
    raw = _RAW.fullmatch(body)
    if raw is not None:
        return _numbered(int(raw[1], 16))
    config = _CONFIG.search(body)
    if config is not None:
        return _numbered(perf_number(config[1]))
    # Further parameters, such as another name to print, follow the name.
    name = body.split(",")[0].upper()
    return LinuxEvent(name) if name in names() else NOTHING


def parse_lshwc_label(text: str, number: int | None = None) -> LinuxEvent:
    """Return the event of an lshwc column: NAME(number), Counter(number), E145, U145; or name and number."""
    text = text.strip().upper()
    if number is not None:
        if not is_counter_number(number):
            return NOTHING
        short = _SHORT.fullmatch(text)
        if not text or text not in names():
            return LinuxEvent(None, number, undefined=not text or (short is not None and short[1] == "U"))
        return LinuxEvent(text, number)
    match = _LABEL.fullmatch(text)
    if match is not None:
        numbered = _numbered(int(match[2]))
        if not numbered.counter:
            return NOTHING
        if match[1] == _UNDEFINED:
            return LinuxEvent(None, numbered.number, undefined=True)
        return LinuxEvent(match[1] if match[1] in names() else None, numbered.number)
    short = _SHORT.fullmatch(text)
    if short is None:
        return LinuxEvent(text) if text in names() else NOTHING
    numbered = _numbered(int(short[2]))
    if short[1] == "U" and numbered.counter:
        return LinuxEvent(None, numbered.number, undefined=True)
    in_set = any(
        other.letter == short[1] and numbered.number in other.numbers for other in cpumf.sets().values()
    )
    return numbered if in_set else NOTHING


def is_label(text: str) -> bool:
    """Return whether the text is an lshwc heading of a counter's column; other tools use similar headings."""
    match = _LABEL.fullmatch(text.strip().upper())
    if match is None:
        return _SHORT.fullmatch(text.strip().upper()) is not None and parse_lshwc_label(text).counter
    number = int(match[2])
    if match[1] == _UNDEFINED:
        return is_counter_number(number)
    return number in names().get(match[1], {}).values()


def _numbered(number: int) -> LinuxEvent:
    return LinuxEvent(None, number) if is_counter_number(number) else NOTHING


def possible_generations(events: Iterable[LinuxEvent]) -> PossibleGenerations:
    """Return the generations that have all these names, with these numbers if they are known."""
    candidates = list(generations.names())
    for event in events:
        if event.undefined and event.number is not None:
            candidates = [name for name in candidates if event.number not in cpumf.generation(name).counters]
        elif event.name is not None:
            by_generation = names()[event.name]
            candidates = [
                name
                for name in candidates
                if name in by_generation and event.number in (None, by_generation[name])
            ]
    return PossibleGenerations(tuple(candidates))
