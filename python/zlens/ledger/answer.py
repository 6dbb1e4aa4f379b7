"""A ledger of an input as an answer: accounts as a tree, by time, and meters of the same amounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from zlens.catalog.aggregation import expand_references
from zlens.catalog.expressions import literal
from zlens.catalog.ledgers import STATUSES, Ledger, ledger_names, load_ledger
from zlens.errors import QueryError
from zlens.ledger.factors import J_PER_KWH, EmissionFactors
from zlens.ledger.further_tables import TABLES
from zlens.ledger.ledger_row import LedgerRow
from zlens.ledger.rows import ledger_rows
from zlens.ledger.tree import LedgerEntry, entries
from zlens.rendering.answer import Answer, AnswerFigure, AnswerTable, Value
from zlens.rendering.answer_columns import answer_columns
from zlens.schema.wording import phrase
from zlens.session import kept_days

if TYPE_CHECKING:
    from zlens.ledger.prices import Prices
    from zlens.session.session import CoreSession


def solve(
    session: CoreSession,
    name: str,
    *,
    top: int | None = None,
    factors: EmissionFactors | None = None,
    prices: Prices | None = None,
) -> Answer:
    """Return the answer of a ledger; QueryError if there is none of the name, or no data of it.

    top      subjects of an account that are shown below one row; None: all
    factors  the user's emission factors, for the emission of each account of energy
    prices   the user's, for a ledger with further tables
    """
    ledger = load_ledger(name)
    if factors is not None and ledger.unit != "J":
        raise QueryError(
            f"emission factors are for energy, and the ledger {name} is in {ledger.unit}",
            cure="use the ledger energy",
        )
    if prices is not None and not ledger.tables:
        priced = ", ".join(each for each in ledger_names() if load_ledger(each).tables)
        raise QueryError(f"the ledger {name} has no prices", expected=priced)
    rows = ledger_rows(session, ledger)
    if not rows:
        raise QueryError(
            f"this input has no data of the ledger {name}",
            expected=ledger.needs,
            cure=phrase("explain_ledger"),
        )
    found = [*entries(rows, top)]
    tables = [
        AnswerTable(
            "accounts",
            f"Accounts, in {ledger.unit}",
            answer_columns("ledger", "accounts"),
            [_account_row(ledger, entry) for entry in found],
            depths=[entry.depth for entry in found],
        )
    ]
    if factors is not None:
        emission = [_emission_row(ledger, entry, factors) for entry in found]
        columns = answer_columns("ledger", "emission")
        depths = [entry.depth for entry in found]
        tables.append(AnswerTable("emission", "Emission of CO2", columns, emission, depths=depths))
    if session.options.every_s:
        times = [*_time_rows(session, ledger)]
        tables.append(AnswerTable("times", "Accounts by time", answer_columns("ledger", "times"), times))
    tables += further_tables(session, ledger, prices)
    return Answer(
        f"ledger {name}",
        f"Ledger: {ledger.title}, in {ledger.unit}",
        tables,
        [_not_attributed(ledger, rows)],
        notes=[
            *_notes(ledger, rows),
            *kept_notes(session, ledger),
            *([f"Emission factors: {factors.source}."] if factors else []),
        ],
    )


def kept_notes(session: CoreSession, ledger: Ledger) -> list[str]:
    """Return what comes from measures by day of a lake, and what its days without raw tables have not."""
    note = kept_days.note(session.kept_days, (info.system for info in session.systems))
    if note is None:
        return []
    titles = [*(["four-hour averages"] if ledger.tables else []), *(table.title for table in ledger.queries)]
    return [note, *([f"Without these days: {', '.join(titles)}."] if titles else [])]


def further_tables(
    session: CoreSession, ledger: Ledger, prices: Prices | None = None
) -> Iterator[AnswerTable]:
    """Yield further tables that have rows: of meters, and those that the ledger's facts state."""
    if meters := [*_meter_rows(session, ledger)]:
        yield AnswerTable("meters", "Meters of the same time", answer_columns("ledger", "meters"), meters)
    # The others need intervals.
    if ledger.tables:
        by_time = bool(session.options.every_s)
        yield from TABLES[ledger.tables](session, prices=prices, by_time=by_time)
    for table in ledger.queries:
        if rows := session.sql(table.query).rows:
            yield AnswerTable(table.name, table.title, answer_columns("ledger", table.name), rows)


