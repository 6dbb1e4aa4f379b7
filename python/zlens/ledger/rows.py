"""Rows of a ledger: amounts of accounts over the selected time, or by interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zlens.catalog.aggregation import expand_references
from zlens.catalog.expressions import literal
from zlens.catalog.ledgers import Ledger
from zlens.ledger.ledger_row import LedgerRow

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: The members of a user's group are one row, with its name in place of theirs at the end of their identity.
_ROWS = """
WITH part AS (
    SELECT *, left(node, length(node) - CASE WHEN group_name IS NULL THEN 0 ELSE length(subject) END)
        || coalesce(group_name, '') AS own
    FROM ledger
    WHERE ledger = {ledger}
)
SELECT
    level, account, part.own AS node, coalesce(above.own, part.parent) AS parent, min(machine) AS machine,
    min(partition) AS partition, cpu_type, coalesce(group_name, subject) AS subject,
    any_value(meter) AS meter,
    {{total ledger.amount}} AS amount,
    CASE WHEN count(DISTINCT status) > 1 THEN 'assumed' ELSE any_value(status) END AS status,
    {{total ledger.transactions}} AS transactions, {{of_totals ledger.per_transaction}} AS per_transaction,
    count(*) AS amounts{end}
FROM part
LEFT JOIN (SELECT DISTINCT node AS member, own FROM part WHERE group_name IS NOT NULL) AS above
    ON above.member = part.parent
GROUP BY
    level, account, part.own, coalesce(above.own, part.parent), cpu_type, coalesce(group_name, subject),
    CASE WHEN group_name IS NULL THEN (machine, partition) END{end}
ORDER BY ALL
"""


def ledger_rows(session: CoreSession, ledger: Ledger, *, by_time: bool = False) -> list[LedgerRow]:
    """Return the rows of a ledger, summed over the selected time, or with `by_time` by interval.

    Days of a lake without raw tables come from its measures by day, and are one interval each.
    """
    query = _ROWS.format(ledger=literal(ledger.name), end=", interval_end" if by_time else "")
    return [LedgerRow(*row) for row in session.with_kept_days.sql(expand_references(query)).rows]
