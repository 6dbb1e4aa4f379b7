"""Lines of z/OS text in ASCII or EBCDIC, plain or from a log, and the message starts in them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from msgspec import Struct, field

from zlens.catalog.zos_messages import MessageFacts
from zlens.readers.files import NO_END
from zlens.readers.row_tables import Row

#: Maximum length of a line; lines of consoles and logs are shorter.
MAX_LINE = 4096
_CHUNK = 1 << 16
#: Number of log-like lines that make a file a log.
_LOGGED = 5

STATUS, HIS, COUNTERS, PAGING = "IEE174I", "HIS015I", "HIS019I", "IEE200I"
#: The command or file that each message comes from.
TITLES = {
    STATUS: "DISPLAY M=CORE or M=CPU",
    HIS: "DISPLAY HIS",
    COUNTERS: "event counters of HIS, a .CNT file",
    PAGING: "DISPLAY ASM",
} | {notice.id: notice.title for notice in MessageFacts.load().notices}
#: Messages of one line.
NOTICES = frozenset(notice.id for notice in MessageFacts.load().notices)
_ID = re.compile(rf"(?<![A-Z0-9$#@.'=])({'|'.join(TITLES)})(?![A-Z0-9])")
#: A status copied without its message line.
_BARE = re.compile(r"(?:^|\s)(?:CORE STATUS: *HD=|PROCESSOR STATUS *$)")
#: Any other message: its identifier is the first word after the log prefix.
_OTHER = re.compile(r"(?:[A-Z]{3,5}\d{3,5}[ADEISTW]|\$HASP\d{3,4})\s+\S")
#: The last time of day in the prefix of a line.
_STAMP = re.compile(r".*(?<![\d:.])(\d{1,2})[:.](\d\d)[:.](\d\d)(?:\.(\d{1,6}))?(?![\d:])")
_CLOCK = re.compile(r"\s+(\d\d)[.:](\d\d)[.:](\d\d)\s")
#: Prefix of a log line. Hardcopy log: record type, routing codes, system, date as year and day, time. The
#: SDSF user log and the output of ZOAU opercmd start with the system.
_LOG = re.compile(
    r" ?(?:[A-Z][A-Z ][0-9A-F]{7} )?(?P<system>[A-Z0-9$#@]{1,8}) +(?P<date>\d{7}|\d{5}) +\d\d[:.]\d\d[:.]\d\d"
)
#: Prefix of a line in which SDSF names the responding system.
_RESPONSE = re.compile(r" *RESPONSE=(?P<system>[A-Z0-9$#@]{1,8})\s")
#: An empty message line in the hardcopy log: record type, message number, flags.
_EMPTY = re.compile(r"[A-Z]{1,2}\s+\d{3}\s+[0-9A-F]{8}\s*")
_DATE = re.compile(r"(?<!\d)(\d{4})[-/.](\d\d)[-/.](\d\d)(?!\d)")

Note = Callable[[str, str, int | None], None]


class LogLine(Struct, frozen=True):
    """A line and its offset in the file."""

    offset: int
    text: str


class MessageStart(Struct, frozen=True):
    """The start of a message. column: of its identifier; clock, date, system: None if missing in the line.

    bare: the line with the identifier is missing, and this is the first line of the text.
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
        """Local time of the display, if the text includes the date."""
        return dt.datetime.combine(self.date, self.clock) if self.date and self.clock else None


class ConsoleMessage(Struct):
    """A message of several lines: its start, what problems are reported to, its values and its end."""

    start: MessageStart
    note: Note
    values: Row = field(default_factory=dict)
    end: int = 0

    def note_foreign_line(self, line: LogLine) -> None:
        """Report a line that does not belong to the message."""
        detail = f"{line.text.strip()[:60]!r} is not part of {self.start.id}; not read"
        self.note("header", detail, line.offset)

    def row(self) -> Row:
        """Return the values of the message, with the time of day when it was displayed."""
        clock = self.start.clock
        return {**self.values, "displayed": f"{clock:%H:%M:%S}" if clock else None}


def pattern_of(labels: Iterable[str]) -> str:
    """Return the pattern of one of several labels, the longest first, with any blanks in them."""
    return "|".join(sorted(map(re.escape, labels), key=len, reverse=True)).replace(r"\ ", r"\s+")


