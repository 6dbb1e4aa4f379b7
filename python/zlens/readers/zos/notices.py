"""Messages of one line about changes of the machine: HIS032I and IWM064I."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct, field

from zlens.catalog.zos_messages import MessageFacts
from zlens.readers.row_tables import Row
from zlens.readers.zos.log_lines import LogLine, MessageStart


class Notice(Struct):
    """A message of one line. wrong: kind and detail of its problem, if it is not a valid event."""

    start: MessageStart
    text: str = ""
    values: Row = field(default_factory=dict)
    wrong: tuple[str, str] | None = None
    end: int = 0

    #: For the interface of other messages: a notice does not identify a machine.
    machine: tuple[None, None, None] = (None, None, None)
    size: int = 1

    @classmethod
    def of(cls, start: MessageStart, line: LogLine) -> Notice:
        body = line.text[start.column + len(start.id) :].strip().rstrip(".")
        notice = cls(start, " ".join(body.split()), end=line.offset + len(line.text))
        values = next(
            (match.groupdict() for pattern in _forms(start.id) if (match := pattern.fullmatch(notice.text))),
            None,
        )
        if values is None:
            notice.wrong = "no_layout", f"{start.id}: the meaning of {notice.text[:80]!r} is not known"
        elif start.clock is None:
            notice.wrong = "time", f"{start.id}: the line has no time; copy it from the hardcopy log"
        notice.values = {**(values or {})}
        return notice

    def row(self) -> Row:
        return {"message": self.start.id, "text": self.text, **self.values}


@cache
def _forms(name: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(notice.text)))
        for notice in MessageFacts.load().notices
        if notice.id == name
    )
