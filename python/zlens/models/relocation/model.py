"""Live guest relocation: relocation time, quiesce time and outcome.

Source of the rules: IBM z/VM Performance Report, Live Guest Relocation; "z/VM Performance Update 6.2 and
6.3"; IBM, Linux on Z documentation, z/VM 6.2 Live Guest Relocation with Linux Middleware. What
they do not settle is a key of the scenario.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from msgspec.structs import replace

from zlens.catalog import codes
from zlens.models.constants import constant
from zlens.models.optional_numbers import ratio
from zlens.models.relocation import dirtying, precopy
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure, AnswerTable
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import COLORS, Chart, ChartSeries

SUMMARY = "live guest relocation: passes, quiesce and total time, cancellation, the ISFC link"

#: Pages of 4 KiB in a MiB.
PAGES_IN_MIB = 256


def solve(scenario: Scenario) -> Answer:
    """Relocate the guests one by one or several at once, and compare with the other options of VMRELOCATE."""
    check_combinations(scenario)
    rate, figures, tables, notes = relocation_link.link(scenario)
    most_per_guest = scenario["link"]["most_per_guest"]
    rules = precopy.StopRules(
        stop_pages=scenario["stop_below"] * PAGES_IN_MIB,
        live_least=scenario["live_passes"],
        passes_most=scenario["passes_most"],
        quiesce_passes=scenario["quiesce_passes"],
        no_progress=ratio(scenario["no_progress"], 100),
    )
    guests = [guest_of(scenario, guest) for guest in scenario["guest"]]
    relocate = partial(
        precopy.relocate,
        rules=rules,
        rate=rate * PAGES_IN_MIB,
        most_each=math.inf if most_per_guest is None else most_per_guest * PAGES_IN_MIB,
        several=scenario["link"]["several"] / 100,
    )
    outcomes = relocate(guests, at_once=scenario["at_once"])
    scenario.assume("relocation_changes")
    if len(guests) == 1:
        scenario.unused("isfc_several")
    if not any(guest.page_in for guest in guests):
        scenario.unused("relocation_page_in")
    if all(guest.immediate for guest in guests):
        for name in ("relocation_stop_below", "relocation_live_passes", "relocation_passes_most"):
            scenario.unused(name)
    quiesce, ends, moved = _extremes(outcomes)
    canceled = float(sum(outcome.end_code != 0 for outcome in outcomes))
    figures = [
        AnswerFigure("quiesce", quiesce, "s", "Longest quiesce", 3),
        AnswerFigure("total", ends, "s", "All relocations", 2),
        AnswerFigure("moved", moved, "MiB", "Moved", 1),
        AnswerFigure("cancelled", canceled, "", "Cancelled", 0),
        *figures,
    ]
    rows = [_row(outcome, rules) for outcome in outcomes]
    passes = [row for outcome in outcomes for row in _pass_rows(outcome, rules)]
    tables = [
        answer_table("relocation", "relocations", "Relocations", rows),
        answer_table("relocation", "passes", "Passes", passes),
        _options(guests, scenario["at_once"], relocate),
        *tables,
    ]
    notes = [*_notes(outcomes, guests), *notes]
    guest_names = ", ".join(outcome.name for outcome in outcomes[:3]) + (", ..." if len(outcomes) > 3 else "")
    title, follow = scenario.title or f"Relocation of {guest_names}", ("relocations", "quiesce")
    return Answer("relocation", title, tables, figures, _charts(outcomes), notes, follow=follow)


def _extremes(outcomes: Sequence[precopy.RelocationOutcome]) -> tuple[float, float, float]:
    """Return the longest quiesce and the end of all relocations, seconds, and MiB sent."""
    moved = math.fsum(outcome.pages for outcome in outcomes) / PAGES_IN_MIB
    return max(outcome.quiesce for outcome in outcomes), max(outcome.ends for outcome in outcomes), moved


def guest_of(scenario: Scenario, guest: dict[str, Any]) -> precopy.RelocatingGuest:
    keys = ("immediate", "maxquiesce", "maxtotal")
    immediate, quiesce, total = (scenario[key] if guest[key] is None else guest[key] for key in keys)
    if quiesce is None and immediate:
        quiesce = "NOLIMIT"
    if quiesce is None:
        scenario.assume("relocation_maxquiesce")
        quiesce = constant("relocation_maxquiesce").default
    return precopy.RelocatingGuest(
        guest["name"],
        touched(guest) * PAGES_IN_MIB,
        _writes(guest),
        immediate,
        seconds(total),
        seconds(quiesce),
        guest["setup"],
        guest["fixed_quiesce"],
        scenario["walk"] / 1000 * touched(guest) / 1024,
        guest["paged_out"] / scenario["page_in"],
    )


def seconds(limit: float | str) -> float:
    return math.inf if isinstance(limit, str) else limit


def touched(guest: dict[str, Any]) -> float:
    return float(guest["memory"] if guest["touched"] is None else guest["touched"])


def changing(guest: dict[str, Any]) -> float:
    return float(touched(guest) if guest["changing"] is None else guest["changing"])


def _writes(guest: dict[str, Any]) -> dirtying.WriteModel:
    pages, rate = changing(guest) * PAGES_IN_MIB, guest["change_rate"] * PAGES_IN_MIB
    if guest["pattern"] == "sweep":
        return dirtying.SequentialWrites(pages, rate)
    if guest["pattern"] == "hot set":
        return dirtying.hot_set(pages, rate, guest["hot_pages"] / 100, guest["hot_writes"] / 100)
    if guest["pattern"] == "zipf":
        return dirtying.zipf(pages, rate, guest["exponent"])
    return dirtying.uniform(pages, rate)


def _row(outcome: precopy.RelocationOutcome, rules: precopy.StopRules) -> tuple[Any, ...]:
    live = sum(not pass_.quiesced for pass_ in outcome.passes)
    quiesced = [pass_ for pass_ in outcome.passes if pass_.quiesced]
    times = (outcome.begins, outcome.seconds, outcome.quiesce, outcome.quiesce_needed)
    passes = live + min(len(quiesced), rules.quiesce_passes)
    sent = (outcome.pages / PAGES_IN_MIB, math.fsum(pass_.pages for pass_ in quiesced))
    end = codes.words("relocation_end")[str(outcome.end_code)]
    return (outcome.name, *times, passes, *sent, outcome.stopped_by, outcome.end_code, end)


def _pass_rows(outcome: precopy.RelocationOutcome, rules: precopy.StopRules) -> Iterator[tuple[Any, ...]]:
    for number, pass_ in enumerate(outcome.passes, 1):
        shown = None if pass_.quiesced and not rules.quiesce_passes else number
        subject = (outcome.name, shown, "quiesced" if pass_.quiesced else "running")
        sent = (pass_.pages / PAGES_IN_MIB, pass_.pages)
        yield (*subject, pass_.begins, pass_.seconds, *sent, pass_.whole)


def _options(
    guests: Sequence[precopy.RelocatingGuest],
    requested: int,
    relocate: Callable[..., list[precopy.RelocationOutcome]],
) -> AnswerTable:
    """Return the same guests in sequence and at once, with and without IMMEDIATE, ignoring limits."""
    concurrent = len(guests) if requested == 1 else min(requested, len(guests))
    ways = [(1, "in sequence"), (concurrent, f"{concurrent} at once")][: len(guests)]
    rows = []
    for at_once, words in ways:
        for immediate in (False, True):
            free = [
                replace(guest, immediate=immediate, max_total=math.inf, max_quiesce=math.inf)
                for guest in guests
            ]
            outcomes = relocate(free, at_once=at_once)
            quiesce, ends, moved = _extremes(outcomes)
            mean = math.fsum(outcome.seconds for outcome in outcomes) / len(outcomes)
            rows.append((f"{words}, IMMEDIATE" if immediate else words, quiesce, mean, ends, moved))
    title = "The same guests with other options, MAXQUIESCE and MAXTOTAL NOLIMIT"
    return answer_table("relocation", "options", title, rows)


def _notes(
    outcomes: Sequence[precopy.RelocationOutcome], guests: Sequence[precopy.RelocatingGuest]
) -> list[str]:
    notes = []
    for outcome, guest in zip(outcomes, guests, strict=True):
        if outcome.stopped_by == "passes":
            why = f"{outcome.name} is stopped because of the number of passes"
            notes.append(
                f"{why}: pages change about as fast as they are sent, so further passes would not leave fewer"
                if _makes_no_progress(outcome)
                else f"{why}: more passes would leave fewer pages"
            )
        if outcome.end_code != precopy.COMPLETED:
            limit = "MAXQUIESCE" if outcome.end_code == precopy.MAXQUIESCE else "MAXTOTAL"
            notes.append(
                f"{outcome.name} is canceled and continues to run on the source system: {limit} is too short"
            )
        elif guest.immediate and outcome.quiesce > outcome.seconds / 2:
            notes.append(
                f"{outcome.name} is quiesced for most of its relocation: IMMEDIATE allows one pass while "
                "it runs"
            )
    return notes


def _makes_no_progress(outcome: precopy.RelocationOutcome) -> bool:
    """Return whether the last pass before the quiesce left nearly as many pages as it sent."""
    live = [pass_.pages for pass_ in outcome.passes if not pass_.quiesced]
    left = next((pass_.pages for pass_ in outcome.passes if pass_.quiesced), 0.0)
    return left > 0.95 * live[-1]


def _charts(outcomes: Sequence[precopy.RelocationOutcome]) -> list[Chart]:
    charted = outcomes[: len(COLORS)]
    max_passes = max(len(outcome.passes) for outcome in charted)
    pages = zip_longest(*([pass_.pages for pass_ in outcome.passes] for outcome in charted))
    lines = zip(*pages, strict=True)
    series = tuple(ChartSeries(one.name, list(line)) for one, line in zip(charted, lines, strict=False))
    labels = [str(number) for number in range(1, max_passes + 1)]
    suffix = f", the first {len(charted)} of {len(outcomes):,} guests" if len(outcomes) > len(charted) else ""
    charts = [Chart(f"Pages by pass{suffix}", "bars", labels, series, "pages")] if max_passes else []
    if len(outcomes) > 1:
        names = [outcome.name for outcome in outcomes]
        quiesce = ChartSeries("quiesce", [outcome.quiesce for outcome in outcomes])
        charts.append(Chart("Quiesce", "bars", names, (quiesce,), "s"))
    return charts


def check_combinations(scenario: Scenario) -> None:
    """Raise an error for valid keys that contradict each other."""
    error = scenario.error
    names = [guest["name"] for guest in scenario["guest"]]
    if len(set(names)) < len(names):
        raise error("two guests have the same name", "use unique names")
    fewest = scenario["live_passes"] + scenario["quiesce_passes"]
    if scenario["passes_most"] < fewest:
        raise error(
            f"passes_most is {scenario['passes_most']}",
            "increase it, or reduce live_passes or quiesce_passes",
            f"at least {fewest}, the sum of live_passes and quiesce_passes",
        )
    for guest in scenario["guest"]:
        _check_guest(scenario, guest)
    relocation_link.check_link(scenario)


def _check_guest(scenario: Scenario, guest: dict[str, Any]) -> None:
    error, path = scenario.error, f"guest.{guest['name']}"
    for key, amount, name, most in (
        ("touched", touched(guest), "its memory", guest["memory"]),
        ("paged_out", guest["paged_out"], "what was touched", touched(guest)),
        ("changing", changing(guest), "what was touched", touched(guest)),
    ):
        if amount > most:
            raise error(f"{path}.{key} is {guest[key]:g}", "reduce it", f"at most {name}, {most:g}")
    needs = {"hot set": ("hot_pages", "hot_writes"), "zipf": ("exponent",)}
    for pattern, keys in needs.items():
        for key in keys:
            if (guest[key] is not None) != (guest["pattern"] == pattern):
                state = "is given" if guest[key] is not None else "is missing"
                raise error(f'{path}.{key} {state}, but its pattern is "{guest["pattern"]}"',
                            f'{key} and pattern = "{pattern}" require each other')  # fmt: skip
    if guest["pattern"] == "hot set" and guest["hot_pages"] == 0 and guest["hot_writes"] > 0:
        raise error(f"{path}.hot_pages is 0, but writes go to them", "increase it")
    if guest["pattern"] == "hot set" and guest["hot_pages"] == 100 and guest["hot_writes"] < 100:
        raise error(f"{path}.hot_pages is 100, but writes go to other pages", "reduce it")
