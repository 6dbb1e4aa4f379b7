"""Live guest relocation: how long it takes, how long the guest stands still, and whether it succeeds.

Source of the rules: IBM z/VM Performance Report, Live Guest Relocation; "z/VM Performance Update 6.2 and
6.3"; IBM, Linux on Z documentation, z/VM 6.2 Live Guest Relocation with Linux Middleware. What they leave
open is a key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zlens.catalog import codes
from zlens.models.answer import Answer, Column, Figure, Table
from zlens.models.constants import constant
from zlens.models.relocation import dirtying, precopy
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario import Scenario
from zlens.present.charts import COLORS, Chart, Series
from zlens.schema.kinds import Choice, Flag, Integer, Key, Line, Many, Number, NumberOr, Spec

SUMMARY = "live guest relocation: passes, quiesce and total time, cancellation, the ISFC link"

#: Pages of 4 KiB in a MiB.
PAGES_IN_MIB = 256

_MIB = Number(0, 1e9)
_SECONDS = Number(0, 1e7)
_LIMIT = NumberOr(_SECONDS, "NOLIMIT")
_PART = Number(0, 100)

_GUEST = Spec(
    (
        Key("name", Line(), "name of the guest"),
        Key("memory", Number(0, 1e9, above=True), "its storage", "MiB"),
        Key("touched", _MIB, "what of it was ever touched, and is sent first; all if left out", "MiB",
            default=None),
        Key("change_rate", _MIB, "pages it writes, each write of a page counted", "MiB/s", default=0.0),
        Key("changing", _MIB, "what the writes go to; all that was touched if left out", "MiB", default=None),
        Key("pattern", Choice(("uniform", "sweep", "hot set", "zipf")),
            "where writes go: at random, to one page after the other, most to a few pages, by Zipf's law",
            default="uniform"),
        Key("hot_pages", _PART, "hot set: its part of what changes", "%", default=None),
        Key("hot_writes", _PART, "hot set: its part of the writes", "%", default=None),
        Key("exponent", Number(0, 10), "zipf: the page of rank k is written in proportion to 1/k^exponent",
            default=None),
        Key("setup", _SECONDS, "before the first pass: checks, the skeleton on the other side", "seconds",
            default=0.0),
        Key("fixed_quiesce", _SECONDS, "of the quiesce beside pages: devices, network, restart", "seconds",
            default=0.0),
        Key("immediate", Flag(), "IMMEDIATE for this guest", default=None),
        Key("maxquiesce", _LIMIT, "MAXQUIESCE for this guest", "seconds", default=None),
        Key("maxtotal", _LIMIT, "MAXTOTAL for this guest", "seconds", default=None),
    )
)  # fmt: skip

SPEC = Spec(
    (
        Key("link", relocation_link.SPEC, "the ISFC logical link between the systems: rate or chpids"),
        Key("at_once", Integer(1, 10_000), "relocations at the same time; 1 is SYNC", default=1),
        Key("immediate", Flag(), "IMMEDIATE: one pass, then the quiesce", default=False),
        Key("maxquiesce", _LIMIT, "MAXQUIESCE; left out, what VMRELOCATE assumes", "seconds", default=None),
        Key("maxtotal", _LIMIT, "MAXTOTAL of each relocation", "seconds", default="NOLIMIT"),
        Key("stop_below", _MIB, "a guest is stopped when no more is left", "MiB",
            constant="relocation_stop_below"),
        Key("live_passes", Integer(1, 1000), "passes while it runs, at least",
            constant="relocation_live_passes"),
        Key("passes_most", Integer(1, 1000), "passes in all", constant="relocation_passes_most"),
        Key("quiesce_passes", Integer(0, 100), "passes that are the quiesce; 0: what is sent then is no pass",
            constant="relocation_quiesce_passes"),
        Key("no_progress", Number(0, 1e6), "a guest is stopped when a pass leaves this part of what it sent",
            "%", default=None),
        Key("guest", Many(_GUEST, least=1), "a guest that is relocated, in this order"),
    )
)  # fmt: skip

EXAMPLE = """\
# Two guests move from ATLANTA to BOSTON over two FICON channels: how long do they stand still?
model = "relocation"
title = "ATLANTA to BOSTON"
at_once = 1                  # one after the other (SYNC); 2: both at the same time
immediate = false
maxquiesce = 10              # seconds, or "NOLIMIT"
maxtotal = "NOLIMIT"

