"""Output of `perf stat`: text, separated values (-x) and JSON lines (-j), for runs or intervals (-I)."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from msgspec import Struct, field

#: (byte offset, line without its end)
Lines = Iterable[tuple[int, str]]
#: Callback with kind, message and offset of a problem.
Note = Callable[[str, str, int], None]

NOT_SUPPORTED = "not supported"
NOT_COUNTED = "not counted"
_STATES = {"<not supported>": NOT_SUPPORTED, "<not counted>": NOT_COUNTED}

#: Maximum number of counts at one time: 2,000 CPUs with 200 events; other files may have more.
MAX_COUNTS = 400_000

#: Maximum characters of a line of perf; an event with many parameters has some hundred.
MAX_LINE = 4096

#: Maximum characters of the name of a thread or control group; the rest is dropped.
_MAX_NAME = 200

#: Maximum length of a run in seconds.
_MAX_RUN_S = 1e9

#: Maximum digits of a count: an unsigned number of 64 bits has 20 digits.
_DIGITS = 24


class Count(Struct):
    """One event for one CPU or one group of CPUs; `cpu` and `group` are None for all CPUs.

    group   a part of the machine, or a thread
    cgroup  the control group whose tasks are counted; None: all tasks
    """

    event: str
    value: int | None = None
    state: str | None = None
    cpu: int | None = None
    group: str | None = None
    cgroup: str | None = None
    #: Percentage of the time for which the event was counted; below 100, the value is scaled up.
    running_pct: float | None = None
    #: An event that is not a count has an amount with a unit.
    unit: str | None = None
    amount: float | None = None
    #: The counter number, if the tool prints it next to the name.
    number: int | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The subject of the count, which is unique in a reading."""
        return self.event, self.number, self.cpu, self.group, self.cgroup, self.unit

    @property
    def shown(self) -> str:
        """The value as text."""
        value = self.value if self.value is not None else self.amount
        return f"{value:,}" if value is not None else self.state or "none"


class PerfReading(Struct):
    """Values read at one time. run: index of the tool run in a file.

    epoch_s   seconds since 1970 UTC; local: the local time; since_s: seconds since the start of the run
    after_s   since_s of the previous reading, if that is not in the file
    seconds   length of the interval, if known
    absolute  values count from the start of the run; their differences are the interval values
    """

    offset: int
    run: int = 0
    epoch_s: int | None = None
    local: dt.datetime | None = None
    since_s: float | None = None
    after_s: float | None = None
    seconds: float | None = None
    absolute: bool = False
    counts: list[Count] = field(default_factory=list)


#: Contents of a line: seconds since the start of the run and a count, if present.
Line = tuple[float | None, Count | None]

