"""Tests of the numbers of the demo's simulated system: a sum per column, to five digits."""

from __future__ import annotations

from pathlib import Path

import expected
from zlens.api import Session
from zlens.catalog import measures

EXPECTED = Path(__file__).parent / "numbers-of-the-simulation.txt"
#: Measures of files, and measures that describe other columns in words.
APART = ("system", "problem", "event", "inventory")


def test_demo_column_sums_are_unchanged(sim_session: Session) -> None:
    """A change of the simulation or of a measure fails here if no other test covers that column."""
    lines = []
    for name in measures.measure_names():
        if name in APART or not sim_session._core.has_data(name):
            continue
        numbers = [
            column.name for column in measures.load_measure(name).columns if column.type in ("int", "float")
        ]
        sums = ", ".join(f'sum("{column}"), count("{column}")' for column in numbers)
        ((rows, *values),) = sim_session.sql(f"SELECT count(*), {sums} FROM {name}").rows
        if not rows:
            continue
        lines.append(f"{name}: {rows} rows\n")
        for column, total, count in zip(numbers, values[::2], values[1::2], strict=True):
            if count:
                lines.append(f"    {column} {float(total):.5g} of {count}\n")
    expected.check(EXPECTED, "".join(lines))
