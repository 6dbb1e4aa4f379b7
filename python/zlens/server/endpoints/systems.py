"""Endpoints of all systems: fleet, clusters, machines, trends and ledgers."""

from __future__ import annotations

from zlens.catalog.ledgers import ledger_names
from zlens.schema.validators import Choice, Integer, Key, Text, Timestamp
from zlens.server.endpoints.endpoint import FROM, INPUT, NAME, SOURCE, TO, Endpoint

ENDPOINTS = (
    Endpoint(
        "fleet",
        "All systems compared: utilization by hour, and forecast growth",
        "fleet:answer",
        (
            FROM,
            TO,
            Key(
                "base_from",
                Timestamp(),
                "hours of another span, to compare with: after this time",
                default=None,
            ),
            Key("base_to", Timestamp(), "hours of that span: at or before this time", default=None),
        ),
        {
            "unit": "of all values: percent of the system's processors",
            "limit": "limit for the busiest hour of a day",
            "t": "ends of the hours, seconds since 1970",
            "systems": "each system with machine, sysplex, cluster and release; its mean over the span, "
            "the busiest hour and the time it ended at; before, the mean over the other span, and the change "
            "from it; growth of the busiest hour of a day per month, and the day it meets the limit; its "
            "series by hour",
        },
    ),
    Endpoint(
        "cluster",
        "Resources that the members of a cluster share, and each member's use of them",
        "fleet:members",
        (Key("name", NAME, "the cluster, as /fleet names it"), FROM, TO),
        {
            "members": "its systems",
            "volumes": "unit, the column to explain, and a row for each volume: its name, device busy of all "
            "members together, the number of members that have it, and device busy of each member",
            "guests": "the same of guests by name: CPU time in percent of a processor",
        },
    ),
    Endpoint(
        "machine",
        "The partitions of a machine by hour",
        "fleet:machine",
        (Key("name", NAME, "the machine, as /fleet names it"), FROM, TO),
        {
            "unit": "of all values: percent of the machine's processors of the type",
            "explain": "the column to explain",
            "t": "ends of the hours, seconds since 1970",
            "partitions": "each partition and type of processors: its mean over the span, "
            "and its series by hour",
        },
    ),
    Endpoint(
        "trend",
        "How busy all systems are by shift and month, and where growth leads",
        "fleet:trends",
        (
            Key(
                "shifts",
                Text(400),
                "hours by name, with semicolons between them: prime=Mon-Fri 08:00-17:00; night=22:00-06:00",
                default="",
            ),
        ),
        {"answer": "the answer of zlens study trend, in the format of /solve"},
    ),
    Endpoint(
        "ledger",
        "A ledger: accounts that add up, from a machine to its jobs",
        "ledger:answer",
        (
            Key("name", Choice(ledger_names()), "the ledger", default="cpu"),
            Key("top", Integer(1, 1000), "subjects of an account below one row; others are one", default=12),
            FROM,
            TO,
            INPUT,
            SOURCE,
        ),
        {
            "title": "its title",
            "unit": "unit of all amounts",
            "text": "what it counts",
            "not_counted": "what it does not count",
            "needs": "what an input without rows lacks",
            "ledgers": "all ledgers, each with name and title",
            "levels": "its levels, each with name and title",
            "rows": "amounts, each after the one that it is a part of: depth, level, account with title "
            "and text, subject, amount, status, meter, transactions, per_transaction, and the identities "
            "node and parent",
            "tables": "further tables, such as meters and highest hours, in the format of /solve",
            "notes": "days of a lake that come from measures by day, as their raw tables are removed",
        },
    ),
)