[link]
from = "ATLANTA"             # names decide on which CTC devices a system writes
to = "BOSTON"
# rate = 600                 # MiB/s, where it is known

[[link.chpid]]
name = "50"
speed = 4                    # Gb/s
rdevs = ["D000", "D001", "D002", "D003"]

[[link.chpid]]
name = "51"
speed = 4
rdevs = ["D010", "D011", "D012", "D013"]

[[guest]]
name = "LINUX1"
memory = 8192                # MiB
touched = 6000               # of which so much was ever touched
change_rate = 200            # MiB/s
changing = 2500              # of these so much changes again and again
pattern = "hot set"          # or uniform, sweep, zipf (with exponent)
hot_pages = 20               # percent of what changes
hot_writes = 80              # percent of the writes
fixed_quiesce = 0.4          # seconds beside pages: devices, network, restart

[[guest]]
name = "LINUX2"
memory = 4096
change_rate = 40
fixed_quiesce = 0.4
"""

_GUESTS = (
    Column("name", "Guest"),
    Column("begins", "Begins", "s", "after the first of all", 2),
    Column("relocation", "Relocation", "s", "from its begin to its end", 2),
    Column("quiesce", "Quiesce", "s", "how long it stood still", 3),
    Column("needed", "Needed", "s", "quiesce that it needs: more than it had where it is cancelled", 3),
    Column("passes", "Passes", "", "over its storage; those begun where it is cancelled"),
    Column("moved", "Moved", "MiB", "sent in all passes"),
    Column("quiesce_pages", "In quiesce", "pages", "sent while it stood still", 0),
    Column("stopped_by", "Stopped by", text="why the quiesce began"),
    Column("end_code", "Code", text="end code of the monitor record, D4R12"),
    Column("end", "End"),
)
_PASSES = (
    Column("name", "Guest"),
    Column("pass", "Pass", text="none where what is sent in the quiesce is no pass"),
    Column("guest", "Guest is", text="running or quiesced"),
    Column("begins", "Begins", "s", "after the first relocation of all", 3),
    Column("seconds", "Takes", "s", "", 3),
    Column("moved", "Moved", "MiB"),
    Column("pages", "Moved", "pages", "", 0),
    Column("whole", "Whole", text="no: it was cut short"),
)
_OPTIONS = (
    Column("way", "Way"),
    Column("quiesce", "Longest quiesce", "s", "", 3),
    Column("relocation", "Mean relocation", "s", "of one guest", 2),
    Column("total", "All", "s", "until the last of them is there", 2),
    Column("moved", "Moved", "MiB"),
)


def solve(scenario: Scenario) -> Answer:
    """Every guest by itself or several at once, and the same guests in the other ways of VMRELOCATE."""
    _together(scenario)
    rate, figures, tables, notes = relocation_link.link(scenario)
    each = scenario["link"]["most_per_guest"]
    rules = precopy.Rules(
        stop_pages=scenario["stop_below"] * PAGES_IN_MIB,
        live_least=scenario["live_passes"],
        passes_most=scenario["passes_most"],
        quiesce_passes=scenario["quiesce_passes"],
        no_progress=None if scenario["no_progress"] is None else scenario["no_progress"] / 100,
    )
    guests = [_guest(scenario, one) for one in scenario["guest"]]
    per_second = rate * PAGES_IN_MIB
    most_each = math.inf if each is None else each * PAGES_IN_MIB
    found = precopy.relocate(guests, rules, per_second, at_once=scenario["at_once"], most_each=most_each)
    scenario.assume("relocation_changes")
    if all(guest.immediate for guest in guests):
        for name in ("relocation_stop_below", "relocation_live_passes", "relocation_passes_most"):
            scenario.unused(name)
    figures = [
        Figure("quiesce", max(one.quiesce for one in found), "s", "Longest quiesce", 3),
        Figure("total", max(one.ends for one in found), "s", "All relocations", 2),
        Figure("moved", math.fsum(one.pages for one in found) / PAGES_IN_MIB, "MiB", "Moved", 1),
        Figure("cancelled", float(sum(one.end_code != 0 for one in found)), "", "Cancelled", 0),
        *figures,
    ]
    tables = [
        Table("relocations", "Relocations", _GUESTS, [_row(one, rules) for one in found]),
        Table("passes", "Passes", _PASSES, [row for one in found for row in _pass_rows(one, rules)]),
        _options(scenario, guests, rules, per_second, most_each),
        *tables,
    ]
    notes = [*_notes(found, guests), *notes]
    names = ", ".join(one.name for one in found[:3]) + (", ..." if len(found) > 3 else "")
    title = scenario.title or f"Relocation of {names}"
    return Answer(
        "relocation", title, tables, figures, _charts(found), notes, follow=("relocations", "quiesce")
    )


def _guest(scenario: Scenario, guest: dict[str, Any]) -> precopy.Guest:
    immediate = scenario["immediate"] if guest["immediate"] is None else guest["immediate"]
    quiesce = guest["maxquiesce"] if guest["maxquiesce"] is not None else scenario["maxquiesce"]
    if quiesce is None and immediate:
        quiesce = "NOLIMIT"
    if quiesce is None:
        scenario.assume("relocation_maxquiesce")
        quiesce = constant("relocation_maxquiesce").default
    total = guest["maxtotal"] if guest["maxtotal"] is not None else scenario["maxtotal"]
    return precopy.Guest(
        guest["name"],
        _touched(guest) * PAGES_IN_MIB,
        _writes(guest),
        immediate,
        _seconds(total),
        _seconds(quiesce),
        guest["setup"],
        guest["fixed_quiesce"],
    )


def _seconds(limit: float | str) -> float:
    return math.inf if isinstance(limit, str) else limit


def _touched(guest: dict[str, Any]) -> float:
    return float(guest["memory"] if guest["touched"] is None else guest["touched"])


def _changing(guest: dict[str, Any]) -> float:
    return float(_touched(guest) if guest["changing"] is None else guest["changing"])


def _writes(guest: dict[str, Any]) -> dirtying.Dirtying:
    pages, rate = _changing(guest) * PAGES_IN_MIB, guest["change_rate"] * PAGES_IN_MIB
    if guest["pattern"] == "sweep":
        return dirtying.Sweep(pages, rate)
    if guest["pattern"] == "hot set":
        return dirtying.hot_set(pages, rate, guest["hot_pages"] / 100, guest["hot_writes"] / 100)
    if guest["pattern"] == "zipf":
        return dirtying.zipf(pages, rate, guest["exponent"])
    return dirtying.uniform(pages, rate)


def _row(one: precopy.Outcome, rules: precopy.Rules) -> tuple[Any, ...]:
    live = sum(not each.quiesced for each in one.passes)
    stood = [each for each in one.passes if each.quiesced]
    return (
        one.name,
        one.begins,
        one.seconds,
        one.quiesce,
        one.quiesce_needed,
        live + min(len(stood), rules.quiesce_passes),
        one.pages / PAGES_IN_MIB,
        math.fsum(each.pages for each in stood),
        one.stopped_by,
        one.end_code,
        codes.words("relocation_end")[str(one.end_code)],
    )


def _pass_rows(one: precopy.Outcome, rules: precopy.Rules) -> list[tuple[Any, ...]]:
    return [
        (
            one.name,
            None if each.quiesced and not rules.quiesce_passes else at,
            "quiesced" if each.quiesced else "running",
            each.begins,
            each.seconds,
            each.pages / PAGES_IN_MIB,
            each.pages,
            each.whole,
        )
        for at, each in enumerate(one.passes, 1)
    ]


def _options(
    scenario: Scenario,
    guests: Sequence[precopy.Guest],
    rules: precopy.Rules,
    rate: float,
    most_each: float,
) -> Table:
    """The same guests one after the other and at once, with and without IMMEDIATE; limits do not count."""
    many = len(guests) if scenario["at_once"] == 1 else min(scenario["at_once"], len(guests))
    ways = (
        [(1, "one after the other")]
        if len(guests) == 1
        else [(1, "one after the other"), (many, f"{many} at once")]
    )
    rows = []
    for at_once, words in ways:
        for immediate in (False, True):
            free = [
                replace(guest, immediate=immediate, max_total=math.inf, max_quiesce=math.inf)
                for guest in guests
            ]
            found = precopy.relocate(free, rules, rate, at_once=at_once, most_each=most_each)
            rows.append(
                (
                    f"{words}, IMMEDIATE" if immediate else words,
                    max(one.quiesce for one in found),
                    math.fsum(one.seconds for one in found) / len(found),
                    max(one.ends for one in found),
                    math.fsum(one.pages for one in found) / PAGES_IN_MIB,
                )
            )
    return Table(
        "options", "The same guests in other ways, MAXQUIESCE and MAXTOTAL being NOLIMIT", _OPTIONS, rows
    )


def _notes(found: Sequence[precopy.Outcome], guests: Sequence[precopy.Guest]) -> list[str]:
    notes = []
    for one, guest in zip(found, guests, strict=True):
        if one.stopped_by == "passes":
            why = f"{one.name} is stopped because of the number of passes"
            notes.append(
                f"{why}: pages change about as fast as they are sent, further passes would leave no less"
                if _stands(one)
                else f"{why}: with more of them less would be left"
            )
        if one.end_code != precopy.COMPLETED:
            limit = "MAXQUIESCE" if one.end_code == precopy.MAXQUIESCE else "MAXTOTAL"
            notes.append(
                f"{one.name} is cancelled, stays where it is and runs on there: {limit} is too short"
            )
        elif guest.immediate and one.quiesce > one.seconds / 2:
            notes.append(
                f"{one.name} stands still for most of its relocation: IMMEDIATE gives it one pass to run"
            )
    return notes


def _stands(one: precopy.Outcome) -> bool:
    """Whether the last pass before the quiesce left nearly as much as it sent."""
    live = [each.pages for each in one.passes if not each.quiesced]
    left = next((each.pages for each in one.passes if each.quiesced), 0.0)
    return left > 0.95 * live[-1]


def _charts(found: Sequence[precopy.Outcome]) -> list[Chart]:
    shown = found[: len(COLORS)]
    longest = max(len(one.passes) for one in shown)
    series = tuple(
        Series(one.name, [one.passes[at].pages if at < len(one.passes) else None for at in range(longest)])
        for one in shown
    )
    places = [str(at) for at in range(1, longest + 1)]
    of = f", the first {len(shown)} of {len(found):,} guests" if len(found) > len(shown) else ""
    charts = [Chart(f"Pages by pass{of}", "bars", places, series, "pages")] if longest else []
    if len(found) > 1:
        names = [one.name for one in found]
        charts.append(
            Chart("Quiesce", "bars", names, (Series("quiesce", [one.quiesce for one in found]),), "s")
        )
    return charts


def _together(scenario: Scenario) -> None:
    """Keys that are each right, but not together."""
    wrong = scenario.problem.wrong
    names = [guest["name"] for guest in scenario["guest"]]
    if len(set(names)) < len(names):
        raise wrong("two guests have the same name", "give each a name of its own")
    if scenario["passes_most"] < scenario["live_passes"] + scenario["quiesce_passes"]:
        raise wrong(
            f"passes_most is {scenario['passes_most']}",
            "make it more, or live_passes or quiesce_passes less",
            expected=f"at least {scenario['live_passes'] + scenario['quiesce_passes']}, "
            "live_passes and quiesce_passes together",
        )
    for guest in scenario["guest"]:
        _guest_together(scenario, guest)
    relocation_link.together(scenario)


def _guest_together(scenario: Scenario, guest: dict[str, Any]) -> None:
    wrong, here = scenario.problem.wrong, f"guest.{guest['name']}"
    if _touched(guest) > guest["memory"]:
        raise wrong(f"{here}.touched is {guest['touched']:g}", "make it less",
                    expected=f"at most its memory, {guest['memory']:g}")  # fmt: skip
    if _changing(guest) > _touched(guest):
        raise wrong(f"{here}.changing is {guest['changing']:g}", "make it less",
                    expected=f"at most what was touched, {_touched(guest):g}")  # fmt: skip
    needs = {"hot set": ("hot_pages", "hot_writes"), "zipf": ("exponent",)}
    for pattern, keys in needs.items():
        for key in keys:
            if (guest[key] is not None) != (guest["pattern"] == pattern):
                there = "is there" if guest[key] is not None else "is missing"
                raise wrong(f'{here}.{key} {there}, and its pattern is "{guest["pattern"]}"',
                            f'{key} and pattern = "{pattern}" go together')  # fmt: skip
    if guest["pattern"] == "hot set" and guest["hot_pages"] == 0 and guest["hot_writes"] > 0:
        raise wrong(f"{here}.hot_pages is 0, and writes go to them", "make it more")
    if guest["pattern"] == "hot set" and guest["hot_pages"] == 100 and guest["hot_writes"] < 100:
        raise wrong(f"{here}.hot_pages is 100, and writes go to other pages", "make it less")
