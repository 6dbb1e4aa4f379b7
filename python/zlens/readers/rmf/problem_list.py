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
    """The problems of one file, without repeats."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, ...], CountedProblem] = {}
        self._more = 0
        #: How often something was noted.
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
        """Add a problem. `about` identifies repeats whose `detail` varies; the first detail is kept."""
        self.count += 1
        name = (kind, record or "", about or detail)
        note = self._notes.get(name)
        if note is not None:
            note.count += 1
            if note.bytes is not None:
                note.bytes = None if lost is None else note.bytes + lost
        elif len(self._notes) < MAX_NOTES:
            self._notes[name] = CountedProblem(kind, record, detail, offset, lost, system=system)
        else:
            self._more += 1

    def problems(self, source: str, file: str) -> list[Problem]:
        problems = [
            Problem(
                note.system,
                source,
                file,
                note.offset,
                note.record,
                note.kind,
                note.detail + (f" ({note.count:,} times, the first here)" if note.count > 1 else ""),
                note.bytes,
            )
            for note in self._notes.values()
        ]
        if self._more:
            detail = f"{self._more:,} more problems of this file are not listed"
            problems.append(Problem(None, source, file, None, None, "section", detail, None))
        return problems
