"""Small files of the rig."""

from __future__ import annotations

from pathlib import Path

#: Two users on one processor: a run lasts a tenth of a second.
EQUAL = """\
title = "Two equal users"
text = "Each should have half of a processor."
area = "shares"
seeds = 2

[source]
publication = "A publication"
place = "page 1"
status = "derived"

[scenario]
model = "shares"
processors = { CP = 1 }
user = [{ name = "A", relative = 100 }, { name = "B", relative = 100 }]

[scenario.simulation]
seconds = 20
interval = 10
warmup = 5

[[observe]]
name = "CPU"
measure = "guest"
column = "cpu_pct"
by = "userid"
expected = "solver:users.allocation"
largest = 1.0
of = "sum"

[[control]]
name = "wrong share"
solver = { "user.A.relative" = 200 }
"""


def write(folder: Path, text: str = EQUAL, name: str = "equal") -> str:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)
