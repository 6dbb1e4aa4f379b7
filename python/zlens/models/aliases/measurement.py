"""HyperPAV aliases of a measured interval: expected and observed aliases of each use of a pool.

A use with requests that waited wants all it can get; otherwise it wants what it had in use.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zlens import models
from zlens.catalog import measures
from zlens.catalog.expressions import literal
from zlens.errors import QueryError
from zlens.models import scenario as scenarios
from zlens.models.interval_choice import interval_sql, local_time
from zlens.rendering.answer import Answer
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

TABLE = "alias_pool"
_BUSY = "sum(coalesce(in_use, 0) + coalesce(queued, 0))"


def busy(settings: Sequence[str] = ()) -> str:
    """Return SQL of intervals and their utilization: aliases in use and waiting requests of one pool.

    An unknown pool selects all intervals, so that compare() can list the pools.
    """
    pool, _ = _split_pool_setting(settings)
    where = ""
    if pool is not None:
        condition = f"(ssid = {literal(pool)} OR CAST(pool AS VARCHAR) = {literal(pool)})"
        where = f"WHERE {condition} OR NOT EXISTS (SELECT 1 FROM alias_pool WHERE {condition})"
    return (
        f"SELECT system, interval_end, seconds, flag, ssid, pool, {_BUSY} AS busy FROM alias_pool {where} "
        "GROUP BY ALL"
    )


def compare(session: CoreSession, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Compare expected with observed aliases. settings: `pool=1` (number or SSID), or scenario values."""
    requested, rest = _split_pool_setting(settings)
    ssid, pool, others = _choose_pool(session, system, end, requested)
    rows = session.sql(
        "SELECT io_type, aliases, share, in_use, queued FROM alias_pool "
        f"WHERE {interval_sql(system, end)} AND pool IS NOT DISTINCT FROM {'NULL' if pool is None else pool} "
        f"AND ssid IS NOT DISTINCT FROM {'NULL' if ssid is None else literal(ssid)} ORDER BY io_type"
    ).rows
    name = f"pool {pool} of control unit {ssid}"
    title = f"HyperPAV aliases of {system}, {name}, interval that ended {local_time(session, system, end)}"
    notes = [f"Pool: {name}{', the busiest of this interval' if requested is None and others else ''}"]
    if others:
        notes.append(f"other pools of this interval: {', '.join(others)}; choose one with pool=...")
    uses = [row for row in rows if row[0] != "ALL"]
    aliases = next((row[1] for row in uses or rows if row[1] is not None), None)
    unreported = [str(row[0]) for row in uses if row[2] is None]
    if aliases is None:
        return Answer("aliases", title, [], notes=[*notes, "the data does not report the number of aliases"])
    if not uses or unreported:
        of_uses = f" of {' and '.join(unreported)}" if unreported else " of any use"
        notes.append(
            f"the data reports no share{of_uses}, so nothing can be computed; needs: {_needs('share')}"
        )
        return Answer("aliases", title, [], notes=notes)
    values: dict[str, Any] = {
        "model": "aliases",
        "title": title,
        "aliases": aliases,
        "use": [
            {"name": kind, "share": round(share)}
            | ({} if in_use is None else {"in_use": in_use})
            | ({} if queued is None else {"queued": queued})
            for kind, _, share, in_use, queued in uses
        ],
    }
    notes += [
        f"{kind}: the data does not report aliases in use and waiting requests, so it wants all it can get"
        for kind, _, _, in_use, queued in uses
        if in_use is None or queued is None
    ]
    for setting in rest:
        values = scenarios.apply_setting(values, setting)
        notes.append(f"changed: {setting}")
    solved = models.solve("aliases", values)
    solved.notes = [*notes, *_burst_notes(uses, values), *solved.notes]
    return solved


def _burst_notes(uses: Sequence[Sequence[Any]], solved: dict[str, Any]) -> list[str]:
    """Return notes on uses whose requests waited although the pool had free aliases on average."""
    free = (uses[0][1] or 0) - sum(row[3] or 0.0 for row in uses)
    return [
        f"{use['name']}: {use['queued']:.2g} requests waited on average though {free:.1f} aliases were free "
        "on average: they came in bursts, so it is assumed to want all it can get; "
        f"use.{use['name']}.queued=0 assumes it had enough"
        for use in solved["use"]
        if use.get("queued") and use.get("wants") is None and free >= 1
    ]


def _choose_pool(
    session: CoreSession, system: str, end: dt.datetime, requested: str | None
) -> tuple[str | None, int | None, list[str]]:
    """Return SSID and number of the requested or busiest pool, and the names of the others."""
    rows = session.sql(
        f"SELECT ssid, pool, {_BUSY} AS busy FROM alias_pool WHERE {interval_sql(system, end)} "
        "GROUP BY ssid, pool ORDER BY busy DESC, pool"
    ).rows
    names = [f"{pool} ({ssid})" for ssid, pool, _ in rows]
    index = 0
    if requested is not None:
        matching = [index for index, (ssid, pool, _) in enumerate(rows) if requested in (ssid, str(pool))]
        if not matching:
            raise QueryError(
                f"no pool {requested} in this interval",
                expected=", ".join(names),
                cure=phrase("write_set", what="pool=NUMBER"),
            )
        index = matching[0]
    return rows[index][0], rows[index][1], names[:index] + names[index + 1 :]


def _split_pool_setting(settings: Sequence[str]) -> tuple[str | None, list[str]]:
    pool, rest = None, []
    for setting in settings:
        key, equals, text = setting.partition("=")
        if key.strip() == "pool" and equals:
            pool = text.strip()
        else:
            rest.append(setting)
    return pool, rest


def _needs(column: str) -> str:
    """Return the data that a column of the table requires, from the catalog."""
    return next(entry.needs for entry in measures.load_measure(TABLE).columns if entry.name == column)
