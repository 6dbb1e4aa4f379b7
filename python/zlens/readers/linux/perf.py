"""What `perf stat` prints: text, separated values (-x) and JSON lines (-j), of runs or intervals (-I)."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

#: (byte offset, line without its end)
Lines = Iterable[tuple[int, str]]
#: Takes kind, sentence and offset of what cannot be read.
Note = Callable[[str, str, int], None]

NOT_SUPPORTED = "not supported"
NOT_COUNTED = "not counted"
_STATES = {"<not supported>": NOT_SUPPORTED, "<not counted>": NOT_COUNTED}

#: Counts kept of one moment: 2,000 CPUs with 200 events, and a bound for files that are no output of perf.
MAX_COUNTS = 400_000

#: Longest line of perf: an event of many parameters has some hundred characters.
MAX_LINE = 4096

#: No run takes longer, in seconds.
_LONGEST = 1e9

#: Longest count: an unsigned number of 64 bits has 20 digits.
_DIGITS = 24


@dataclass(slots=True)
class Count:
    """One event of one CPU or one group of them; `cpu` and `group` None: of all."""

    event: str
    value: int | None = None
    state: str | None = None
    cpu: int | None = None
    group: str | None = None
    #: How much of the time the event was counted in; the value is scaled up where that is less than all.
    running_pct: float | None = None
    #: An event that counts nothing has an amount of some unit.
    unit: str | None = None
    amount: float | None = None
    #: The number, where the tool prints it beside the name.
    number: int | None = None


@dataclass(slots=True)
class Reading:
    """What was read at one moment. run: counts runs of the tool within a file.

    epoch_s   seconds since 1970 UTC; local: the local time; since_s: seconds from the beginning of the run
    seconds   length of the interval, where it is told
    absolute  values count from the beginning of the run, so that differences are what the interval had
    """

    offset: int
    run: int = 0
    epoch_s: int | None = None
    local: dt.datetime | None = None
    since_s: float | None = None
    seconds: float | None = None
    absolute: bool = False
    counts: list[Count] = field(default_factory=list)


#: What a line tells: seconds from the beginning of the run, where it says so, and a count, if it has one.
Line = tuple[float | None, Count | None]

_STARTED = re.compile(r"#\s*started on (.+)")
_COUNT = r"(?:\d{1,3}(?:[.,'\u202f\u00a0]\d{3})+|\d+)(?:[.,]\d+)?"
_WHERE = r"CPU\s*\d+|S\d+(?:-D\d+)?(?:-CLS\d+)?(?:-L\d+-ID\d+)?(?:-C\d+)?\s+\d+|N\d+\s+\d+|D\d+\s+\d+"
_TEXT = re.compile(
    rf"\s*(?:(?P<time>\d+\.\d{{9}})\s+)?(?:(?P<where>{_WHERE})\s+)?"
    rf"(?P<count><not supported>|<not counted>|{_COUNT})\s+"
    r"(?:(?P<unit>msec|ns|us|ms|Joules|MiB|GiB|seconds)\s+)?(?P<event>[^\s#(][^\s]*)(?P<rest>.*)"
)
_RUNNING = re.compile(r"\(\s*(\d+\.\d+)%\)\s*$")
_ELAPSED = re.compile(rf"\s*({_COUNT})\s+(?:\+-\s*{_COUNT}\s+)?seconds time elapsed")
_HEADER = re.compile(r"\s*Performance counter stats for |#\s+time\s.*\bevents\b")
_AGGREGATE = re.compile(r"(?:S\d+(?:-D\d+)?(?:-CLS\d+)?(?:-L\d+-ID\d+)?(?:-C\d+)?|N\d+|D\d+)")
_SINCE = re.compile(r"\s*\d{1,9}\.\d{9}")
_THREAD = re.compile(r"(?!\d+-\d+$).{1,64}-\d{1,10}")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_SEPARATORS = (",", ";", "|", "\t", ":")


def is_text(head: str) -> bool:
    """Whether a text begins as the output of perf stat for people."""
    return any(_HEADER.match(line[:MAX_LINE]) for line in head.splitlines()[:60])


def separator(head: str) -> str | None:
    """By what the values of perf stat -x are separated; None for what is not its output."""
    for line in head.splitlines()[:60]:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) > MAX_LINE:
            return None
        for each in _SEPARATORS:
            found = _values(line, each)
            if found is not None and _timed(line.split(each)):
                return each
        return None
    return None


def is_json(head: str) -> bool:
    """Whether a text begins with lines of perf stat -j."""
    for line in head.splitlines()[:60]:
        text = line.strip()
        if text and not text.startswith("#"):
            return text.startswith("{") and ('"counter-value"' in text or '"metric-value"' in text)
    return False


def _timed(values: list[str]) -> bool:
    """Whether a line ends as perf writes it: how long the event ran, and what part of the time that was."""
    return any(
        run.strip().isdigit() and re.fullmatch(r"\s*\d+\.\d\d\s*", part) for run, part in pairwise(values)
    )


class _Gathering:
    """Puts counts of one moment together, and tells one run of the tool from the next."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._reading: Reading | None = None
        self._seen: set[tuple[str, int | None, str | None]] = set()
        self._run = 0
        self._started: dt.datetime | None = None
        self._intervals_s: float | None = None
        self._full = False

    def started(self, text: str, offset: int) -> Iterator[Reading]:
        """The line that perf begins a file with: when the run started."""
        yield from self.end()
        self._run += 1
        try:
            started = dt.datetime.strptime(text.strip(), "%a %b %d %H:%M:%S %Y")
        except ValueError:
            started = dt.datetime.min
        self._started = started if 1971 <= started.year < 2200 else None
        if self._started is None:
            self._note("time", f"a run that started on {text.strip()[:40]!r}, which is no time", offset)

    def begin(self) -> Iterator[Reading]:
        """A header: what comes is another run, unless the line before has told when it started."""
        if self._reading is not None:
            self._intervals_s = self._reading.since_s
            yield from self.end()
            self._run += 1
            self._started = None

    def add(self, offset: int, since: float | None, count: Count) -> Iterator[Reading]:
        key = (count.event, count.cpu, count.group)
        reading = self._reading
        if reading is not None and since is not None and since != reading.since_s:
            back = reading.since_s is not None and since < reading.since_s
            yield from self.end()
            if back:
                self._next()
        elif reading is not None and key in self._seen and since is None:
            # The same event again without a time: another run, written behind the first.
            yield from self.end()
            self._next()
        if self._reading is None:
            self._reading = Reading(offset, self._run, since_s=since, local=self._started)
        if len(self._reading.counts) >= MAX_COUNTS:
            if not self._full:
                self._full = True
                self._note(
                    "length", "more counts of one moment than zlens keeps; the others are not read", offset
                )
            return
        self._seen.add(key)
        self._reading.counts.append(count)

    def _next(self) -> None:
        self._run += 1
        self._started = None

    def elapsed(self, seconds: float) -> Iterator[Reading]:
        reading = self._reading
        if reading is not None and reading.since_s is None:
            reading.seconds = seconds
            if self._intervals_s is not None and 0 <= seconds - self._intervals_s < 1 + 0.01 * seconds:
                self._note("duplicate", "a summary of the intervals before; not read", reading.offset)
                self._reading = None
        self._intervals_s = None
        yield from self.end()

    def end(self) -> Iterator[Reading]:
        reading, self._reading = self._reading, None
        self._seen.clear()
        if reading is not None:
            yield reading


