"""Sentences that both studies say, and how long lists in sentences are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from zlens.studies.measured import Measured
from zlens.studies.runs import Run

#: More of one kind than this are counted, not listed.
MOST = 8


def few(names: Sequence[object], between: str = ", ") -> str:
    """The first of a list, and how many more there are."""
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return between.join(map(str, names[:MOST])) + more


def first(sentences: Iterator[str]) -> Iterator[str]:
    """The first of many sentences of a kind, and how many more there would be."""
    yield from islice(sentences, MOST)
    left = sum(1 for _ in sentences)
    if left:
        yield f"There are {left:,} more of these."


def of_runs(runs: Sequence[tuple[Run, Measured | None]]) -> Iterator[str]:
    """What is doubtful in the numbers of runs, and what was left out where they were measured."""
    for run, measured in runs:
        yield from run.doubts()
        yield from measured.notes if measured is not None else ()


def of_machines(runs: Sequence[Measured | None], begin: str) -> Iterator[str]:
    """Where runs that are held against each other were measured on different machines."""
    machines = sorted({run.machine for run in runs if run is not None and run.machine})
    if len(machines) > 1:
        yield (
            f"{begin} are of different machines ({few(machines)}): CPU time of one is not that of another."
        )


AS_PUBLISHED = "Busy is rounded to 0.1 %, as published tables have it."
