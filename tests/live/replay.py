"""Recordings that arrive in chunks, and comparison with the measures of the complete recording."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from iterations import iterations
from zlens import _native
from zlens.catalog import measures
from zlens.live.feeds import Feed, FeedChunk, Position
from zlens.live.watch_step import WatchStep
from zlens.live.watcher import Watcher
from zlens.session.session import CoreSession

#: A timeout longer than any of these tests needs.
PATIENCE_S = 120
#: Sums in another order differ in their last digits.
CLOSE = 1e-12
#: The measures that are compared in short runs, at most six of each source.
SOME_MEASURES = ("load", "cpu", "guest", "cpumf", "partition", "workload", "job")
#: Measures of files, not of the system.
OF_FILES = frozenset({"system", "problem"})


class Pieces(Feed):
    """A recording that arrives in chunks: one with each read."""

    seekable = True

    def __init__(self, path: Path, ends: Sequence[int]) -> None:
        self.name = str(path)
        self._data = path.read_bytes()
        self._ends = list(ends)
        self._offset = 0

    def seek(self, position: Position) -> None:
        self._offset = position["offset"]

    def read(self) -> FeedChunk | None:
        while self._ends and self._ends[0] <= self._offset:
            self._ends.pop(0)
        if not self._ends:
            self.ended = True
            return None
        end = self._ends.pop(0)
        data, self._offset = self._data[self._offset : end], end
        return FeedChunk(data, {"offset": end})


def split_points(path: Path, every: int) -> list[int]:
    """Return every N-th end of an interval of monitor data, and the file size."""
    file = _native.MonwriteFile.open(str(path))
    return [*(cut for _, cut in file.split_points()[::every]), file.size]


def play(live: Watcher) -> list[WatchStep]:
    """Run all steps until the recording ends."""
    steps = []
    while not live.done:
        step = live.step()
        if step is not None:
            steps.append(step)
    return steps


def compared_measures() -> Sequence[str]:
    """Return the measures that are compared."""
    # Not a constant: this module may be imported before the options of the run are known.
    return iterations(measures.measure_names(), SOME_MEASURES)


def differences(recorded: CoreSession, live: CoreSession, names: Sequence[str] | None = None) -> list[str]:
    """Return one sentence for each measure whose rows differ between two sessions."""
    found = []
    for name in names or compared_measures():
        if name in OF_FILES:
            continue
        (columns, expected), (_, actual) = _rows(recorded, name), _rows(live, name)
        if len(expected) != len(actual):
            found.append(f"{name}: {len(expected)} rows recorded, {len(actual)} live")
            continue
        for one, other in zip(expected, actual, strict=True):
            wrong = [
                f"{column} {a!r} is {b!r}"
                for column, a, b in zip(columns, one, other, strict=True)
                if not _same(a, b)
            ]
            if wrong:
                found.append(f"{name} {one[:4]}: {', '.join(wrong[:5])}")
                break
    return found


def _rows(session: CoreSession, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    answer = session.sql(f"SELECT * FROM {name}")
    columns = answer.columns
    rows = answer.rows
    if "interval_end" in columns:
        # Rows after the last interval belong to none yet.
        place = columns.index("interval_end")
        rows = [row for row in rows if row[place] is not None]
    return columns, sorted(rows, key=_order)


def _order(row: tuple[Any, ...]) -> list[tuple[bool, str]]:
    # Rounded, so that the order does not depend on last digits.
    return [(value is None, f"{value:.9g}" if isinstance(value, float) else str(value)) for value in row]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def arrivals(feed: Feed, enough: Callable[[list[FeedChunk]], bool]) -> list[FeedChunk]:
    """Return what a threaded feed delivers until the condition holds."""
    arrived: list[FeedChunk] = []
    end = time.monotonic() + PATIENCE_S
    while not enough(arrived) and time.monotonic() < end:
        new = feed.read()
        if new is not None:
            arrived.append(new)
        else:
            time.sleep(0.01)
    return arrived
