"""The header of a report: its name, its system and its time range."""

from __future__ import annotations

import datetime as dt
import re

from msgspec import Struct

from zlens.catalog.reports import definition

# Dates as CP and CMS print them: ISODATE, VMDATE (2015/02/14), FULLDATE (02/14/2015), SHORTDATE (02/14/15).
_DATE = r"\d{4}[/-]\d\d[/-]\d\d|\d\d/\d\d/(?:\d{4}|\d\d)"
_STAMP = rf"({_DATE})[ ,](\d\d)[:.](\d\d)(?:[:.](\d\d))?"
#: Two-digit years below this one are read as 20xx, the others as 19xx.
_CENTURY = 80
#: Number, run time and name of a report: FCX304  Run 2015/02/14 08:52:14   PRCLOG
RUN = re.compile(
    rf"[1 0+-]?(FCX\d{{3}}|\$[A-Z]{{3,7}})?\s*Run {_STAMP}\s+([A-Z][A-Z0-9_]*(?: [A-Z0-9_]+)*)(?:\s|$)"
)
#: The first line of a screen: FCX110   CPU nnnn  SER nnnnn  Interval HH:MM:SS - HH:MM:SS    Perf. Monitor
SCREEN = re.compile(
    r"[1 0+-]?(FCX\d{3})\s+CPU\s+(\w{4})\s+SER\s+(\w{1,6})\s+"
    r"Interval\s+(\d\d:\d\d:\d\d)\s*-\s*(\d\d:\d\d:\d\d)"
)
#: The first line of a report without its first column: CX304  Run 2015/02/14 08:52:14   PRCLOG
LOST = re.compile(rf"CX\d{{3}}\s*(?:Run {_STAMP}|CPU \w{{4}}\s+SER )")
_NUMBER = re.compile(r"\d+(?:\.\d*)?")
#: Maximum length of a report: ten years.
_MAX_LENGTH_S = 10 * 366 * 86400
_FROM = re.compile(rf"[1 0+-]?From\s+{_STAMP}\s*(\S.*)?")
_TO = re.compile(rf"[1 0+-]?To\s+{_STAMP}\s*(.*)")
_FOR = re.compile(r"[1 0+-]?For\s+([\d.]+)\s+Secs\s+(\d+:\d\d:\d\d)\s*(.*)")
_CPU = re.compile(r"CPU (\d{4})(?:-(\S+))?")
_SERIAL = re.compile(r"SN (\w+)")
_RELEASE = re.compile(r"z/VM\s+(?:V\.)?(\S+)|(z/OS \S+)")
_ZONE = re.compile(r"\* Times are local to the system \(UTC([+-])(\d\d):(\d\d)\)|(\* Times are UTC\.)")
_DAY = re.compile(_DATE)
_EPOCH = dt.date(1970, 1, 1).toordinal()
RULE = re.compile(r"[1 0+-]?(_{8,})\s*\Z")


class Header(Struct):
    """The facts of a header. Times are local, in microseconds since 1970 as if they were UTC."""

    number: str = ""
    name: str = ""
    title: str = ""
    system: str | None = None
    start_us: int | None = None
    end_us: int | None = None
    seconds: float | None = None
    machine_type: str | None = None
    model: str | None = None
    serial: str | None = None
    release: str | None = None
    synthetic: bool = False
    whole: bool = False  # the rule below it was read
    width: int | None = None  # of the rule, the longest line

    @property
    def report(self) -> str | None:
        """The catalog name of the report; None if it is not in the catalog."""
        lowered = self.name.lower().replace(" ", "_")
        return definition.numbers().get(self.number) or (lowered if lowered in definition.names() else None)

    def take(self, line: str) -> None:
        """Parse a line of the header after its first one."""
        if match := RULE.match(line):
            self.whole, self.width = True, len(match[1])
        elif match := _FROM.match(line):
            self.start_us = timestamp_us(match)
            self.system = (match[5] or "").split("  ")[0].strip() or self.system
        elif match := _TO.match(line):
            self.end_us = timestamp_us(match)
            self._machine(match[5])
        elif match := _FOR.match(line):
            seconds = float(match[1]) if _NUMBER.fullmatch(match[1]) else None
            self.seconds = seconds if seconds is not None and 0 < seconds <= _MAX_LENGTH_S else None
            self.synthetic = "synthetic, not measured" in line
            if release := _RELEASE.search(match[3]):
                self.release = release[2] or release[1]
        elif not self.title and line.strip() and self.start_us is None:
            self.title = line.strip()

    def _machine(self, text: str) -> None:
        if match := _CPU.search(text):
            self.machine_type, self.model = match[1], match[2]
        if match := _SERIAL.search(text):
            self.serial = match[1]


def parse_first_line(line: str) -> Header | None:
    """Return the header that starts in a line, if any."""
    if "Run" in line and (match := RUN.match(line)):
        return Header(match[1] or "", match[6])
    if "Interval" in line and (match := SCREEN.match(line)):
        return Header(match[1], "", machine_type=match[2], serial=match[3], whole=True)
    return None


def utc_offset_s(line: str) -> int | None:
    """Return the offset from UTC in seconds from a footnote of zlens about local times."""
    match = _ZONE.match(line)
    if match is None:
        return None
    offset = int(match[2] or 0) * 3600 + int(match[3] or 0) * 60
    return -offset if match[1] == "-" else offset


def day(line: str) -> int | None:
    """Return the days since 1970 of a line that is only a date; None for any other line."""
    match = _DAY.fullmatch(line.strip())
    try:
        return None if match is None else dt.date(*date(match[0])).toordinal() - _EPOCH
    except ValueError:
        return None


def timestamp_us(match: re.Match[str]) -> int | None:
    """Return the date and time in groups 1 to 4 in microseconds since 1970; None for an impossible one."""
    try:
        hour, minute, second = (int(match[group] or 0) for group in range(2, 5))
        time = dt.datetime(*date(match[1]), hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        return None
    return round(time.timestamp()) * 1_000_000


def date(text: str) -> tuple[int, int, int]:
    """Return year, month and day of a date in any format of CP and CMS."""
    first, second, third = (int(part) for part in re.split("[/-]", text))
    if re.match(r"\d{4}", text):
        return first, second, third
    century = 0 if third >= 100 else 2000 if third < _CENTURY else 1900
    return century + third, first, second
