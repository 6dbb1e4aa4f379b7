"""Composes verdicts: each cause with the findings that it explains, then findings without a cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from zlens.catalog import measures, peaks
from zlens.catalog.causes import VerdictFacts, explained_rules
from zlens.catalog.expressions import literal, quote
from zlens.catalog.peaks import SubjectGroup, fill_placeholders, placeholders
from zlens.catalog.rules import builtin
from zlens.errors import QueryError, ScenarioError
from zlens.findings import FindingsResult
from zlens.findings.finding import format_amount
from zlens.plan import planning
from zlens.schema.plain_text import format_count
from zlens.session.session import CoreSession
from zlens.verdict.effects import Effect, load_effects
from zlens.verdict.growth import (
    AddedUse,
    Window,
    added_up,
    group_of,
    group_with_data,
    growth,
    in_window,
    means,
    means_query,
    rates,
    use_query,
)
from zlens.verdict.occurrences import Occurrence, load_occurrences
from zlens.verdict.sentences import Clause, SystemVerdict, sentence

#: Significant digits of numbers in sentences.
_DIGITS = 3


def compose(
    findings: FindingsResult,
    *,
    session: CoreSession | None = None,
    system: str | None = None,
    window: tuple[datetime | None, datetime | None] = (None, None),
) -> list[SystemVerdict]:
    """Return a verdict on each system, or only on `system`.

    session   where causes are searched, if not only in the window of the findings
    window    start and end of that window; events without an effect are stated only if they are in it
    Raises CatalogError if rules explain each other.
    """
    session = session or findings.session
    names = dict.fromkeys(info.system for info in session.systems)
    return [_Composer(session, findings, name, window).verdict() for name in names if system in (None, name)]


def queries() -> list[str]:
    """Return SELECTs that read what verdicts do: rules checked with them (`later`) share their tables."""
    shown = [rule.meanwhile for rule in builtin().values() if rule.meanwhile is not None]
    found = [use_query(group) for group in added_up()]
    found += [means_query(each.table, each.columns, each.by) for each in shown]
    return [query.sql() for query in found] + planning.queries()


class _Composer:
    """Composes the verdict on one system."""

    def __init__(
        self,
        session: CoreSession,
        findings: FindingsResult,
        system: str,
        window: tuple[datetime | None, datetime | None],
    ) -> None:
        self._window = window
        self._session = session
        self._system = system
        self._facts = VerdictFacts.load()
        self._texts = self._facts.texts
        self._within = timedelta(minutes=self._facts.minutes)
        self._rules_checked = findings.asked
        self._explained = explained_rules({rule.id: rule for rule in findings.asked})
        self._effects = load_effects(session, findings.rows, system, self._within)
        self._occurrences = load_occurrences(session, system, self._facts)
        self._rates: dict[object, Mapping[tuple[Any, ...], float]] = {}
        self._causes = {effect.rule.id: self._causes_of(effect) for effect in self._effects}
        self._stated: set[str] = set()
        self._dated = self._needs_dates()

    def verdict(self) -> SystemVerdict:
        sentences = [*self._of_occurrences(), *self._of_findings()]
        sentences += self._without_effect()
        if not self._effects:
            rules = sum(bool(rule.clause) for rule in self._rules_checked)
            text = fill_placeholders(self._texts.nothing, {"rules": format_count(rules, "rule")})
            sentences.insert(0, [Clause("checked", text, view="findings")])
        return SystemVerdict(self._system, [sentence(clauses) for clauses in sentences])

    # Causes

    def _causes_of(self, effect: Effect) -> list[Occurrence]:
        """Return the events that explain an effect, in the order of the facts, then by what they added."""
        causes: dict[tuple[str, str], tuple[Occurrence, float]] = {}
        for occurrence in self._occurrences:
            if not occurrence.may_explain(effect, self._within):
                continue
            added = self._added(effect, occurrence)
            if added is not None:
                grows = added.group.key in effect.rule.growth
                is_small = grows and added.share is not None and added.share < self._facts.share
                if added.added <= 0 or is_small:
                    continue
            # Of several logons of a guest, the last.
            causes[occurrence.cause.event, occurrence.subject] = occurrence, added.added if added else 0.0
        order = {cause.event: number for number, cause in enumerate(self._facts.cause)}
        ranked = sorted(causes.values(), key=lambda entry: (order[entry[0].cause.event], -entry[1]))
        return [occurrence for occurrence, _ in ranked[: self._facts.most]]

    def _added(self, effect: Effect, occurrence: Occurrence) -> AddedUse | None:
        """Return what the subject of an event added during an effect; None if it is unknown."""
        group = group_of(occurrence.subject)
        if group is None:
            return None
        rows = self._growth_during(effect, group.key)
        return next((row for row in rows if row.event_subject == occurrence.subject), None)

    def _growth_during(self, effect: Effect, key: str) -> list[AddedUse]:
        """Return what subjects added during an effect, against the time before its first possible cause."""
        group = group_with_data(self._session, [key])
        if group is None:
            return []
        candidates = [
            occurrence.time
            for occurrence in self._occurrences
            if occurrence.may_explain(effect, self._within)
            and occurrence.time >= effect.start - max(self._within, effect.interval)
        ]
        start = min([*candidates, effect.start])
        before = self._rates_in(group, (start - max(self._within, effect.interval), start))
        return growth(group, before, self._rates_in(group, (effect.start, effect.end)))

    def _rates_in(self, group: SubjectGroup, window: Window) -> Mapping[tuple[Any, ...], float]:
        """Return the use of each subject per second; effects of one cause have windows in common."""
        if (group.key, window) not in self._rates:
            self._rates[group.key, window] = rates(self._session, self._system, group, window)
        return self._rates[group.key, window]

    def _findings_explaining(self, effect: Effect) -> list[Effect]:
        return [
            other
            for other in self._effects
            if effect.rule.id in self._explained[other.rule.id]
            and other.recorded <= effect.recorded
            and other.end > effect.start
        ]

    # Sentences

    def _of_occurrences(self) -> Iterator[list[Clause]]:
        """Yield a sentence for each event that explains an effect."""
        explaining = {id(cause): cause for causes in self._causes.values() for cause in causes}
        for occurrence in self._occurrences:
            if id(occurrence) not in explaining:
                continue
            effects = [effect for effect in self._effects if occurrence in self._causes[effect.rule.id]]
            clauses = [self._cause(occurrence, effects[0]), *self._added_clauses(occurrence, effects)]
            # An effect that another one of them explains follows that one.
            direct = [
                effect
                for effect in effects
                if not any(other in effects for other in self._findings_explaining(effect))
            ]
            stated = [clauses for effect in direct for clauses in self._chain(effect)]
            clauses += self._joined(stated, effects)
            what_if = self._what_if(occurrence, effects[0])
            yield [*clauses, *([what_if] if what_if else [])]

    def _of_findings(self) -> Iterator[list[Clause]]:
        """Yield a sentence for each effect that no event explains, with its own effects."""
        left = [effect for effect in self._effects if effect.rule.id not in self._stated]
        roots = [
            effect
            for effect in left
            if not any(other.rule.id not in self._stated for other in self._findings_explaining(effect))
        ]
        for effect in roots[: self._facts.most]:
            if effect.rule.id in self._stated:
                continue
            (first, *meanwhile), *others = self._chain(effect)
            period = self._period(effect.start, effect.end)
            text = fill_placeholders(self._texts.unexplained, {"clause": first.text, "period": period})
            yield [
                replace(first, text=text),
                *meanwhile,
                *self._joined(others, [], before="; "),
                *self._growth_clauses(effect),
                *self._later(effect),
                self._checked(effect),
            ]
        more = len(roots) - self._facts.most
        if more > 0:
            yield [Clause("effect", self._also(more), view="findings")]

    def _without_effect(self) -> Iterator[list[Clause]]:
        """Yield a sentence for lasting events that explain nothing and were not mentioned."""
        explaining = {id(cause) for causes in self._causes.values() for cause in causes}
        explaining |= {id(occurrence) for effect in self._effects for occurrence in self._after(effect)}
        lasting = [
            occurrence
            for occurrence in self._occurrences
            if occurrence.cause.lasts and id(occurrence) not in explaining and self._is_inside(occurrence)
        ]
        for occurrence in lasting[: self._facts.most]:
            clause = self._cause(occurrence, None)
            yield [replace(clause, text=fill_placeholders(self._texts.no_effect, {"clause": clause.text}))]

    def _is_inside(self, occurrence: Occurrence) -> bool:
        start, end = self._window
        begun = end is None or occurrence.time <= end
        return begun and (start is None or occurrence.until is None or occurrence.until > start)

    def _chain(self, effect: Effect) -> Iterator[list[Clause]]:
        """Yield the clauses of an effect and of those that it explains, unless they were stated before."""
        if effect.rule.id in self._stated:
            return
        self._stated.add(effect.rule.id)
        yield [self._effect(effect), *self._meanwhile(effect)]
        for other in self._effects:
            if effect in self._findings_explaining(other):
                for first, *rest in self._chain(other):
                    so = fill_placeholders(self._texts.so, {"clause": first.text})
                    yield [replace(first, text=so, before=", "), *rest]

    def _joined(
        self, stated: list[list[Clause]], effects: Sequence[Effect], before: str = ": "
    ) -> Iterator[Clause]:
        """Yield the clauses of effects, at most as many as the facts say."""
        for number, (first, *rest) in enumerate(stated[: self._facts.most]):
            yield replace(first, before=first.before or ("; " if number else before))
            yield from rest
        more = len(stated) - self._facts.most
        if more > 0:
            yield Clause("effect", self._also(more), "; ", "findings")

    def _also(self, more: int) -> str:
        return fill_placeholders(self._texts.also, {"count": f"{more:,}"})

    # Clauses

    def _cause(self, occurrence: Occurrence, effect: Effect | None) -> Clause:
        subject, time = occurrence.subject, occurrence.time
        values = {
            "subject": subject,
            "name": subject.partition(" ")[2],
            "time": self._clock(time),
            "period": self._period(time, occurrence.until),
        }
        text = fill_placeholders(occurrence.cause.clause, values)
        view, settings = peaks.load_peak_facts().view_of_event(subject) or ("overview", {})
        ends = [time, occurrence.until, effect.end if effect else None]
        last = max(filter(None, ends))
        return Clause("cause", text, "", view, settings, time - self._within, last + self._within)

    def _added_clauses(self, occurrence: Occurrence, effects: Sequence[Effect]) -> Iterator[Clause]:
        """Yield what the subject of an event added during an effect: one that growth explains, if any."""
        group = group_of(occurrence.subject)
        if group is None:
            return
        grown = [effect for effect in effects if group.key in effect.rule.growth]
        effect = (grown or effects)[0]
        added = self._added(effect, occurrence)
        if added is None:
            return
        has_share = grown and added.share is not None and added.share <= 100
        text = self._texts.added if has_share else self._texts.added_alone
        yield self._growth_clause(added, text, effect, " ")

    def _growth_clauses(self, effect: Effect) -> Iterator[Clause]:
        group = group_with_data(self._session, effect.rule.growth)
        if group is None:
            return
        rows = [
            row
            for row in self._growth_during(effect, group.key)
            if row.added > 0 and row.share is not None and row.share >= self._facts.share
        ]
        for row in rows[: self._facts.most]:
            yield self._growth_clause(row, self._texts.grew, effect, "; ")

    def _growth_clause(self, row: AddedUse, text: str, effect: Effect, before: str) -> Clause:
        values = {
            "subject": row.name,
            "value": format_amount(row.added, row.group.unit, _DIGITS),
            "share": format_amount(row.share, "%", _DIGITS),
        }
        start, end = effect.start - self._within, effect.end + self._within
        text = fill_placeholders(text, values)
        return Clause("added", text, before, row.group.view, row.settings, start, end)

    def _effect(self, effect: Effect) -> Clause:
        finding, rule = effect.finding, effect.rule
        values: dict[str, object] = {
            "subject": finding.subject,
            "name": finding.subject.partition(" ")[2],
            "value": format_amount(finding.value, rule.unit, _DIGITS),
            "detail": finding.detail,
        }
        for name in placeholders(rule.clause):
            table, _, column = name.rpartition(".")
            if table:
                found = means(self._session, self._system, (effect.start, effect.end), table, [column])
                amounts = [row[column] for row in found.values()]
                values[name] = self._amount(table, column, amounts[0] if amounts else None)
        text = fill_placeholders(rule.clause, values)
        if effect.more:
            text += f" and {self._also(effect.more)}"
        of_rule = {"rule": rule.id, "data": finding.data, "subject": finding.subject}
        settings = {key: value for key, value in of_rule.items() if value}
        start, end = effect.start - self._within, effect.end + self._within
        return Clause("effect", text, "", "findings", settings, start, end)

    def _meanwhile(self, effect: Effect) -> Iterator[Clause]:
        """Yield what was measured at the same time."""
        shown = effect.rule.meanwhile
        if shown is None or not all(map(self._session.has_data, (shown.table, shown.of))):
            return
        window = (effect.start, effect.end)
        own = self._session.queries.select(
            f"SELECT DISTINCT {quote(shown.by)} FROM {quote(shown.of)} "
            f"WHERE {in_window(self._system, window)}",
            {shown.of: ["system", "interval_end", shown.by]},
        ).rows
        found = means(self._session, self._system, window, shown.table, shown.columns, shown.by)
        before = ", "
        for by, row in found.items():
            if (by,) not in own or None in row.values():
                continue
            values = {name: self._amount(shown.table, name, value) for name, value in row.items()}
            clause = fill_placeholders(shown.clause, {shown.by: by, **values})
            text = fill_placeholders(self._texts.meanwhile, {"clause": clause}) if before == ", " else clause
            view = peaks.load_peak_facts().view_of(shown.table, shown.columns[-1])
            yield Clause("meanwhile", text, before, view, {}, effect.start, effect.end)
            before = " and "

    def _amount(self, table: str, column: str, value: float | None) -> str:
        found = measures.load_measure(table).column(column)
        return format_amount(value, found.unit if found else "", _DIGITS)

    def _what_if(self, occurrence: Occurrence, effect: Effect) -> Clause | None:
        """Return what the system could have used without the event, solved for the worst interval."""
        cause, worst = occurrence.cause, effect.finding.worst
        if not cause.what_if or worst is None or not self._session.has_data("partition"):
            return None
        try:
            answer = planning.plan(self._session, [cause.what_if], system=self._system, at=worst.timestamp())
        except (QueryError, ScenarioError):
            # The records of the interval do not suffice for the model.
            return None
        figure = answer.figures[0] if answer.figures else None
        if figure is None or not figure.value or figure.value < 0:
            return None
        amount = format_amount(figure.value, "", _DIGITS)
        unit = figure.unit.removesuffix("s") if amount == "1" else figure.unit
        values = {"system": self._system, "value": f"{amount} {unit}"}
        settings = {"mode": "plan", "set": cause.what_if, "at": str(round(worst.timestamp()))}
        return Clause("what-if", fill_placeholders(cause.what_if_clause, values), "; ", "lab", settings)

    def _after(self, effect: Effect) -> list[Occurrence]:
        """Return the events that would explain an effect but were recorded after it."""
        return [
            occurrence
            for occurrence in self._occurrences
            if effect.rule.id in occurrence.cause.explains and effect.recorded < occurrence.time < effect.end
        ]

    def _later(self, effect: Effect) -> Iterator[Clause]:
        for occurrence in self._after(effect)[: self._facts.most]:
            clause = self._cause(occurrence, effect)
            text = fill_placeholders(self._texts.later, {"clause": clause.text})
            yield replace(clause, text=text, before="; ")

    def _checked(self, effect: Effect) -> Clause:
        """Return what was checked as the cause of an effect."""
        kinds = {cause.event for cause in self._facts.cause if effect.rule.id in cause.explains}
        events = [occurrence for occurrence in self._occurrences if occurrence.cause.event in kinds]
        rules = [rule for rule in self._rules_checked if effect.rule.id in self._explained[rule.id]]
        values = {
            "events": f"{len(events):,}",
            "kinds": format_count(len(kinds), "kind"),
            "rules": format_count(len(rules), "rule"),
        }
        return Clause("checked", fill_placeholders(self._texts.checked, values), ". ")

    # Times

    def _needs_dates(self) -> bool:
        """Return whether the recording of the system has several days."""
        times = self._session.sql(
            'SELECT min(interval_start), max(interval_end) FROM "interval" '
            f"WHERE system = {literal(self._system)}"
        ).rows[0]
        days = {self._session.display(time, self._system).date() for time in times if time is not None}
        return len(days) > 1

    def _clock(self, time: datetime) -> str:
        shown = self._session.display(time, self._system)
        return f"{shown:%Y/%m/%d %H:%M:%S}" if self._dated else f"{shown:%H:%M:%S}"

    def _period(self, start: datetime, end: datetime | None) -> str:
        times = {"from": self._clock(start)}
        if end is None:
            return fill_placeholders(self._texts.since, times)
        return fill_placeholders(self._texts.between, {**times, "to": self._clock(end)})
