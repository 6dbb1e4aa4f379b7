"""Notes that several studies share, and truncation of lists in notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from zlens.studies.measurement import MeasuredRun
from zlens.studies.runs import WorkloadRun

#: Maximum number of items listed; the rest are counted.
MOST = 8


def shorten_list(names: Sequence[object], between: str = ", ") -> str:
    """Return the first names of a list and the number of the others."""
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return between.join(map(str, names[:MOST])) + more


def shorten_notes(sentences: Iterator[str]) -> Iterator[str]:
    """Yield the first sentences of a kind and the number of the others."""
    yield from islice(sentences, MOST)
    remaining = sum(1 for _ in sentences)
    if remaining:
        yield f"There are {remaining:,} more of these."


def run_notes(runs: Sequence[tuple[WorkloadRun, MeasuredRun | None]]) -> Iterator[str]:
    """Yield notes on inconsistent numbers of runs, and on data left out of measured ones."""
    for run, measured in runs:
        yield from run.inconsistencies()
        yield from measured.notes if measured is not None else ()


def machine_note(runs: Sequence[MeasuredRun | None], subject: str) -> Iterator[str]:
    """Yield a note if compared runs were measured on different machines."""
    machines = sorted({run.machine for run in runs if run is not None and run.machine})
    if len(machines) > 1:
        yield (
            f"{subject} are from different machines ({shorten_list(machines)}): "
            "their CPU times are not comparable."
        )


AS_PUBLISHED = "Busy is rounded to 0.1%, as in published tables."