def short(lines: Lines, note: Note) -> Iterator[tuple[int, str]]:
    """The lines that are not longer than any that these tools write."""
    for offset, line in lines:
        if len(line) > MAX_LINE:
            note("length", f"a line of {len(line):,} characters; not read", offset)
        else:
            yield offset, line


def text(lines: Lines, note: Note) -> Iterator[Reading]:
    """Readings of perf stat's output for people."""
    gathering = _Gathering(note)
    for offset, line in short(lines, note):
        if not line.strip():
            continue
        started = _STARTED.match(line.strip())
        elapsed = _ELAPSED.match(line)
        if started is not None:
            yield from gathering.started(started[1], offset)
        elif _HEADER.match(line):
            if line.lstrip().startswith("Perf"):
                yield from gathering.begin()
        elif elapsed is not None:
            seconds = _number(elapsed[1], decimals=True)
            told = seconds is not None and seconds < _LONGEST
            yield from gathering.elapsed(float(seconds or 0)) if told else gathering.end()
        elif _said(line):
            continue
        else:
            match = _TEXT.fullmatch(line)
            if match is None:
                note("header", f"{line.strip()[:60]!r} is no line of perf stat; not read", offset)
                continue
            count = _count(match["count"], match["unit"], match["event"])
            if match["where"]:
                _place(count, match["where"])
            running = _RUNNING.search(match["rest"])
            count.running_pct = float(running[1]) if running else None
            since = float(match["time"]) if match["time"] else None
            yield from gathering.add(offset, since, count)
    yield from gathering.end()


def _said(line: str) -> bool:
    """Lines that count nothing: metrics alone, times of the process, advice."""
    bare = line.strip()
    return bool(
        bare.startswith("#")
        or re.fullmatch(r"(?:\d+\.\d{9}\s+)?(?:CPU\s*\d+\s+)?#.*", bare)
        or re.fullmatch(r"[\d.,]+\s+(?:\+-\s*[\d.,]+\s+)?seconds (?:user|sys).*", bare)
        or bare.startswith(("Some events weren't counted", "echo ", "perf stat", "The events in group"))
    )


def values(lines: Lines, note: Note, by: str) -> Iterator[Reading]:
    """Readings of perf stat -x; `by` is the separator."""

    def read(line: str) -> Line | None:
        found = _values(line, by)
        # Further metrics of the event before stand on lines without a count.
        return (None, None) if found is None and _metric_only(line, by) else found

    return _line_by_line(lines, note, "perf stat -x", read)


