"""What there is to say of one RMF file: every problem once, with how often it was met."""

from __future__ import annotations

from dataclasses import dataclass

from zlens.inputs.problems import Problem

MAX_NOTES = 1_000


@dataclass(slots=True)
class Note:
    """A problem and how often it was met."""

    kind: str
    record: str | None
    detail: str
    offset: int
    bytes: int | None
    count: int = 1
    system: str | None = None


class Notes:
    """The problems of one file, one each however often it recurs."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, ...], Note] = {}
        self._more = 0

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
        """`about` names what recurs, where `detail` differs from time to time; the first detail is kept."""
        name = (kind, record or "", about or detail)
        note = self._notes.get(name)
        if note is not None:
            note.count += 1
            if note.bytes is not None:
                note.bytes = None if lost is None else note.bytes + lost
        elif len(self._notes) < MAX_NOTES:
            self._notes[name] = Note(kind, record, detail, offset, lost, system=system)
        else:
            self._more += 1

    def problems(self, source: str, file: str) -> list[Problem]:
        found = [
            Problem(
                n.system,
                source,
                file,
                n.offset,
                n.record,
                n.kind,
                n.detail + (f" ({n.count:,} times, the first here)" if n.count > 1 else ""),
                n.bytes,
            )
            for n in self._notes.values()
        ]
        if self._more:
            detail = f"{self._more:,} more problems of this file are not listed"
            found.append(Problem(None, source, file, None, None, "section", detail, None))
        return found
