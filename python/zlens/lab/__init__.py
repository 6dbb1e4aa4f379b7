"""Where what was measured meets what should have happened: scenarios from measured intervals, and the two
side by side.

`EXPECTED` names the models that can be asked of a measured interval; each is a module here with
`TABLE` (the measure it asks), `busy(settings)` (a query that tells which interval is the busiest for it) and
`compare(session, system, moment, settings)`.
"""

from __future__ import annotations

#: Models of which a scenario can be made of what was measured.
EXPECTED = ("shares", "aliases", "partitions", "capacity", "smt")