_START = "%a %b %d %H:%M:%S %Y"
_STARTED = re.compile(r"#\s*started on (.+)")
#: Comments that zlens adds where it splits a stream: the system, and the end of the previous interval.
_HOST = re.compile(r"(?m)^#\s*host ([!-~]{1,64})\s*$")
_AFTER = re.compile(r"#\s*after (\d{1,9}\.\d{9})")
_COUNT = r"(?:\d{1,3}(?:[.,'\u202f\u00a0]\d{3})+|\d+)(?:[.,]\d+)?"
_WHERE = r"CPU\s*\d+|S\d+(?:-D\d+)?(?:-CLS\d+)?(?:-L\d+-ID\d+)?(?:-C\d+)?\s+\d+|N\d+\s+\d+|D\d+\s+\d+"
#: A thread, with --per-thread.
_TASK = r"(?!\d+-\d+\s)\S{1,64}-\d{1,10}"
_TEXT = re.compile(
    rf"\s*(?:(?P<time>\d{{1,9}}\.\d{{9}})\s+)?(?:(?P<where>{_WHERE}|{_TASK})\s+)?"
    rf"(?P<count><not supported>|<not counted>|{_COUNT})\s+"
    r"(?:(?P<unit>msec|ns|us|ms|Joules|MiB|GiB|seconds)\s+)?(?P<event>[A-Za-z][^\s]*)(?P<rest>.*)"
)
#: The text after an event: a name in brackets belongs to it; "#" and "(" start metrics and shares.
_CGROUP = re.compile(r"\s+([^\s#(\[]\S*)")
_CPU = re.compile(r"CPU\s*(\d{1,6})")
_RUNNING = re.compile(r"\(\s*(\d+\.\d+)%\)\s*$")
_ELAPSED = re.compile(rf"\s*({_COUNT})\s+(?:\+-\s*{_COUNT}\s+)?seconds time elapsed")
_HEADER = re.compile(r"\s*Performance counter stats for |#\s+time\s.*\bevents\b")
_AGGREGATE = re.compile(r"(?:S\d+(?:-D\d+)?(?:-CLS\d+)?(?:-L\d+-ID\d+)?(?:-C\d+)?|N\d+|D\d+)")
_SINCE = re.compile(r"\s*\d{1,9}\.\d{9}")
_THREAD = re.compile(r"(?!\d+-\d+$).{1,64}-\d{1,10}")
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_SEPARATORS = (",", ";", "|", "\t", ":")
#: Output of --metric-only: its first line or object, its values, and the names of its columns.
_METRIC_HEADER = re.compile(r"\s*Performance counter stats for |#\s+time\s(?!.*\bevents\b)")
_METRIC = r"(?:-?\d+(?:[.,]\d+)?%?|-?nan)"
_METRIC_LINE = re.compile(
    rf"\s*(?:\d{{1,9}}\.\d{{9}}\s+)?(?:(?:{_WHERE}|{_TASK})\s+)?{_METRIC}(?:\s+{_METRIC}){{0,200}}\s*"
)
_METRIC_CELL = re.compile(rf"{_METRIC}|\d{{1,9}}\.\d{{9}}|{_WHERE}|{_AGGREGATE.pattern}|{_TASK}|")
_METRIC_OBJECT = re.compile(
    r'\{"(?:unit|metric-value)" : '
    r'|\{(?:"[a-z-]{1,20}" : "?[^",]{0,80}"?, ){0,5}"[^"]{1,80}" : "(?:\d+\.\d+|nan)"'
)
_METRIC_COLUMNS = frozenset({"time", "cpu", "core", "die", "socket", "node", "comm-pid"})
#: Metrics that perf has on every machine, and metrics of s390.
_METRIC_NAME = re.compile(
    r"per cycle| of all |GHz|cycles idle"
    r"|^(?:cpi|prbstate|l1mp|l2p|l3p|l4lp|l4rp|memp|finite_cpi|est_cpi|scpl1m|tlb_percent|tlb_miss|transaction)$"
)
#: First column of the counts in a summary with -x (--summary without --no-csv-summary).
_SUMMARY = "summary"
#: Parts of the machine that a count of -j may be for.
_PARTS = ("core", "die", "cluster", "cache", "socket", "node", "thread")


def level(group: str) -> str | None:
    """Return the kind of a part of the machine, such as S for sockets; None for a thread."""
    return re.sub(r"\d+", "", group) if _AGGREGATE.fullmatch(group) else None


def is_text(text: str) -> bool:
    """Return whether a text starts like plain perf stat output."""
    return any(_HEADER.match(line[:MAX_LINE]) for line in text.splitlines()[:60])


def host(text: str) -> str | None:
    """Return the system that a comment names, as in the streams that zlens stores."""
    match = _HOST.search(text)
    return match[1] if match else None


def separator(text: str) -> str | None:
    """Return the separator of perf stat -x output, None if the text has another format."""
    for line in text.splitlines()[:60]:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) > MAX_LINE:
            return None
        for mark in _SEPARATORS:
            parsed = _values(line, mark)
            if parsed is not None and _ends_with_times(line.split(mark)):
                return mark
        return None
    return None


def is_json(content: str) -> bool:
    """Return whether a text starts with lines of perf stat -j."""
    for line in content.splitlines()[:60]:
        text = line.strip()
        if text and not text.startswith("#"):
            return text.startswith("{") and ('"counter-value"' in text or '"metric-value"' in text)
    return False


def is_metric_only(text: str) -> bool:
    """Return whether a text starts like output of --metric-only: metrics and their values, but no event."""
    lines = [line[:MAX_LINE] for line in text.splitlines()[:60] if line.strip()]
    bare = [line.strip() for line in lines if not line.lstrip().startswith("#")]
    if bare and bare[0].startswith("{"):
        counts = any('"event"' in line or '"counter-value"' in line for line in bare)
        return not counts and _METRIC_OBJECT.match(bare[0]) is not None
    if any(_METRIC_HEADER.match(line) for line in lines):
        others = [line for line in lines if not _ELAPSED.match(line) and not _without_count(line)]
        return any(map(_METRIC_LINE.fullmatch, others)) and not any(map(_TEXT.fullmatch, others))
    return len(bare) > 1 and any(_are_metrics(bare[0].split(by), bare[1].split(by)) for by in _SEPARATORS)