def encoding(first_bytes: bytes) -> str | None:
    """Return the encoding of one of these texts or of a log, None for anything else."""
    if b"\0" in first_bytes:
        return None
    for name in ("utf-8", "cp037"):
        candidates = re.split("[\n\x85]", first_bytes.decode(name, "replace"))
        if any(message_start(LogLine(0, line)) for line in candidates):
            return name
        # In a log, the messages may come later.
        if sum(_LOG.match(line[:MAX_LINE]) is not None for line in candidates) >= _LOGGED:
            return name
    return None


def message_start(line: LogLine) -> MessageStart | None:
    """Return the message that starts in a line, if any."""
    text = line.text[:MAX_LINE]
    identifier = _ID.search(text)
    if identifier is None:
        return MessageStart(STATUS, line.offset, 0, bare=True) if _BARE.search(text) else None
    prefix, clock = text[: identifier.start()], _CLOCK.match(text, identifier.end())
    log = _LOG.match(prefix)
    date = _day(log["date"]) if log else _date(prefix)
    names = log or _RESPONSE.match(prefix)
    # A display has the time after its identifier; other messages have the time of their line.
    match = _STAMP.match(prefix) if identifier[1] in NOTICES else clock
    return MessageStart(
        identifier[1], line.offset, identifier.start(), _time(*match.groups()) if match else None, date,
        names["system"] if names else None,
    )  # fmt: skip


def line_date(line: LogLine) -> dt.date | None:
    """Return the date in the prefix of a line of a log, if it has one."""
    log = _LOG.match(line.text[:MAX_LINE])
    return _day(log["date"]) if log else None


def is_other(body: str) -> bool:
    """Return whether another message starts in a text."""
    return _OTHER.match(body) is not None


def candidate_bodies(line: LogLine, column: int) -> Iterator[str]:
    """Yield the possible bodies of a line: the entire line, and the part from the message column on."""
    yield line.text.strip()
    if 0 < column < len(line.text):
        yield line.text[column:].strip()
    elif column and _EMPTY.fullmatch(line.text):
        yield ""


def lines(
    raw: IO[bytes], code: str, note: Note, step: Callable[[int], None], *, counters: bool = False
) -> Iterator[LogLine]:
    """Yield the lines of a file, in limited memory.

    counters: each line ends with a value, so a last line without an end is not read.
    """
    separator = b"\n" if code == "utf-8" else b"\x15"
    offset, tail, skipped = 0, b"", False
    while chunk := raw.read(_CHUNK):
        *complete_lines, tail = (tail + chunk).split(separator)
        for content in complete_lines:
            if skipped or len(content) > MAX_LINE:
                if not skipped:
                    note("length", f"a line of {len(content):,} bytes; not read", offset)
                skipped = False
            else:
                yield LogLine(offset, _text(content, code))
            offset += len(content) + 1
        if len(tail) > MAX_LINE:
            if not skipped:
                note("length", f"a line of more than {MAX_LINE:,} bytes; not read", offset)
            skipped = True
            offset += len(tail)
            tail = b""
        step(offset)
    if tail and not skipped and counters:
        note("truncated", NO_END, offset)
    elif tail and not skipped:
        yield LogLine(offset, _text(tail, code))


def _text(data: bytes, code: str) -> str:
    return data.decode(code, "replace").strip("\r\ufeff\x1a").replace("\xa0", " ").expandtabs()


def _time(hour: str, minute: str, second: str, fraction: str | None = None) -> dt.time | None:
    try:
        return dt.time(int(hour), int(minute), int(second), int((fraction or "").ljust(6, "0")))
    except ValueError:
        return None


def _day(text: str) -> dt.date | None:
    # A two-digit year has no century; z/OS did not exist before 2000.
    year, day = (int(text[:4]), int(text[4:])) if len(text) == 7 else (2000 + int(text[:2]), int(text[2:]))
    if not (1990 <= year < 2200 and 1 <= day <= 366):
        return None
    return dt.date(year, 1, 1) + dt.timedelta(days=day - 1)


def _date(text: str) -> dt.date | None:
    match = _DATE.search(text)
    try:
        date = dt.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None
    return date if date is not None and 1990 <= date.year < 2200 else None
