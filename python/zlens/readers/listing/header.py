"""The header of a report: which one it is, of what system, and its span of time."""

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
#: The first line of a report whose lines lost their first column: CX304  Run 2015/02/14 08:52:14   PRCLOG
LOST = re.compile(rf"CX\d{{3}}\s*(?:Run {_STAMP}|CPU \w{{4}}\s+SER )")
_NUMBER = re.compile(r"\d+(?:\.\d*)?")
#: No report is of a longer time: ten years.
_LONGEST_S = 10 * 366 * 86400
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
    """What a header says. Times are local, in microseconds since 1970 as if they were UTC."""

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
    made: bool = False
    whole: bool = False  # the rule below it was read
    width: int | None = None  # of the rule: no line is longer

    @property
    def report(self) -> str | None:
        """The report of the catalog that it is; None for another."""
        lowered = self.name.lower().replace(" ", "_")
        if self.number:
            found = definition.numbers().get(self.number)
            if found is not None:
                return found
        return lowered if lowered in definition.names() else None

    def take(self, line: str) -> None:
        """A line of the header after its first one."""
        if found := RULE.match(line):
            self.whole, self.width = True, len(found[1])
        elif found := _FROM.match(line):
            self.start_us = timestamp_us(found)
            self.system = (found[5] or "").split("  ")[0].strip() or self.system
        elif found := _TO.match(line):
            self.end_us = timestamp_us(found)
            self._machine(found[5])
        elif found := _FOR.match(line):
            seconds = float(found[1]) if _NUMBER.fullmatch(found[1]) else None
            self.seconds = seconds if seconds is not None and 0 < seconds <= _LONGEST_S else None
            self.made = "synthetic, not measured" in line
            if release := _RELEASE.search(found[3]):
                self.release = release[2] or release[1]
        elif not self.title and line.strip() and self.start_us is None:
            self.title = line.strip()

    def _machine(self, text: str) -> None:
        if found := _CPU.search(text):
            self.machine_type, self.model = found[1], found[2]
        if found := _SERIAL.search(text):
            self.serial = found[1]


def parse_first_line(line: str) -> Header | None:
    """The header that a line begins, if it begins one."""
    if "Run" in line and (found := RUN.match(line)):
        return Header(found[1] or "", found[6])
    if "Interval" in line and (found := SCREEN.match(line)):
        return Header(found[1], "", machine_type=found[2], serial=found[3], whole=True)
    return None


def utc_offset_s(line: str) -> int | None:
    """The offset of local times that a footnote of zlens names, in seconds."""
    found = _ZONE.match(line)
    if found is None:
        return None
    if found[4]:
        return 0
    offset = int(found[2]) * 3600 + int(found[3]) * 60
    return -offset if found[1] == "-" else offset


def day(line: str) -> int | None:
    """Days since 1970 of a line that is a date alone; None if it is none."""
    found = _DAY.fullmatch(line.strip())
    try:
        return None if found is None else dt.date(*date(found[0])).toordinal() - _EPOCH
    except ValueError:
        return None


def timestamp_us(found: re.Match[str]) -> int | None:
    """Microseconds of the date and time of groups 1 to 4; None for an impossible one."""
    try:
        hour, minute, second = (int(found[at] or 0) for at in range(2, 5))
        time = dt.datetime(*date(found[1]), hour, minute, second, tzinfo=dt.UTC)
    except ValueError:
        return None
    return round(time.timestamp()) * 1_000_000


def date(text: str) -> tuple[int, int, int]:
    """Year, month and day of a date in any form of CP and CMS."""
    parts = [int(part) for part in re.split("[/-]", text)]
    if re.match(r"\d{4}", text):
        return parts[0], parts[1], parts[2]
    year = parts[2]
    if year < 100:
        year += 2000 if year < _CENTURY else 1900
    return year, parts[0], parts[1]