def _are_metrics(names: list[str], values: list[str]) -> bool:
    """Return whether a line has names of metrics, and the next one values; both end with a separator."""
    *names, end = (name.strip() for name in names)
    *values, other_end = (value.strip() for value in values)
    has_known_name = any(name in _METRIC_COLUMNS or _METRIC_NAME.search(name) for name in names)
    return has_known_name and not end + other_end and all(map(_METRIC_CELL.fullmatch, values))


def _ends_with_times(values: list[str]) -> bool:
    """Return whether a line ends like perf lines do: run time of the event, and its share of the time."""
    return any(
        run.strip().isdecimal() and re.fullmatch(r"\s*\d+\.\d\d\s*", part) for run, part in pairwise(values)
    )


class _Grouping:
    """Groups counts into readings, and separates runs of the tool.

    A run with intervals (-I) may end with a summary (--summary), which repeats its intervals: counts without
    a time after intervals, unless the elapsed time shows that they belong to another run.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._reading: PerfReading | None = None
        self._seen: set[tuple[Any, ...]] = set()
        self._run = 0
        self._started: dt.datetime | None = None
        #: The run starts with a header or its start time, so it has one reading without a time.
        self._marked = False
        #: Time of the latest interval of the run.
        self._intervals_s: float | None = None
        self._after_s: float | None = None
        self._full = False

    def begin_run(self, text: str, offset: int) -> Iterator[PerfReading]:
        """Begin a run with the start time on the first line of a perf file."""
        yield from self._next_run()
        self._marked = True
        self._intervals_s = self._after_s = None
        try:
            started = dt.datetime.strptime(text.strip(), _START)
        except ValueError:
            started = dt.datetime.min
        self._started = started if 1971 <= started.year < 2200 else None
        if self._started is None:
            self._note("time", f"a run that started on {text.strip()[:40]!r}, which is not a time", offset)

    def comment(self, line: str, offset: int) -> Iterator[PerfReading]:
        """Parse facts about the run from a comment."""
        started, after_match = _STARTED.match(line), _AFTER.match(line)
        if started is not None:
            yield from self.begin_run(started[1], offset)
        elif after_match is not None:
            yield from self.end()
            self._after_s = self._intervals_s = float(after_match[1])

    def begin(self) -> Iterator[PerfReading]:
        """Begin another run at a header, unless the previous line was the start time."""
        if self._reading is not None:
            yield from self._next_run()
        self._marked = True

    def add(self, offset: int, since: float | None, count: Count) -> Iterator[PerfReading]:
        if count.running_pct is not None and count.running_pct > 100:
            detail = f"{count.event[:60]} was counted for more than 100% of the time; that is NULL"
            self._note("impossible", detail, offset)
            count.running_pct = None
        reading = self._reading
        if reading is not None and since != reading.since_s:
            yield from self.end()
            if since is not None and (self._intervals_s is None or since <= self._intervals_s):
                yield from self._next_run()
                self._intervals_s = None
        elif count.key in self._seen and since is None and self._intervals_s is None and not self._marked:
            # The same event again without a time: another run, appended to the first.
            yield from self._next_run()
        if self._reading is None:
            self._reading = PerfReading(offset, self._run, since_s=since, local=self._started)
            if since is not None:
                self._reading.after_s, self._after_s = self._after_s, None
        if len(self._reading.counts) >= MAX_COUNTS:
            if not self._full:
                self._full = True
                detail = "more counts for one timestamp than zlens stores; the rest is not read"
                self._note("length", detail, offset)
            return
        self._seen.add(count.key)
        self._reading.counts.append(count)

    def _next_run(self) -> Iterator[PerfReading]:
        yield from self.end()
        self._run += 1
        self._started, self._marked = None, False

    def elapsed(self, seconds: float) -> Iterator[PerfReading]:
        reading, last_interval_s = self._reading, self._intervals_s
        if reading is not None and reading.since_s is None:
            reading.seconds = seconds
            if last_interval_s is not None and not 0 <= seconds - last_interval_s < 1 + 0.01 * seconds:
                # The elapsed time differs from the intervals.
                self._intervals_s = None
        yield from self._next_run()
        self._intervals_s = None

    def end(self) -> Iterator[PerfReading]:
        reading, self._reading = self._reading, None
        self._seen.clear()
        if reading is None:
            return
        if reading.since_s is not None:
            self._intervals_s = reading.since_s
        elif self._intervals_s is not None:
            self._note("duplicate", "a summary of the preceding intervals; not read", reading.offset)
            return
        yield reading


def skip_long_lines(lines: Lines, note: Note) -> Iterator[tuple[int, str]]:
    """Yield lines, except lines that are too long for these tools."""
    for offset, line in lines:
        if len(line) > MAX_LINE:
            note("length", f"a line of {len(line):,} characters; not read", offset)
        else:
            yield offset, line


def text_readings(lines: Lines, note: Note) -> Iterator[PerfReading]:
    """Yield the readings of plain perf stat output."""
    grouping = _Grouping(note)
    for offset, line in skip_long_lines(lines, note):
        if not line.strip():
            continue
        elapsed = _ELAPSED.match(line)
        if _STARTED.match(line.strip()) or _AFTER.match(line.strip()):
            yield from grouping.comment(line.strip(), offset)
        elif _HEADER.match(line):
            if line.lstrip().startswith("Perf"):
                yield from grouping.begin()
        elif elapsed is not None:
            seconds = _number(elapsed[1], decimals=True)
            is_plausible = seconds is not None and seconds < _MAX_RUN_S
            yield from grouping.elapsed(float(seconds or 0)) if is_plausible else grouping.end()
        elif _without_count(line):
            continue
        else:
            match = _TEXT.fullmatch(line)
            if match is None:
                note("header", f"{line.strip()[:60]!r} is not a line of perf stat; not read", offset)
                continue
            count = _count(match["count"], match["unit"], match["event"])
            if match["where"]:
                _assign_part(count, match["where"])
            group = _CGROUP.match(match["rest"])
            count.cgroup = group[1] if group else None
            running = _RUNNING.search(match["rest"])
            count.running_pct = float(running[1]) if running else None
            since = float(match["time"]) if match["time"] else None
            yield from grouping.add(offset, since, count)
    yield from grouping.end()


def _without_count(line: str) -> bool:
    """Return whether a line has no count: metrics only, process times, advice."""
    bare = line.strip()
    return bool(
        bare.startswith("#")
        or re.fullmatch(r"(?:\d+\.\d{9}\s+)?(?:CPU\s*\d+\s+)?#.*", bare)
        or re.fullmatch(r"[\d.,]+\s+(?:\+-\s*[\d.,]+\s+)?seconds (?:user|sys).*", bare)
        or bare.startswith(("Some events weren't counted", "echo ", "perf stat", "The events in group"))
    )


def separated_readings(lines: Lines, note: Note, by: str) -> Iterator[PerfReading]:
    """Yield the readings of perf stat -x; `by` is the separator."""

    def read(line: str) -> Line | None:
        parsed = _values(line, by)
        # More metrics of the previous event are on lines without a count.
        return (None, None) if parsed is None and _metric_only(line, by) else parsed

    return _line_by_line(lines, note, "perf stat -x", read)


def json_readings(lines: Lines, note: Note) -> Iterator[PerfReading]:
    """Yield the readings of perf stat -j: one JSON object per line."""
    return _line_by_line(lines, note, "perf stat -j", lambda line: _object(line.strip()))


def _line_by_line(
    lines: Lines, note: Note, title: str, read: Callable[[str], Line | None]
) -> Iterator[PerfReading]:
    """Yield the readings of a format with one count per line."""
    grouping = _Grouping(note)
    for offset, line in skip_long_lines(lines, note):
        bare = line.strip()
        if not bare:
            continue
        if bare.startswith("#"):
            yield from grouping.comment(bare, offset)
            continue
        parsed = read(line)
        if parsed is None:
            note("header", f"{bare[:60]!r} is not a line of {title}; not read", offset)
            continue
        since, count = parsed
        if count is not None:
            yield from grouping.add(offset, since, count)
    yield from grouping.end()


def interval(line: str, form: str, by: str) -> float | None:
    """Return the time of a line of perf stat -I since the start of the run; None without one."""
    if form == "perf-text":
        match = _TEXT.fullmatch(line)
        return float(match["time"]) if match is not None and match["time"] else None
    parsed = _object(line.strip()) if form == "perf-json" else _values(line, by)
    return parsed[0] if parsed is not None else None


def start(text: str) -> dt.datetime | None:
    """Return the local time at which a run started, from the comment in a perf file."""
    match = _STARTED.match(text.strip())
    try:
        return dt.datetime.strptime(match[1].strip(), _START) if match is not None else None
    except ValueError:
        return None


def heading(host: str | None, started: dt.datetime | None) -> str:
    """Return comments from which `host` and `start` read these values."""
    lines = [f"# host {host}\n"] if host is not None else []
    return "".join([*lines, *([f"# started on {started:{_START}}\n"] if started is not None else [])])


def interval_comment(since_s: float) -> str:
    """Return the comment that an interval starts this long after the start of the run."""
    return f"# after {since_s:.9f}\n"


def _metric_only(line: str, by: str) -> bool:
    cells = [cell.strip() for cell in line.split(by)]
    return len(cells) > 5 and "" in cells[:5] and sum(not cell for cell in cells) >= 3


def _values(line: str, by: str) -> Line | None:
    cells = line.split(by)
    since = float(cells[0]) if _SINCE.fullmatch(cells[0]) else None
    if since is not None or cells[0].strip() == _SUMMARY:
        del cells[0]
    first, second = (cell.strip() for cell in [*cells, "", ""][:2])
    part_name = None
    if _AGGREGATE.fullmatch(first) and second.isdecimal():
        part_name = f"{first} {second}"
        del cells[:2]
    elif _THREAD.fullmatch(first) or re.fullmatch(r"CPU\d+", first):
        # A thread is comm-pid, from --per-thread.
        part_name = first
        del cells[0]
    if len(cells) < 3:
        return None
    value, unit, event = (cell.strip() for cell in cells[:3])
    rest = cells[3:]
    # The name of an event with parameters can contain the separator.
    while event.count("/") % 2 and rest:
        event += by + rest.pop(0)
    if not event or not re.match(r"[A-Za-z]", event) or not re.fullmatch(r"[A-Za-z%/]*", unit):
        return None
    if value not in _STATES and not _PLAIN.fullmatch(value):
        return None
    count = _count(value, unit or None, event)
    if part_name is not None:
        _assign_part(count, part_name)
    for position, (run, share) in enumerate(pairwise(rest)):
        if run.strip().isdecimal() and re.fullmatch(r"\d+\.\d\d", share.strip()):
            count.running_pct = float(share)
            # Between event and run time are the control group and the variation of several runs.
            groups = [cell.strip() for cell in rest[:position] if not re.fullmatch(r"\s*\d+\.\d\d%", cell)]
            count.cgroup = by.join(groups) or None
            break
    return since, count


def _object(line: str) -> Line | None:
    try:
        values: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    if "event" not in values:
        return (None, None) if "metric-value" in values or "unit" in values or "interval" in values else None
    value, event = str(values.get("counter-value", "")).strip(), str(values["event"]).strip()
    if not event or (value not in _STATES and not _PLAIN.fullmatch(value)):
        return None
    count = _count(value, str(values.get("unit") or "") or None, event)
    cpu = str(values.get("cpu", "")).strip()
    if re.fullmatch(r"\d{1,6}", cpu):
        count.cpu = int(cpu)
    parts = [str(values[key]) for key in _PARTS if key in values]
    count.group = " ".join(parts if count.cpu is not None or not cpu else [cpu, *parts])[:_MAX_NAME] or None
    count.cgroup = str(values.get("cgroup") or "")[:_MAX_NAME] or None
    count.running_pct = _real(values.get("pcnt-running"))
    since = _real(values.get("interval"))
    return (since if since is not None and since < _MAX_RUN_S else None), count


def _real(value: Any) -> float | None:
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if valid else None


def _assign_part(count: Count, part_name: str) -> None:
    if cpu := _CPU.fullmatch(part_name):
        count.cpu = int(cpu[1])
    else:
        part = part_name.split()[0]
        count.group = part if level(part) else part_name


def _count(printed: str, unit: str | None, event: str) -> Count:
    state = _STATES.get(printed)
    if state is not None:
        return Count(event, state=state)
    if unit is not None:
        return Count(event, unit=unit, amount=_number(printed, decimals=True))
    value = _number(printed, decimals=False)
    return Count(event, value=int(value) if value is not None else None)


def _number(printed: str, *, decimals: bool) -> float | int | None:
    """Parse a printed number. In counts, groups of three digits are thousands, and decimals are zeros."""
    if len(printed) > 2 * _DIGITS:
        return None
    if not decimals and re.fullmatch(r"\d{1,3}(?:[.,'\u202f\u00a0]\d{3})+", printed):
        return int(re.sub(r"\D", "", printed))
    parts = re.fullmatch(r"(?P<whole>\d[\d,'\u202f\u00a0]*?)(?:[.,](?P<part>\d+))?", printed)
    if parts is None:
        return None
    integral = int(re.sub(r"\D", "", parts["whole"]))
    if decimals:
        return integral + float(f"0.{parts['part'] or 0}")
    return integral + (1 if (parts["part"] or "0")[0] >= "5" else 0)
