"""SQL of ledgers: each ledger is a helper `_ledger_<name>`, compiled from its accounts (facts/ledgers).

A level is one query: the rows of its accounts, and what they leave of the nodes above. `_ledger` has the rows
of all ledgers, `_ledger_meter` the comparisons of meters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from zlens.catalog.expressions import compile_sql, literal, quote
from zlens.catalog.groups import Groups, group_name_sql
from zlens.catalog.ledgers import Ledger, LedgerAccount, LedgerLevel, LedgerMeter, ledger_names, load_ledger
from zlens.catalog.local_days import LOCAL_DAY

#: First line of the text of a helper that is computed once per session.
MATERIALIZED = "-- materialized\n"
#: The measure of all ledgers, and its columns that decide on the group of a row.
MEASURE, NAMED = "ledger", ("ledger", "account", "subject")
_PREFIX = "_ledger_"
_KEYS = "system, source, interval_end, seconds, flag"
_NAMES = "machine, partition, cpu_type, account_number"
_KINDS = ("raw", "mt1", "prorated")
_AMOUNTS = f"amount, status, meter, transactions, {', '.join(f'{kind}_s' for kind in _KINDS)}"
_COLUMNS = f"{_KEYS}, level, place, account, node, parent, {_NAMES}, subject, {_AMOUNTS}"
_METER_COLUMNS = (
    f"{_KEYS}, ledger, comparison, subject, unit, first_meter, first_amount, second_meter, second_amount"
)
#: Month of the system's local time that an interval is in.
_MONTH = f"strftime(DATE '1970-01-01' + CAST({LOCAL_DAY} AS INTEGER), '%Y-%m')"


def helper_names() -> tuple[str, ...]:
    """Return the names of the helpers compiled from ledgers."""
    return ("_ledger", "_ledger_meter", *(f"{_PREFIX}{name}" for name in ledger_names()))


@cache
def helper_sql(name: str) -> str:
    """Return the SQL of one of the helpers."""
    ledgers = [load_ledger(ledger) for ledger in ledger_names()]
    if name == "_ledger":
        parts = [
            f"SELECT {literal(ledger.name)} AS ledger, {literal(ledger.unit)} AS unit, {_COLUMNS} "
            f"FROM {_PREFIX}{ledger.name}"
            for ledger in ledgers
        ]
        rows = "\nUNION ALL\n".join(parts)
        places = "JOIN _ledger_place USING (system, source)"
        return f"SELECT part.*, {_MONTH} AS month FROM (\n{rows}\n) AS part\n{places}"
    if name == "_ledger_meter":
        return "\nUNION ALL\n".join(
            _meter_sql(ledger, meter) for ledger in ledgers for meter in ledger.meters
        )
    return _ledger_sql(load_ledger(name.removeprefix(_PREFIX)))


def group_sql(groups: Groups) -> str:
    """Return SQL of the user's group of a row of the measure ledger, by its columns NAMED."""
    branches = " ".join(
        f"WHEN ledger = {literal(ledger)} AND account = {literal(name)} "
        f"THEN {group_name_sql('subject', account.group, groups)}"
        for ledger in ledger_names()
        for name, account in load_ledger(ledger).accounts().items()
        if isinstance(account, LedgerAccount) and account.group is not None
    )
    return f"CASE {branches} END"


def _ledger_sql(ledger: Ledger) -> str:
    """Return the SQL of one ledger: a query for each level, and their union."""
    queries: list[str] = []
    names: list[str] = []
    above: LedgerLevel | None = None
    for place, level in enumerate(ledger.levels, 1):
        name = f"level_{level.name}"
        rows = "\nUNION ALL\n".join(_account_sql(ledger, place, account, above) for account in level.account)
        queries.append(f"{name} AS (\n{_part_of(rows, above)}\n)")
        names.append(name)
        if level.rest is not None and above is not None:
            queries.append(f"rest_{level.name} AS (\n{_rest_sql(ledger, place, above)}\n)")
            names.append(f"rest_{level.name}")
        above = level
    union = "\nUNION ALL\n".join(f"SELECT {_COLUMNS} FROM {name}" for name in names)
    return f"{MATERIALIZED if _is_divided(ledger.name) else ''}WITH {', '.join(queries)}\n{union}"


def _is_divided(name: str) -> bool:
    """Return whether another ledger's amounts are divided by those of a ledger."""
    accounts = (entry for other in ledger_names() for entry in load_ledger(other).accounts().values())
    words = (re.findall(r"\w+", entry.rows) for entry in accounts if isinstance(entry, LedgerAccount))
    return any(f"{_PREFIX}{name}" in found for found in words)