def _account_row(ledger: Ledger, entry: LedgerEntry) -> tuple[Value, ...]:
    row = entry.row
    whole = entry.root.amount
    share = None if row.amount is None or not whole else 100 * row.amount / whole
    return (
        row.subject,
        ledger.accounts()[row.account].title,
        row.cpu_type,
        row.amount,
        share,
        row.status,
        row.transactions,
        row.per_transaction,
        row.level,
        row.account,
    )


def _emission_row(ledger: Ledger, entry: LedgerEntry, factors: EmissionFactors) -> tuple[Value, ...]:
    row = entry.row
    return (
        row.subject,
        ledger.accounts()[row.account].title,
        None if row.amount is None else row.amount / J_PER_KWH,
        factors.grams(row.machine, row.amount),
        row.level,
        row.account,
    )


def _time_rows(session: CoreSession, ledger: Ledger) -> Iterator[tuple[Value, ...]]:
    """Yield the amounts of each account of a machine by interval."""
    sums: dict[tuple[str, str, str, str], float | None] = {}
    for row in ledger_rows(session, ledger, by_time=True):
        if row.end is None:
            continue
        key = row.end.isoformat(" "), row.machine or "", row.level, row.account
        before = sums.get(key, 0.0)
        sums[key] = None if before is None or row.amount is None else before + row.amount
    order = [*ledger.accounts()]
    for time, machine, level, account in sorted(sums, key=lambda key: (*key[:2], order.index(key[3]))):
        yield (time, machine, level, ledger.accounts()[account].title, sums[time, machine, level, account])


def _meter_rows(session: CoreSession, ledger: Ledger) -> Iterator[tuple[Value, ...]]:
    """Yield what each pair of meters counted of a subject."""
    query = (
        "SELECT comparison, system, subject, first_meter, {total ledger_meter.first_amount} AS first, "
        "second_meter, {total ledger_meter.second_amount}, {total ledger_meter.difference}, "
        "{of_totals ledger_meter.ratio_pct} FROM ledger_meter "
        f"WHERE ledger = {literal(ledger.name)} AND difference IS NOT NULL "
        "GROUP BY comparison, system, subject, first_meter, second_meter HAVING first <> 0 "
        "ORDER BY comparison, system, subject"
    )
    titles = {meter.name: meter.title for meter in ledger.meters}
    for name, *compared in session.with_kept_days.sql(expand_references(query)).rows:
        yield (titles[name], *compared)


def _not_attributed(ledger: Ledger, rows: Sequence[LedgerRow]) -> AnswerFigure:
    """Return the share that has no owner, of the machine (and processor type) where it is largest.

    Unknown if a part of what has no owner is.
    """
    rests = {name for name, account in ledger.accounts().items() if account.not_attributed}
    amounts: dict[tuple[str | None, float], float] = {}
    is_known = True
    for entry in entries(rows):
        if entry.root.amount:
            key = entry.root.node, entry.root.amount
            rest = entry.row.amount if entry.row.account in rests else 0.0
            is_known &= rest is not None
            amounts[key] = amounts.get(key, 0.0) + abs(rest or 0.0)
    shares = [100 * rest / whole for (_, whole), rest in amounts.items()]
    share = max(shares, default=None) if is_known else None
    root = next(iter(ledger.accounts().values())).title
    text = f"Largest share of {root} that is not attributed"
    return AnswerFigure("not_attributed_pct", share, "%", text)


def _notes(ledger: Ledger, rows: Sequence[LedgerRow]) -> Iterator[str]:
    statuses = {row.status for row in rows}
    yield f"{'; '.join(f'{word}: {text}' for word, text in STATUSES.items() if word in statuses)}."
    yield ledger.not_counted
