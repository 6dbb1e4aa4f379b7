"""Statistics of a window from blocks of time: sums and extremes of each block are worked out once.

A window is then made of the blocks that lie in it and the rows at its two ends. Percentiles and the most
frequent value need every row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from zlens.catalog.aggregation import Question, named
from zlens.catalog.expressions import quote

#: How aggregates of parts are put together.
_TOGETHER = {
    "sum": "sum",
    "count": "sum",
    "min": "min",
    "max": "max",
    "arg_min": "arg_min",
    "arg_max": "arg_max",
}
#: Statistics that need every row.
_OF_ALL_ROWS = frozenset({"p50", "p95", "mode"})


class Parts:
    """Writes aggregates as those of parts, and keeps what each part has to tell."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __call__(self, function: str, value: str, among: str = "true", more: str = "") -> str:
        if function == "avg":
            return f"{self('sum', value, among)} / nullif({self('count', value, among)}, 0)"
        value = value if among == "true" else f"CASE WHEN {among} THEN {value} END"
        part = self._name(f"{function}({value}{more})")
        if function in ("arg_min", "arg_max"):
            order = more.removeprefix(", ")
            time = self._name(
                f"{function.removeprefix('arg_')}(CASE WHEN {value} IS NOT NULL THEN {order} END)"
            )
            return f"{function}({part}, {time})"
        total = f"{_TOGETHER[function]}({part})"
        # A sum of whole numbers is wider than they are.
        return f"CAST({total} AS BIGINT)" if function == "count" else total

    def _name(self, part: str) -> str:
        return self._names.setdefault(part, quote(f"part{len(self._names)}"))

    def shown(self) -> list[str]:
        """SQL of all parts, each with its name."""
        return [f"{part} AS {name}" for part, name in self._names.items()]


@dataclass(frozen=True, slots=True)
class Window:
    """The times after `start` up to `end`, in seconds since 1970; None: from the first, to the last."""

    start: float | None = None
    end: float | None = None

    def condition(self) -> str:
        """SQL of the rows that lie in it."""
        held = [_after(self.start)] if self.start is not None else []
        return " AND ".join(held + ([_until(self.end)] if self.end is not None else [])) or "true"

    def blocks(self, width: float) -> tuple[str, str]:
        """SQL of the blocks that lie in it whole, and of its rows that are in none of them."""
        blocks, rows = [], []
        if self.start is not None:
            first = math.floor(self.start / width) + 1
            blocks.append(f"block >= {first}")
            rows.append(f"{_after(self.start)} AND {_before(first * width)}")
        if self.end is not None:
            last = math.floor(self.end / width)
            blocks.append(f"block < {last}")
            rows.append(f"{_until(self.end)} AND NOT {_before(last * width)}")
        return " AND ".join(blocks) or "true", " OR ".join(f"({row})" for row in rows) or "false"

    def spans(self, width: float) -> bool:
        """Whether blocks lie in it."""
        if self.start is None or self.end is None:
            return True
        return math.floor(self.start / width) + 1 < math.floor(self.end / width)


def _moment(seconds: float) -> str:
    return f"make_timestamptz({round(seconds * 1e6)})"


def _after(seconds: float) -> str:
    return f"interval_end > {_moment(seconds)}"


def _until(seconds: float) -> str:
    return f"interval_end <= {_moment(seconds)}"


def _before(seconds: float) -> str:
    return f"interval_end < {_moment(seconds)}"


def split(question: Question) -> tuple[Question | None, Question | None]:
    """The statistics that blocks give, and those that need every row."""

    def of(names: Sequence[str]) -> Question | None:
        wanted = [(column, [what for what in told if what in names]) for column, told in question.wanted]
        wanted = [(column, told) for column, told in wanted if told]
        return replace(question, wanted=wanted) if wanted else None

    told = {what for _, told in question.wanted for what in told}
    return of([*(told - _OF_ALL_ROWS)]), of([*(told & _OF_ALL_ROWS)])


@dataclass(frozen=True, slots=True)
class Blocks:
    """A question in blocks of `width` seconds: one without buckets, whose rows do not come together."""

    question: Question
    width: float

    def kept(self) -> str:
        """SELECT of the parts of each block: the same for all windows."""
        parts, _ = self._parts()
        block = f"CAST(floor(epoch_us(interval_end) / {round(self.width * 1e6)}) AS BIGINT) AS block"
        return self.question.grouped(parts.shown(), *self.question.source(), block)

    def sql(self, window: Window, kept: str, groups: Sequence[str] = ()) -> str:
        """SELECT of the answer for a window.

        kept     the table of parts
        groups   SQL of what holds for the columns that the question groups by
        """
        parts, shown = self._parts()
        blocks, rows = (" AND ".join([*groups, f"({block})"]) for block in window.blocks(self.width))
        ends = replace(self.question, where=f"{self.question.where} AND {rows}")
        keys = ", ".join(map(quote, self.question.keys()))
        names = ", ".join(quote(f"part{place}") for place in range(len(parts.shown())))
        inside = f"SELECT {keys}, {names} FROM {kept} WHERE {blocks}"
        union = f"({inside}\nUNION ALL\n{ends.grouped(parts.shown(), *ends.source())})"
        return self.question.grouped(shown, union, "true")

    def _parts(self) -> tuple[Parts, list[str]]:
        parts = Parts()
        return parts, self.question.statistics(parts)


def joined(question: Question, first: str, second: str) -> str:
    """SELECT of the statistics of a question from two answers that have some of them each."""
    keys = list(map(quote, question.keys()))
    same = " AND ".join(f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in keys)
    some, _ = split(question)
    mine = {named(column, what) for column, told in (some.wanted if some else ()) for what in told}
    shown = [f"a.{key}" for key in keys]
    shown += [f"{'a' if name in mine else 'b'}.{quote(name)}" for name in question.names()]
    return f"SELECT {', '.join(shown)} FROM (\n{first}\n) AS a JOIN (\n{second}\n) AS b ON {same}"