def _account_sql(ledger: Ledger, place: int, account: LedgerAccount, above: LedgerLevel | None) -> str:
    level = ledger.levels[place - 1]
    known = literal(account.status)
    if account.assumed_if:
        known = f"CASE WHEN {_value(account.assumed_if, 'bool')} THEN 'assumed' ELSE {known} END"
    names = {"machine": account.machine, "partition": account.partition, "cpu_type": account.cpu_type}
    names |= {"account_number": account.account_number}
    names |= {"subject": account.subject}
    return (
        f"SELECT m.system, m.source, m.interval_end, m.seconds, m.flag, {literal(level.name)} AS level, "
        f"'{place}' AS place, {literal(account.name)} AS account, {_identity(level, account.node)} AS node, "
        f"{_identity(above, account.parent)} AS parent, "
        f"{', '.join(f'{_value(formula)} AS {name}' for name, formula in names.items())}, "
        f"{_exact(ledger, account.amount)} AS amount, {known} AS status, {literal(account.meter)} AS meter, "
        f"{_exact(ledger, account.transactions)} AS transactions, "
        f"{', '.join(f'{_exact(ledger, getattr(account, kind))} AS {kind}_s' for kind in _KINDS)}\n"
        f"{account.rows.strip()}"
    )


def _exact(ledger: Ledger, formula: str) -> str:
    """Return SQL of a formula, rounded so that its sums are exact (Ledger.step)."""
    if formula == "null":
        return "CAST(NULL AS DOUBLE)"
    whole = 2**ledger.binary_digits
    return f"round({_value(formula, 'float')} * {whole}.0) / {whole}.0"


def _value(formula: str, type: str = "text") -> str:
    """Return SQL of a formula; its names without a table are columns of the table m."""
    return compile_sql(formula, _column, type)


def _column(name: str) -> str:
    table, dot, column = name.partition(".")
    return f"{quote(table)}.{quote(column)}" if dot else f"m.{quote(table)}"


def _identity(level: LedgerLevel | None, parts: Sequence[str]) -> str:
    """Return SQL of the identity of a row of a level; NULL if a part of it is unknown."""
    if level is None or not parts:
        return "CAST(NULL AS VARCHAR)"
    return " || '/' || ".join((literal(level.name), *map(_value, parts)))


def _part_of(rows: str, above: LedgerLevel | None) -> str:
    """Return SQL of rows without those whose parent does not exist."""
    if above is None:
        return rows
    return (
        f"SELECT {_COLUMNS} FROM (\n{rows}\n)\n"
        f"WHERE parent IS NULL OR parent IN (SELECT node FROM level_{above.name} WHERE node IS NOT NULL)"
    )


def _rest_sql(ledger: Ledger, place: int, above: LedgerLevel) -> str:
    """Return SQL of what the accounts of a level leave of their parents, if it is more than their rounding.

    Amounts of parents and negative ones of their parts are added: intervals of both may differ.
    """
    level = ledger.levels[place - 1]
    assert level.rest is not None
    names = ("machine", "partition", "cpu_type", "account_number", "subject")
    wholes = ", ".join(f"any_value({name}) AS {name}" for name in names)
    return (
        f"SELECT part.system, part.source, part.interval_end, max(part.seconds) AS seconds, "
        f"any_value(part.flag) AS flag, {literal(level.name)} AS level, '{place}' AS place, "
        f"{literal(level.rest.name)} AS account, "
        f"CAST(NULL AS VARCHAR) AS node, part.parent, "
        f"{', '.join(f'any_value(whole.{name}) AS {name}' for name in names)}, "
        f"CASE WHEN count(amount) = count(*) THEN sum(amount) END AS amount, "
        f"'measured' AS status, CAST(NULL AS VARCHAR) AS meter, CAST(NULL AS DOUBLE) AS transactions, "
        f"{', '.join(f'CAST(NULL AS DOUBLE) AS {kind}_s' for kind in _KINDS)}\n"
        f"FROM (\n"
        f"SELECT {_KEYS}, node AS parent, amount FROM level_{above.name}\n"
        f"WHERE node IN (SELECT parent FROM level_{level.name} WHERE parent IS NOT NULL)\n"
        f"UNION ALL\n"
        f"SELECT {_KEYS}, parent, -amount FROM level_{level.name} WHERE parent IS NOT NULL\n"
        f") AS part\n"
        f"JOIN (SELECT node, {wholes} FROM level_{above.name} GROUP BY node) AS whole\n"
        f"ON whole.node = part.parent\n"
        f"GROUP BY part.system, part.source, part.interval_end, part.parent\n"
        f"HAVING count(amount) < count(*) OR abs(sum(amount)) > count(*) * {ledger.step / 2!r}"
    )


def _meter_sql(ledger: Ledger, meter: LedgerMeter) -> str:
    """Return SQL of what two meters counted in the intervals that both have."""
    rows = (
        f"SELECT m.system, m.source, m.interval_end, m.seconds, m.flag, {literal(ledger.name)} AS ledger, "
        f"{literal(meter.name)} AS comparison, {_value(meter.subject)} AS subject, "
        f"{literal(ledger.unit)} AS unit, {literal(meter.first_meter)} AS first_meter, "
        f"{_exact(ledger, meter.first)} AS first_amount, {literal(meter.second_meter)} AS second_meter, "
        f"{_exact(ledger, meter.second)} AS second_amount\n{meter.rows.strip()}"
    )
    known = "first_amount IS NOT NULL AND second_amount IS NOT NULL"
    return f"SELECT {_METER_COLUMNS} FROM (\n{rows}\n) WHERE {known}"