def objects(lines: Lines, note: Note) -> Iterator[Reading]:
    """Readings of perf stat -j: one JSON object a line."""
    return _line_by_line(lines, note, "perf stat -j", lambda line: _object(line.strip()))


def _line_by_line(
    lines: Lines, note: Note, title: str, read: Callable[[str], Line | None]
) -> Iterator[Reading]:
    """Readings of a form with one count a line."""
    gathering = _Gathering(note)
    for offset, line in short(lines, note):
        bare = line.strip()
        if not bare:
            continue
        if bare.startswith("#"):
            started = _STARTED.match(bare)
            if started is not None:
                yield from gathering.started(started[1], offset)
            continue
        found = read(line)
        if found is None:
            note("header", f"{bare[:60]!r} is no line of {title}; not read", offset)
            continue
        since, count = found
        if count is not None:
            yield from gathering.add(offset, since, count)
    yield from gathering.end()


def _metric_only(line: str, by: str) -> bool:
    cells = [cell.strip() for cell in line.split(by)]
    return len(cells) > 5 and "" in cells[:5] and sum(not cell for cell in cells) >= 3


def _values(line: str, by: str) -> Line | None:
    cells = line.split(by)
    at = 0
    since = None
    place = None
    if _SINCE.fullmatch(cells[0]):
        since = float(cells[0])
        at = 1
    if at < len(cells) and re.fullmatch(r"CPU\d+", cells[at].strip()):
        place = cells[at].strip()
        at += 1
    elif at + 1 < len(cells) and _AGGREGATE.fullmatch(cells[at].strip()) and cells[at + 1].strip().isdigit():
        place = f"{cells[at].strip()} {cells[at + 1].strip()}"
        at += 2
    elif at < len(cells) and _THREAD.fullmatch(cells[at].strip()):
        # comm-pid, of --per-thread
        place = cells[at].strip()
        at += 1
    if len(cells) < at + 3:
        return None
    shown, unit, event = (cell.strip() for cell in cells[at : at + 3])
    rest = cells[at + 3 :]
    # An event with parameters has the separator in its own name.
    while event.count("/") % 2 and rest:
        event += by + rest.pop(0)
    if not event or not re.match(r"[A-Za-z]", event) or not re.fullmatch(r"[A-Za-z%/]*", unit):
        return None
    if shown not in _STATES and not _PLAIN.fullmatch(shown):
        return None
    count = _count(shown, unit or None, event)
    if place is not None:
        _place(count, place)
    for run, part in pairwise(rest):
        if run.strip().isdigit() and re.fullmatch(r"\d+\.\d\d", part.strip()):
            count.running_pct = float(part)
            break
    return since, count


def _object(line: str) -> Line | None:
    try:
        facts: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(facts, dict):
        return None
    if "event" not in facts:
        return (None, None) if "metric-value" in facts or "unit" in facts or "interval" in facts else None
    shown, event = str(facts.get("counter-value", "")).strip(), str(facts["event"]).strip()
    if not event or (shown not in _STATES and not _PLAIN.fullmatch(shown)):
        return None
    count = _count(shown, str(facts.get("unit") or "") or None, event)
    cpu = str(facts.get("cpu", "")).strip()
    if re.fullmatch(r"\d{1,6}", cpu):
        count.cpu = int(cpu)
    else:
        group = next(
            (
                facts[key]
                for key in ("core", "die", "cluster", "cache", "socket", "node", "thread")
                if key in facts
            ),
            None,
        )
        count.group = str(group) if group is not None else None
    count.running_pct = _real(facts.get("pcnt-running"))
    since = _real(facts.get("interval"))
    return (since if since is not None and since < _LONGEST else None), count


def _real(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else None


def _place(count: Count, where: str) -> None:
    if where.startswith("CPU"):
        number = where[3:].strip()
        count.cpu = int(number) if len(number) <= 6 else None
    else:
        count.group = where.split()[0]


def _count(shown: str, unit: str | None, event: str) -> Count:
    state = _STATES.get(shown)
    if state is not None:
        return Count(event, state=state)
    if unit is not None:
        return Count(event, unit=unit, amount=_number(shown, decimals=True))
    value = _number(shown, decimals=False)
    return Count(event, value=int(value) if value is not None else None)


def _number(shown: str, *, decimals: bool) -> float | int | None:
    """A number as printed. In counts, groups of three digits are thousands: decimals are zeros."""
    if len(shown) > 2 * _DIGITS:
        return None
    if not decimals and re.fullmatch(r"\d{1,3}(?:[.,'\u202f\u00a0]\d{3})+", shown):
        return int(re.sub(r"\D", "", shown))
    parts = re.fullmatch(r"(?P<whole>\d[\d,'\u202f\u00a0]*?)(?:[.,](?P<part>\d+))?", shown)
    if parts is None:
        return None
    whole = int(re.sub(r"\D", "", parts["whole"]))
    if decimals:
        return whole + float(f"0.{parts['part'] or 0}")
    return whole + (1 if (parts["part"] or "0")[0] >= "5" else 0)
