"""Events of Linux that stand for counters of CPU MF: by name, by number, and which machines have such names.

A name may have another number on another generation, and only some have it: the names of a file together tell
the generations that they can be of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from zlens.catalog import cpumf, generations
from zlens.catalog.cpumf import linux_facts

#: cpum_cf/NAME/u, cpum_cf/event=0x85,name=any/, NAME:u, NAME
_EVENT = re.compile(
    r"(?:cpum_cf/(?P<body>[^/]*)/(?P<mod>[a-zA-Z]*)|(?P<plain>[^/:]+)(?::(?P<modifier>[a-zA-Z]+))?)"
)
_RAW = re.compile(r"r0*([0-9a-fA-F]{1,4})")
_CONFIG = re.compile(r"(?:event|config)=(0[xX][0-9a-fA-F]{1,4}|\d{1,5})")
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\((\d{1,3})\)")
_SHORT = re.compile(r"([BPCEMU])(\d{1,3})")

#: What lshwc calls a counter that the kernel has no name for.
_UNDEFINED = "COUNTER"


@dataclass(frozen=True, slots=True)
class Event:
    """What an event is. name: of the counter, in capitals, where a file names it; number: where it is told.

    undefined: the system itself has no name for the number.
    """

    name: str | None = None
    number: int | None = None
    undefined: bool = False

    @property
    def counter(self) -> bool:
        """Whether it is a counter of CPU MF at all."""
        return self.number is not None or self.name is not None


NOTHING = Event()


@dataclass(frozen=True, slots=True)
class Machine:
    """The generations that the names of a file can be of. told: as one word where that can be said."""

    generations: tuple[str, ...]

    @property
    def told(self) -> str | None:
        if len(self.generations) == 1:
            return self.generations[0]
        return next((name for name, alike in cpumf.alike().items() if alike == self.generations), None)

    def number(self, event: Event) -> int | None:
        """The number of a counter; None where these generations do not agree on it."""
        if event.number is not None:
            return event.number
        found = names().get(event.name or "", {})
        numbers = {found[name] for name in self.generations if name in found}
        return numbers.pop() if len(numbers) == 1 else None


@cache
def names() -> dict[str, dict[str, int]]:
    """The number of every name by generation."""
    found: dict[str, dict[str, int]] = {}
    for name in generations.names():
        for number, counter in cpumf.generation(name).counters.items():
            found.setdefault(counter.name.upper(), {})[name] = number
    for old, new in linux_facts()["renamed"].items():
        found[old.upper()] = found[new.upper()]
    return found


@cache
def known(number: int) -> bool:
    """Whether a counter set of any machine has that number."""
    return any(each.first <= number < each.first + each.most for each in cpumf.sets().values())


def event(text: str) -> Event:
    """What an event is that perf printed; NOTHING for one that is no counter of CPU MF."""
    match = _EVENT.fullmatch(text.strip())
    if match is None:
        return NOTHING
    body = match["body"] if match["body"] is not None else match["plain"]
    modifier = match["mod"] or match["modifier"] or ""
    generic: Mapping[str, Any] | None = linux_facts()["generic"].get(body)
    if generic is not None:
        number = {"": generic["all"], "u": generic["user"]}.get(modifier)
        return Event(None, number) if number is not None else NOTHING
    if modifier:
        return NOTHING
    raw = _RAW.fullmatch(body)
    if raw is not None:
        return _numbered(int(raw[1], 16))
    config = _CONFIG.search(body)
    if config is not None:
        return _numbered(int(config[1], 0))
    # Further parameters, such as another name to print, stand behind the name.
    name = body.split(",")[0].upper()
    return Event(name) if name in names() else NOTHING


def label(text: str, number: int | None = None) -> Event:
    """What a column of lshwc is: NAME(number), Counter(number), E145, U145; or a name beside its number."""
    text = text.strip().upper()
    if number is not None:
        if not known(number):
            return NOTHING
        short = _SHORT.fullmatch(text)
        if not text or text not in names():
            return Event(None, number, undefined=not text or (short is not None and short[1] == "U"))
        return Event(text, number)
    match = _LABEL.fullmatch(text)
    if match is not None:
        found = _numbered(int(match[2]))
        if not found.counter:
            return NOTHING
        if match[1] == _UNDEFINED:
            return Event(None, found.number, undefined=True)
        return Event(match[1] if match[1] in names() else None, found.number)
    short = _SHORT.fullmatch(text)
    if short is None:
        return Event(text) if text in names() else NOTHING
    found = _numbered(int(short[2]))
    if short[1] == "U" and found.counter:
        return Event(None, found.number, undefined=True)
    letters = {each.letter: each for each in cpumf.sets().values()}
    of = letters.get(short[1])
    right = of is not None and found.number is not None and of.first <= found.number < of.first + of.most
    return found if right else NOTHING


def is_label(text: str) -> bool:
    """Whether the text is what lshwc writes over a counter's column; other tools number theirs alike."""
    match = _LABEL.fullmatch(text.strip().upper())
    if match is None:
        return _SHORT.fullmatch(text.strip().upper()) is not None and label(text).counter
    number = int(match[2])
    if match[1] == _UNDEFINED:
        return known(number)
    return number in names().get(match[1], {}).values()


def _numbered(number: int) -> Event:
    return Event(None, number) if known(number) else NOTHING


def machine(events: Iterable[Event]) -> Machine:
    """The generations that have all these names, under these numbers where they are told."""
    left = list(generations.names())
    for each in events:
        if each.undefined and each.number is not None:
            left = [name for name in left if each.number not in cpumf.generation(name).counters]
        elif each.name is not None:
            found = names()[each.name]
            left = [name for name in left if name in found and each.number in (None, found[name])]
    return Machine(tuple(left))
