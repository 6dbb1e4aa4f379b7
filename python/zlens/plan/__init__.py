"""What-ifs on a measured interval (`zlens plan`): one module for each family.

`FAMILIES` lists them in the order in which they are applied. Each has `FORMS` (its keys), `NEEDS` (the
scenario it changes: "machine" or "guests") and `change(case, setting)`, which changes the scenarios of the
case and records the change; weights.py is the simplest template. A family whose changes show only over many
intervals has `OVER_TIME`.
"""

from __future__ import annotations

#: Known facts come first; vertical-lows follow from weights and cores, so they are removed last.
FAMILIES = (
    "partition_facts",
    "cores",
    "weights",
    "guest_shares",
    "capacity",
    "class_moves",
    "splits",
    "vertical_lows",
)
