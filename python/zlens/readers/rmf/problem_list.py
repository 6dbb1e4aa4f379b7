"""Problems of one RMF file, each listed once with its number of occurrences."""

from __future__ import annotations

from msgspec import Struct

from zlens.inputs.problems import Problem

MAX_NOTES = 1_000


class CountedProblem(Struct):
    """A problem and its number of occurrences."""

    kind: str
    record: str | None
    detail: str
    offset: int
    bytes: int | None
    count: int = 1
    system: str | None = None


class ProblemList:
    """The problems of one file, without duplicates."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, ...], CountedProblem] = {}
        self._unlisted = 0
        #: Number of added problems, including duplicates.
        self.count = 0

    def add(
        self,
        kind: str,
        detail: str,
        offset: int,
        *,
        record: str | None = None,
        lost: int | None = 0,
        about: str | None = None,
        system: str | None = None,
    ) -> None:
        """Add a problem. `about` identifies repeats whose `detail` varies; the first detail is stored."""
        self.count += 1
        repeat_key = (kind, record or "", about or detail)
        problem = self._notes.get(repeat_key)
        if problem is not None:
            problem.count += 1
            if problem.bytes is not None:
                problem.bytes = None if lost is None else problem.bytes + lost
        elif len(self._notes) < MAX_NOTES:
            self._notes[repeat_key] = CountedProblem(kind, record, detail, offset, lost, system=system)
        else:
            self._unlisted += 1

    def problems(self, source: str, file: str) -> list[Problem]:
        problems = []
        for note in self._notes.values():
            times = f" ({note.count:,} times, the first here)" if note.count > 1 else ""
            place = note.offset, note.record, note.kind
            problems.append(Problem(note.system, source, file, *place, note.detail + times, note.bytes))
        if self._unlisted:
            detail = f"{self._unlisted:,} more problems of this file are not listed"
            problems.append(Problem(None, source, file, None, None, "section", detail, None))
        return problems
