"""Lines of texts of z/OS, in ASCII or EBCDIC, alone or as a log shows them, and where messages begin."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

#: Longest line that is looked at; consoles and logs have shorter ones.
MAX_LINE = 4096
_CHUNK = 1 << 16
#: So many lines that begin as those of a log are one.
_LOGGED = 5

STATUS, HIS, COUNTERS, PAGING = "IEE174I", "HIS015I", "HIS019I", "IEE200I"
#: What these messages answer.
TITLES = {
    STATUS: "DISPLAY M=CORE or M=CPU",
    HIS: "DISPLAY HIS",
    COUNTERS: "event counters of HIS, a .CNT file",
    PAGING: "DISPLAY ASM",
}
_ID = re.compile(rf"(?<![A-Z0-9$#@.'=])({'|'.join(TITLES)})(?![A-Z0-9])")
#: A status that was copied without the line of its message.
_BARE = re.compile(r"(?:^|\s)(?:CORE STATUS: *HD=|PROCESSOR STATUS *$)")
#: Any other message: its identifier is the first word after what the log puts before it.
_OTHER = re.compile(r"(?:[A-Z]{3,5}\d{3,5}[ADEISTW]|\$HASP\d{3,4})\s+\S")
_CLOCK = re.compile(r"\s+(\d\d)[.:](\d\d)[.:](\d\d)\s")
#: How logs begin a line. The hardcopy log: its kind, routing codes, system, date as year and day, time; the
#: log of a user in SDSF, and what opercmd of ZOAU prints: from the system on.
_LOG = re.compile(
    r" ?(?:[A-Z][A-Z ][0-9A-F]{7} )?(?P<system>[A-Z0-9$#@]{1,8}) +(?P<date>\d{7}|\d{5}) +\d\d[:.]\d\d[:.]\d\d"
)
#: How SDSF names the system that answers.
_RESPONSE = re.compile(r" *RESPONSE=(?P<system>[A-Z0-9$#@]{1,8})\s")
#: An empty line of a message in that log: kind of line, number of the message, flags.
_EMPTY = re.compile(r"[A-Z]{1,2}\s+\d{3}\s+[0-9A-F]{8}\s*")
_DATE = re.compile(r"(?<!\d)(\d{4})[-/.](\d\d)[-/.](\d\d)(?!\d)")

Note = Callable[[str, str, int | None], None]


@dataclass(frozen=True, slots=True)
class Line:
    """A line and where it begins in its file."""

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a message begins. column: of its identifier; clock, date and system as far as a line tells.

    bare: the line of the identifier is missing, and this is the first line of the text.
    """

    id: str
    offset: int
    column: int
    clock: dt.time | None = None
    date: dt.date | None = None
    system: str | None = None
    bare: bool = False

    @property
    def local(self) -> dt.datetime | None:
        """When it was displayed, in local time, where the text tells the date too."""
        return dt.datetime.combine(self.date, self.clock) if self.date and self.clock else None


def encoding(head: bytes) -> str | None:
    """How the bytes of one of these texts, or of a log, are to be read; None for what is none of them."""
    if b"\0" in head:
        return None
    for name in ("utf-8", "cp037"):
        read = re.split("[\n\x85]", head.decode(name, "replace"))
        # In a log the messages may come later.
        if any(begin(Line(0, line)) for line in read) or sum(map(_is_logged, read)) >= _LOGGED:
            return name
    return None


def _is_logged(line: str) -> bool:
    return _LOG.match(line[:MAX_LINE]) is not None


def begin(line: Line) -> Begin | None:
    """The message that begins in a line."""
    text = line.text[:MAX_LINE]
    found = _ID.search(text)
    if found is None:
        return Begin(STATUS, line.offset, 0, bare=True) if _BARE.search(text) else None
    before, clock = text[: found.start()], _CLOCK.match(text, found.end())
    log = _LOG.match(before)
    date = _day(log["date"]) if log else _date(before)
    names = log or _RESPONSE.match(before)
    return Begin(
        found[1], line.offset, found.start(), _time(*clock.groups()) if clock else None, date,
        names["system"] if names else None,
    )  # fmt: skip


def is_other(body: str) -> bool:
    """Whether a text begins a message that is none of these."""
    return _OTHER.match(body) is not None


def bodies(line: Line, column: int) -> Iterator[str]:
    """What a line may say: all of it, or what stands where the message began."""
    yield line.text.strip()
    if 0 < column < len(line.text):
        yield line.text[column:].strip()
    elif column and _EMPTY.fullmatch(line.text):
        yield ""


def lines(raw: IO[bytes], code: str, note: Note, step: Callable[[int], None]) -> Iterator[Line]:
    """The lines of a file, in bounded memory."""
    separator = b"\n" if code == "utf-8" else b"\x15"
    offset, rest, skipped = 0, b"", False
    while chunk := raw.read(_CHUNK):
        *whole, rest = (rest + chunk).split(separator)
        for piece in whole:
            if skipped or len(piece) > MAX_LINE:
                if not skipped:
                    note("length", f"a line of {len(piece):,} bytes; not read", offset)
                skipped = False
            else:
                yield Line(offset, _text(piece, code))
            offset += len(piece) + 1
        if len(rest) > MAX_LINE:
            if not skipped:
                note("length", f"a line of more than {MAX_LINE:,} bytes; not read", offset)
            skipped = True
            offset += len(rest)
            rest = b""
        step(offset)
    if rest and not skipped:
        yield Line(offset, _text(rest, code))


def _text(data: bytes, code: str) -> str:
    return data.decode(code, "replace").strip("\r\ufeff\x1a").replace("\xa0", " ").expandtabs()


def _time(hour: str, minute: str, second: str) -> dt.time | None:
    try:
        return dt.time(int(hour), int(minute), int(second))
    except ValueError:
        return None


def _day(text: str) -> dt.date | None:
    # Of a year in two digits the log does not tell the century; z/OS is younger than 2000.
    year, day = (int(text[:4]), int(text[4:])) if len(text) == 7 else (2000 + int(text[:2]), int(text[2:]))
    if not (1990 <= year < 2200 and 1 <= day <= 366):
        return None
    return dt.date(year, 1, 1) + dt.timedelta(days=day - 1)


def _date(text: str) -> dt.date | None:
    found = _DATE.search(text)
    try:
        date = dt.date(*map(int, found.groups())) if found else None
    except ValueError:
        return None
    return date if date is not None and 1990 <= date.year < 2200 else None
