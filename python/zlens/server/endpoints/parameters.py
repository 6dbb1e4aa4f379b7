"""Parameters that several endpoints have."""

from __future__ import annotations

from zlens.schema.validators import Integer, Key, Text, Timestamp
from zlens.server.aggregate import MOST

NAME = Text(120, 1)
ID = Key("id", Text(64, 1), "a name by which POST /cancel cancels the request", default=None)
RUN = Key("run", Text(400, 1), "a run of the rig instead of the inputs: SCENARIO/RUN", default=None)
SYSTEM = Key("system", NAME, "the system")
ANY_SYSTEM = Key("system", NAME, "only this system", default=None)
SOURCE = Key(
    "source",
    NAME,
    "the source to show where several describe a system (the first one in /schema)",
    default=None,
)
FROM = Key("from", Timestamp(), "intervals that end after this time", default=None)
TO = Key("to", Timestamp(), "intervals that end at or before this time", default=None)
INPUT = Key("input", Text(1000, 1), "only this input, by its name in /schema", default=None)
WINDOW = (ANY_SYSTEM, FROM, TO, INPUT, SOURCE)
SYSTEM_WINDOW = (SYSTEM, SOURCE, FROM, TO)
LIMIT = Key("limit", Integer(1, MOST), "maximum number of rows returned (10000)", default=10_000)
