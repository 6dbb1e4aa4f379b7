"""What-ifs on a measured interval (`zlens plan`): one module for each family.

`FAMILIES` names them in the order in which they are applied. Each has
`FORMS` (the keys it takes), `NEEDS` (which of the two scenarios it changes: "machine" or "guests") and
`change(case, asked)`, which changes the scenarios of the case and says what it changed; weights.py is the one
to copy.
"""

from __future__ import annotations

#: What is known comes first; vertical-lows follow from weights and cores, so they are taken away last.
FAMILIES = ("facts", "cores", "weights", "users", "splits", "lows")
